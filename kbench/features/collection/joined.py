"""What all runs of a collection come to together: their history, and what public names do in each release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kbench.features.collection.submitted import Submitted
from kbench.features.coverage.values import BAD, GOOD, TRIED, NameResult
from kbench.features.history import lines, reading
from kbench.features.history.values import History, Reading
from kbench.records.values import bare, base


@dataclass(frozen=True)
class Release:
    """What a backend of a coverage run does, at its versions."""

    of: Reading

    @property
    def names(self) -> Mapping[str, NameResult]:
        """What came of each public name."""
        found: Mapping[str, NameResult] = self.of.states.names
        return found

    @property
    def title(self) -> str:
        """Its backend and versions, in words."""
        framework = f"{bare(base(self.of.plain)) or self.of.plain} {self.of.framework.partition('-')[0]}"
        return f"{self.of.plain}, Keras {self.of.keras}, {framework}"

    @property
    def words(self) -> str:
        """How many names work."""
        counted = Counter(one.state for one in self.names.values())
        good, tried = (sum(counted[state] for state in states) for states in (GOOD, TRIED))
        return f"{good:,} of {tried:,} names work"


def read(runs: Sequence[Submitted]) -> list[Reading]:
    """What the runs say. Raises UserError."""
    found = reading.readings([run.run.folder for run in runs]).readings
    # The pages are read elsewhere: no machine is this one.
    return [replace(one, machine=replace(one.machine, here=False)) for one in found]


def history(readings: Sequence[Reading], counted: Collection[tuple[str, str, str]]) -> History | None:
    """That of the rows that count, as (run, example, backend), and of public names; None if nothing was measured
    twice.
    """
    known = [one for one in readings if one.states is not None or (one.run, one.example, one.backend) in counted]
    found = lines.history(known)
    return found if found.lines else None


def releases(readings: Sequence[Reading], run: str = "") -> list[Release]:
    """The backends of coverage runs, or of one, by name and then by version; of the same versions the last run."""
    found = {
        (one.plain, lines.in_order(one.keras), lines.in_order(one.framework)): Release(one)
        for one in readings
        if one.states is not None and run in ("", one.run)
    }
    return [found[key] for key in sorted(found)]


def matrix(of: Sequence[Release]) -> list[tuple[str, list[str]]]:
    """The names that fail in one of the releases, with their state in each; empty where it was not tried."""
    names = sorted({name for one in of for name, row in one.names.items() if row.state in BAD})
    return [(name, [one.names[name].state if name in one.names else "" for one in of]) for name in names]
