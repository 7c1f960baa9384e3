"""What all runs of a collection come to together: their history, and what public names do in each release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kbench.features.collection.submitted import Submitted
from kbench.features.coverage.values import BAD, GOOD, TRIED
from kbench.features.coverage.versions import Side, sides
from kbench.features.history import lines, reading
from kbench.features.history.values import History
from kbench.records.values import bare, base


@dataclass(frozen=True)
class Release:
    """What a backend of a coverage run does, at its versions."""

    run: str
    backend: str
    keras: str
    framework: str
    side: Side

    @property
    def title(self) -> str:
        """Its versions, in words."""
        name = bare(base(self.backend)) or self.backend
        return f"Keras {self.keras}, {name} {self.framework.partition('-')[0]}"

    @property
    def counted(self) -> Mapping[str, int]:
        """Names by state."""
        return Counter(one.state for one in self.side.names.values())

    @property
    def words(self) -> str:
        """How many names work."""
        counted = self.counted
        tried = sum(counted[state] for state in TRIED)
        return f"{sum(counted[state] for state in GOOD):,} of {tried:,} names work"


def history(runs: Sequence[Submitted], counted: Collection[tuple[str, str, str]]) -> History | None:
    """That of the rows that count, as (run, example, backend), and of public names; None if nothing was measured
    twice. Raises UserError.
    """
    read = reading.readings([run.run.folder for run in runs]).readings
    known = [one for one in read if one.states is not None or (one.run, one.example, one.backend) in counted]
    # The pages are read elsewhere: no machine is this one.
    found = lines.history([replace(one, machine=replace(one.machine, here=False)) for one in known])
    return found if found.lines else None


def releases(runs: Sequence[Submitted]) -> list[Release]:
    """The backends of coverage runs, by name and then by version; of the same versions the last run."""
    found: dict[tuple[str, str, str], Release] = {}
    for run in sorted((one for one in runs if one.tries_names), key=lambda one: one.run.created):
        facts = {one.cell.backend: one.facts for one in run.run.measured if one.facts.keras_version}
        for name, side in sides(run.run).items():
            if name in facts:
                versions = (reading.version(facts[name].keras_version), reading.version(facts[name].backend_version))
                plain = reading.plain_name(name)
                found[plain, *versions] = Release(run.name, plain, *versions, side)
    return sorted(
        found.values(), key=lambda one: (one.backend, lines.in_order(one.keras), lines.in_order(one.framework))
    )


def matrix(of: Sequence[Release]) -> list[tuple[str, list[str]]]:
    """The names that do not work in one of the releases, with their state in each; empty where it was not tried."""
    names = sorted({name for one in of for name, row in one.side.names.items() if row.state in BAD})
    return [(name, [one.side.names[name].state if name in one.side.names else "" for one in of]) for name in names]
