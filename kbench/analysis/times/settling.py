"""What settling a run's open rows would take, in processes and seconds, and what the last processes brought."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbench.analysis.times.machine_stability import disturbed_turns
from kbench.records import axes
from kbench.records.axes import Point, RowKey
from kbench.records.values import PRECISION, Interval, Measured
from kbench.store.reading import RunResults
from kbench.summary import TO_BASELINE, TO_FASTEST, Ratio, Summary

MOST_PROCESSES = 20  # of a row: what more than that would settle is left open


@dataclass(frozen=True)
class Gain:
    """What further processes of a run brought."""

    processes: int
    turns: int  # theirs
    disturbed: int  # of these, by other programs
    shares: Mapping[RowKey, float]  # of the precision that they were expected to bring, how much a row got: 0 to 1

    @property
    def lost(self) -> bool:
        """Whether most of their turns were."""
        return 2 * self.disturbed > self.turns


def gain(before: Sequence[Summary], after: Sequence[Summary], added: Sequence[Measured]) -> Gain:
    """Of the processes `added` to a run, by its rows before and after."""
    turns, counts = disturbed_turns(added), Counter(one.cell.key for one in added)
    was, shares = {row.key: row for row in before}, {}
    for row in after:
        if (count := counts[row.key.without([axes.SITE])]) and row.key in was:
            shares[row.key] = _share(_of_row(was[row.key]), _of_row(row), count)
    return Gain(len(added), len(turns), sum(turns), shares)


def _share(was: Ratio | None, now: Ratio | None, count: int) -> float:
    """The precision is one over the square of an interval's width: each process adds as much as those before it."""
    if was is None or was.interval is None or now is None or now.interval is None:
        return float(bool(now and now.interval))
    added = (_width(was.interval) / _width(now.interval)) ** 2 - 1
    return min(1.0, max(0.0, added * max(1, was.processes or 1) / count))


def _of_row(row: Summary) -> Ratio | None:
    """The ratio that is to be settled."""
    return row.ratios.get(TO_BASELINE) or row.ratios.get(TO_FASTEST)


def _width(interval: Interval) -> float:
    return math.log(interval.high / interval.low) / 2


def processes_to_settle(row: Summary, precision: float | None) -> float:
    """How many more processes of a row and its reference are expected to settle its ratio; infinite if none would.

    An interval shrinks with the square root of the number of processes. It is to leave out 1, or to stay within the
    precision.
    """
    ratio = _of_row(row)
    if ratio is None or ratio.interval is None:
        return 1.0
    apart = abs(math.log(ratio.value))
    wanted = max(apart, math.log1p(precision or PRECISION) - apart)
    width = _width(ratio.interval)
    count = max(1, ratio.processes or 1)
    return max(1.0, math.ceil(count * ((width / wanted) ** 2 - 1))) if wanted > 0 else math.inf


def seconds(
    run: RunResults,
    still_open: Mapping[Point, Sequence[Summary]],
    precision: float,
    shares: Mapping[RowKey, float] | None = None,
) -> float:
    """What settling all open rows is expected to take; infinite if no number of processes that kbench starts would.

    still_open: of `rows.open_rows`. shares: of `Gain`: further processes are expected to bring as much as the last.
    """
    took: dict[RowKey, float] = {}
    for one in (*run.measured, *run.short):  # of short ones, if there are any
        took[one.cell.key] = one.outcome.seconds or 0.0
    total = 0.0
    for reference, *rows in still_open.values():
        needed = [_with_share(processes_to_settle(row, precision), (shares or {}).get(row.key, 1.0)) for row in rows]
        if max(needed, default=0.0) > MOST_PROCESSES:
            return math.inf
        its = [took.get(row.key, 0.0) for row in rows]
        total += sum(count * one for count, one in zip(needed, its, strict=True))
        total += max(needed, default=0.0) * took.get(reference.key, 0.0)
    return total


def _with_share(processes: float, share: float) -> float:
    return math.ceil(processes / share) if share > 0 and processes < math.inf else math.inf
