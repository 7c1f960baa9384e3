"""What settling a run's open rows would take: how many more processes, and how many seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kbench.axes import Point, RowKey
from kbench.store.reading import RunResults
from kbench.summary import TO_BASELINE, TO_FASTEST, Summary
from kbench.values import PRECISION

MOST_PROCESSES = 20  # of a row: what more than that would settle is left open


def processes_to_settle(row: Summary, precision: float | None) -> float:
    """How many more processes of a row and its reference are expected to settle its ratio; infinite if none would.

    An interval shrinks with the square root of the number of processes. It is to leave out 1, or to stay within the
    precision.
    """
    ratio = row.ratios.get(TO_BASELINE) or row.ratios.get(TO_FASTEST)
    if ratio is None or ratio.interval is None:
        return 1.0
    apart = abs(math.log(ratio.value))
    wanted = max(apart, math.log1p(precision or PRECISION) - apart)
    width = math.log(ratio.interval.high / ratio.interval.low) / 2
    count = max(1, ratio.processes or 1)
    return max(1.0, math.ceil(count * ((width / wanted) ** 2 - 1))) if wanted > 0 else math.inf


def seconds(run: RunResults, still_open: Mapping[Point, Sequence[Summary]], precision: float) -> float:
    """What settling all open rows is expected to take; infinite if no number of processes that kbench starts would.

    still_open: of `rows.open_rows`.
    """
    took: dict[RowKey, float] = {}
    for one in (*run.measured, *run.short):  # of short ones, if there are any
        took[one.cell.key] = one.outcome.seconds or 0.0
    total = 0.0
    for reference, *rows in still_open.values():
        needed = [processes_to_settle(row, precision) for row in rows]
        if max(needed, default=0.0) > MOST_PROCESSES:
            return math.inf
        its = [took.get(row.key, 0.0) for row in rows]
        total += sum(count * one for count, one in zip(needed, its, strict=True))
        total += max(needed, default=0.0) * took.get(reference.key, 0.0)
    return total
