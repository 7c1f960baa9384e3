"""The one ratio of a row that a heat map shows, and the words where there is none."""

from __future__ import annotations

from collections.abc import Iterable

from kbench.analysis.times.machine_stability import disturbs
from kbench.records.axes import Point
from kbench.records.values import NO_DIFFERENCE, NOT_COMPARED, OK
from kbench.summary import TO_BASELINE, TO_FASTEST, Summary
from kbench.words.text import format_ratio


def is_rough(row: Summary) -> bool:
    """Whether other programs disturbed most of what it would come from, so that it is not told in numbers."""
    one = row.ratios.get(TO_BASELINE if row.baseline else TO_FASTEST)
    alone = one is None or one.value == 1
    return row.verdict == NOT_COMPARED and disturbs(row) if alone else bool(one and one.rough)


def shown_ratio(row: Summary) -> float | None:
    """To the baseline if there is one, else to the fastest."""
    return row.relative_to_baseline if row.baseline else row.relative_to_fastest


def sure_ratio(row: Summary) -> float | None:
    """The same, if it says anything: then it has a colour."""
    return None if row.verdict == NOT_COMPARED or is_rough(row) else shown_ratio(row)


def open_rankings(rows: Iterable[Summary]) -> set[Point]:
    """The rankings whose fastest row is not shown to be the fastest, so nothing stresses it."""
    ratios = [(row.ranking, row.ratios[TO_FASTEST]) for row in rows if TO_FASTEST in row.ratios]
    return {ranking for ranking, one in ratios if one.value != 1 and one.verdict in (NO_DIFFERENCE, NOT_COMPARED)}


def words(row: Summary) -> str:
    """The row's ratio, or why it has none."""
    if (ratio := shown_ratio(row)) is not None:
        return format_ratio(ratio, row.verdict, is_rough(row))
    if row.status == OK and row.unranked:
        return row.unranked
    if row.status == OK and row.baseline and row.relative_to_fastest is not None:
        return "no baseline"
    return f"one {row.work.unit}" if row.status == OK and row.epochs == 1 else row.status
