"""The table of `compare` on what differs in how its runs were set up."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.features.compare.configuration import Difference
from kbench.features.compare.values import About
from kbench.tables.content import Table

_LONGEST = 60  # characters of a value
SAME = "Settings, machine, packages and environment variables are the same."


def table(abouts: Sequence[About], found: Sequence[Difference]) -> Table | None:
    """A row for each difference; None if there is none."""
    if not found:
        return None
    letters = [one.letter for one in abouts]
    of_backends = any(one.backends for one in found)
    rows = tuple(
        (
            f"{one.kind} {one.name}",
            *([one.backends or "the run"] if of_backends else []),
            *(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..." for value in one.values),
        )
        for one in found
    )
    columns = ("what", *(["of"] if of_backends else []), *letters)
    return Table("What differs in how they were set up", columns, rows, frozenset(columns))
