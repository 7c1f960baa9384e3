"""Which rows are still open: neither shown to differ from the row that they are compared with, nor precise enough.

Racing (Maron & Moore 1994; Birattari et al. 2002): a decided row needs no more of the machine's time.
"""

from __future__ import annotations

from collections.abc import Sequence

from kbench.values import BASELINE, FASTER, FASTEST, SCRIPT, SLOWER, Interval, Summary


def open_rows(rows: Sequence[Summary], precision: float) -> dict[str, list[Summary]]:
    """Example -> the row to compare with, then its rows that are still open at this `precision`, if any."""
    found: dict[str, list[Summary]] = {}
    alone = all(row.task == SCRIPT for row in rows)
    for row in rows:
        if row.task == SCRIPT and not alone:  # a whole program is not repeated where its parts say more
            continue
        if row.relative_to_fastest is not None and row.verdict not in (SLOWER, FASTER, FASTEST, BASELINE):
            interval, ratio = _ratio(row)
            if interval is None or not ratio or half_width(interval, ratio) > precision:
                found.setdefault(row.example, []).append(row)
    return {example: [*_compared_with(rows, example), *there] for example, there in found.items()}


def half_width(interval: Interval, ratio: float) -> float:
    """The relative half-width of a ratio's interval, on its wider side."""
    return max(interval.high / ratio, ratio / interval.low) - 1


def _ratio(row: Summary) -> tuple[Interval | None, float | None]:
    if row.relative_to_baseline is not None:
        return row.baseline_interval, row.relative_to_baseline
    return row.relative_interval, row.relative_to_fastest


def _compared_with(rows: Sequence[Summary], example: str) -> list[Summary]:
    """The baseline's row if there is one, and else the fastest."""
    there = [row for row in rows if row.example == example]
    return next(([row] for shown in (BASELINE, FASTEST) for row in there if row.verdict == shown), [])
