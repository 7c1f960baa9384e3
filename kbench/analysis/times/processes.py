"""The times of rows that were measured together, from each one's processes, and the intervals of their ratios."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from kbench.analysis.times import intervals, levels, spreads, step_times
from kbench.analysis.times.levels import Level, Numbers, Quantiles
from kbench.records.values import Interval, Measured

Row = TypeVar("Row", bound=Hashable)
# (repeat, process): processes of a repeat run side by side, and what the machine does then is common to them.
Place = tuple[int, int]

# As many rows as the prior counts for beside the other rows of the table, which show this machine now.
OF_PRIOR = 12.0
# The part of a process's own error that its deviation is thought to have beside its row's spread: errors are
# estimated from few turns, generously, and the measured spreads hold most of them (benchmarks/calibration.py).
OF_ERROR = 0.4
# A process is odd if it is off by more than this, and by so many times as much as the usual one of its row.
ODD, ODD_TIMES, FEWEST_FOR_ODD = 0.1, 6.0, 4
# Whole and short processes of a row are two kinds if they are further apart than by this, and than processes of one
# kind are in all but so many cases: a run has dozens of rows.
APART, APART_BY_CHANCE = 0.1, 0.001
_PASSES = 20  # of the fit, which hardly changes after three


@dataclass(frozen=True)
class Process:
    """The time of one process."""

    seconds: float  # of an epoch
    error: float | None = None  # standard error of its logarithm, as its own turns or epochs vary; None if unknown


@dataclass(frozen=True, eq=False)
class RowTime:
    """The time of a row, over its processes."""

    seconds: float  # of an epoch, in a usual repeat
    places: frozenset[Place]  # of its processes
    level: Level  # its logarithm, relative to those of the rows beside it
    shift: float  # the logarithm of `seconds` less the level's median
    error: float | None  # of a process, by its own turns or epochs
    odd: Mapping[Place, float]  # processes that are far off, and how many times as slow as the row they are
    of_kinds: tuple[float, float] | None = None  # see `of_kinds`

    @property
    def repeats(self) -> frozenset[int]:
        return frozenset(repeat for repeat, _ in self.places)

    @property
    def interval(self) -> Interval | None:
        """That of `seconds`; None for one process, if nothing shows how its time varies."""
        if _unknown(self):
            return None
        ends = (self.level.quantile(part) + self.shift for part in intervals.two_sided(1 - intervals.CONFIDENCE))
        return levels.interval(*ends)

    @cached_property
    def quantiles(self) -> Quantiles:
        """Those of the level; empty for one process, if nothing shows how its time varies."""
        return () if _unknown(self) else self.level.quantiles

    def prediction_half_width(self) -> float:
        """How far one of its processes lies off, in 95 % of cases: the logarithm of a factor."""
        return levels.half_width(self.level.spreads, 1 - intervals.CONFIDENCE)


def of_epochs(one: Measured) -> Process | None:
    """A process's time by its steady epochs alone; None where it has none."""
    seconds = [epoch.seconds for epoch in step_times.steady(one.epochs)]
    usual = step_times.median_of(seconds)
    return Process(usual, intervals.error_of_median(seconds)) if usual and 0 < usual < math.inf else None


def row_times(
    table: Mapping[Row, Mapping[Place, Process]], priors: Mapping[Row, Numbers] | None = None
) -> dict[Row, RowTime]:
    """The times of rows that were measured together, from each one's processes.

    The logarithm of a process's time is the sum of its row's level, its repeat's level, as the machine may have
    changed between repeats, and its own deviation. priors: of each row's spreads, see `spreads.prior`.
    """
    table = {row: processes for row, processes in table.items() if processes}
    if not table:
        return {}
    of_row, of_repeat, deviations = deviations_of(table)
    usual = median(of_repeat.values())
    errors = {row: [OF_ERROR * (one.error or 0.0) for one in its.values()] for row, its in table.items()}
    known = dict(priors or {})
    for row in table:
        known.setdefault(row, spreads.prior(spreads.shipped(), "", ""))
    known = _updated(known, deviations, errors)
    found = {}
    for row, its in table.items():
        level = levels.level([of_row[row] + one for one in deviations[row].values()], errors[row], known[row])
        middle = level.median
        seconds = math.exp(middle + usual)
        found[row] = RowTime(
            float(f"{seconds:.12g}"),  # without the rounding of logarithms
            frozenset(its),
            level,
            usual,
            _usual_error(its.values()),
            _odd({place: of_row[row] + one - middle for place, one in deviations[row].items()}),
        )
    return found


def of_kinds(
    table: Mapping[Row, Mapping[Place, Process]], priors: Mapping[Row, Numbers]
) -> dict[Row, tuple[float, float]]:
    """Rows whose whole and short processes are two kinds: seconds of an epoch in whole ones, and in short ones.

    What a process does besides what is timed has changed its speed. A mixture would be the time of neither.
    """
    _, _, deviations = deviations_of(table) if table else ({}, {}, {})
    found = {}
    for row, its in deviations.items():
        whole, short = (
            {place: one for place, one in its.items() if bool(place[1]) == timing} for timing in (False, True)
        )
        if not whole or len(short) < 2:  # of one kind there are at least two
            continue
        errors = [OF_ERROR * (table[row][place].error or 0.0) for place in short]
        alike = levels.level([*short.values()], errors, priors[row]).spreads
        reach = levels.half_width(alike, APART_BY_CHANCE) * math.sqrt(1 / len(whole) + 1 / len(short))
        reach += max(table[row][place].error or 0.0 for place in its)  # as of a burst that hit all of one kind
        if abs(median(whole.values()) - median(short.values())) > max(APART, reach):
            seconds = [median(table[row][place].seconds for place in kind) for kind in (whole, short)]
            found[row] = seconds[0], seconds[1]
    return found


