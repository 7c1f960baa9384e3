"""The notes of a row, worst first."""

from __future__ import annotations

from kbench.records.findings import Finding
from kbench.records.values import OK
from kbench.summary import Summary
from kbench.words import sentences

# What is known and harmless: the page has it.
_MINOR = frozenset(("late return", "uncounted operations", "odd process"))


def of(row: Summary) -> list[str]:
    """Why it did not end well, how it differs, then the rest."""
    return [*_reason(row), *sentences.all_of(_in_order(row))]


def chief(row: Summary) -> list[str]:
    """The one that a reader of the table has to know; none if all are harmless."""
    matters = [one for one in _in_order(row) if not _is_minor(one)]
    return [*_reason(row), *sentences.all_of(matters)][:1]


def _reason(row: Summary) -> list[str]:
    return [row.reason] if row.reason and row.status != OK else []


def _in_order(row: Summary) -> list[Finding]:
    """Without those that the tables have above them."""
    shown = [one for one in row.findings if one.is_note and not one.in_status]
    return sorted(shown, key=lambda one: not row.is_apart_by(one))


def _is_minor(found: Finding) -> bool:
    return found.kind in _MINOR or bool(found.kind == "first step" and found.explanation)
