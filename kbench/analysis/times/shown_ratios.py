"""The one ratio of a row that a heat map shows, and the words where there is none."""

from __future__ import annotations

from kbench.summary import Summary
from kbench.text import format_ratio
from kbench.values import NOT_COMPARED, OK


def shown_ratio(row: Summary) -> float | None:
    """To the baseline if there is one, else to the fastest."""
    return row.relative_to_baseline if row.baseline else row.relative_to_fastest


def sure_ratio(row: Summary) -> float | None:
    """The same, if it says anything: then it has a colour."""
    return None if row.verdict == NOT_COMPARED else shown_ratio(row)


def words(row: Summary) -> str:
    """The row's ratio, or why it has none."""
    if (ratio := shown_ratio(row)) is not None:
        return format_ratio(ratio, row.verdict)
    if row.status == OK and row.differs:
        return "differs"
    if row.status == OK and row.baseline and row.relative_to_fastest is not None:
        return "no baseline"
    return f"one {row.work.unit}" if row.status == OK and row.epochs == 1 else row.status
