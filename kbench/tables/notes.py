"""The notes of a row, worst first."""

from __future__ import annotations

import re

from kbench.analysis.call_outputs import sentence
from kbench.summary import Summary
from kbench.values import OK

# What is known and harmless: the page has it.
_MINOR = re.compile(
    r"its first step differs .*, as is known|each \w+ takes .* after its last batch|operations of .* are not counted"
    r"|process .* hardly counts"
)


def of(row: Summary) -> list[str]:
    """Why it did not end well, how it differs, then the rest."""
    reason = [row.reason] if row.reason and row.status != OK else []
    above = sentence(row.backend, row.otherwise) if row.otherwise else ""  # which the tables have above them
    return [*reason, *row.differs, *(note for note in row.notes if note != above)]


def chief(row: Summary) -> list[str]:
    """The one that a reader of the table has to know; none if all are harmless."""
    return [note for note in of(row) if not _MINOR.match(note)][:1]