def deviations_of(
    table: Mapping[Row, Mapping[Place, Process]],
) -> tuple[dict[Row, float], dict[int, float], dict[Row, dict[Place, float]]]:
    """The logarithms of the levels of rows and repeats, and how far each process is off both."""
    logs = {row: {place: math.log(one.seconds) for place, one in its.items()} for row, its in table.items()}
    of_row, of_repeat = _polished(logs)
    freedom = sum(map(len, logs.values())) - len(logs)
    # The repeats' levels come from the same processes, which are therefore closer to them than others would be.
    common = [sum(any(place[0] == repeat for place in its) for its in logs.values()) > 1 for repeat in of_repeat]
    stretch = math.sqrt(freedom / max(1, freedom - max(0, sum(common) - 1))) if freedom > 0 else 1.0
    deviations = {
        row: {place: stretch * (one - of_row[row] - of_repeat[place[0]]) for place, one in its.items()}
        for row, its in logs.items()
    }
    return of_row, of_repeat, deviations


def _polished(logs: Mapping[Row, Mapping[Place, float]]) -> tuple[dict[Row, float], dict[int, float]]:
    """The levels of the rows and of the repeats, by medians; those of the repeats are 0 in the middle."""
    repeats = sorted({repeat for its in logs.values() for repeat, _ in its})
    of_repeat = dict.fromkeys(repeats, 0.0)
    of_row: dict[Row, float] = {}
    for _ in range(_PASSES):
        before = of_row
        of_row = {row: median(one - of_repeat[place[0]] for place, one in its.items()) for row, its in logs.items()}
        if before and all(math.isclose(of_row[row], before[row], rel_tol=0, abs_tol=1e-12) for row in of_row):
            break
        for repeat in repeats:
            means = [
                fmean(beside) - of_row[row]
                for row, its in logs.items()
                if (beside := [one for place, one in its.items() if place[0] == repeat])
            ]
            # A lone row's process may be slow by itself, and of two rows one: 0 has a vote.
            of_repeat[repeat] = median([*means, 0.0]) if len(means) > 1 else 0.0
    return of_row, of_repeat


def _updated(
    priors: Mapping[Row, Numbers], deviations: Mapping[Row, Mapping[Place, float]], errors: Mapping[Row, list[float]]
) -> dict[Row, Numbers]:
    """Each row's prior with what the other rows show, those of several processes."""
    shown = {
        row: levels.level([*its.values()], errors[row], priors[row]).spreads
        for row, its in deviations.items()
        if len(its) > 1
    }
    total = sum(shown.values(), np.zeros(len(levels.SPREADS)))
    found = {}
    for row in deviations:
        others = total - shown[row] if row in shown else total
        weights = OF_PRIOR * priors[row] + others
        found[row] = weights / weights.sum()
    return found


def _odd(deviations: Mapping[Place, float]) -> dict[Place, float]:
    """Processes that are far off, and the factor; none among few."""
    if len(deviations) < FEWEST_FOR_ODD:
        return {}
    usual = median(map(abs, deviations.values()))
    return {place: math.exp(one) for place, one in deviations.items() if abs(one) > max(ODD, ODD_TIMES * usual)}


def column_medians(table: Numbers) -> Numbers:
    """The median of each column without its NaNs: numpy.nanmedian, fifty times as fast for small tables."""
    ordered = np.sort(table, axis=0)  # NaNs last
    count = np.isfinite(table).sum(axis=0)
    column = np.arange(table.shape[1])
    medians: Numbers = (ordered[(count - 1) // 2, column] + ordered[count // 2, column]) / 2
    return medians


def of_ratio(one: RowTime, reference: RowTime, alpha: float) -> Interval | None:
    """The interval of the ratio of two rows of a table; wrong with at most this chance.

    None without any repeat in common, and for one process each whose own error is unknown.
    """
    if not one.repeats & reference.repeats or _unknown(one, reference):
        return None
    return levels.interval(*levels.of_difference(one.level, reference.level, alpha))


def between_runs(ratio: float, one: RowTime, reference: RowTime, alpha: float, half_width: float) -> Interval | None:
    """The interval of the ratio of two rows that did not run together; None as above.

    half_width: what the machine may have put the ratio off meanwhile, as the logarithm of a factor.
    """
    if _unknown(one, reference):
        return None
    low, high = levels.of_difference(one.level, reference.level, alpha)
    middle = one.level.median - reference.level.median
    below, above = math.hypot(middle - low, half_width), math.hypot(high - middle, half_width)
    return levels.interval(math.log(ratio) - below, math.log(ratio) + above)


def within(ratio: float, one: RowTime, reference: RowTime) -> Interval | None:
    """The 95 % interval of the ratio of just the two processes that were measured; None for several."""
    if max(len(one.places), len(reference.places)) != 1 or one.error is None or reference.error is None:
        return None
    if not 0 < ratio < math.inf:
        return None
    reach = math.hypot(one.error, reference.error) * intervals.normal((1 + intervals.CONFIDENCE) / 2)
    return levels.interval(math.log(ratio) - reach, math.log(ratio) + reach)


def _unknown(*rows: RowTime) -> bool:
    """Whether a single process of one of these may be off by anything: nothing shows how its time varies."""
    return any(len(one.places) == 1 and one.error is None for one in rows)


def _usual_error(processes: Iterable[Process]) -> float | None:
    """The usual error of a row's processes."""
    known = [one.error for one in processes if one.error is not None]
    return median(known) if known else None
