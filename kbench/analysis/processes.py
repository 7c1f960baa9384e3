"""How much processes of a backend differ, and how much that leaves open about a ratio.

The times of a backend's processes differ by more than their epochs show, and by how much is itself hardly known from
a few. So each row has a distribution over possible spreads (standard deviations of the logarithm of a process's
time): a stated prior, updated by the row's own processes and, where there are several rows, by those of the others
(empirical Bayes; Lu & Stephens, *Variance adaptive shrinkage*, Bioinformatics 32, 2016: a grid of variances in place
of the single prior of Smyth 2004, so that one unsteady backend among steady ones stays unsteady).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

import numpy as np

from kbench.analysis import intervals, step_times
from kbench.values import Interval, Measured

Row = TypeVar("Row", bound=Hashable)
Numbers = np.ndarray[Any, np.dtype[np.float64]]

# Of a row with one process nobody knows more than this: up to a spread of 20 %, verdicts then hold.
OF_ONE = 0.21
# The prior of several: spreads from the smallest to the largest are as likely as their logarithms; half of them lie
# below 6 %, the root mean square of the reference runs (whose robust estimate is 3 %). The largest has more weight:
# two or three processes that happen to agree do not decide. See docs/measuring.md for the simulation.
SMALLEST, LARGEST = 0.01, 0.35
AT_LARGEST = 0.13
_SPREADS = 16
OTHERS = 0.9  # of a row's prior, at most, is what the other rows show
_PASSES = 20  # of the fit, which hardly changes after three


@dataclass(frozen=True)
class Process:
    """The time of one process."""

    seconds: float  # of an epoch
    error: float | None = None  # standard error of its logarithm, as its own turns or epochs vary; None if unknown


@dataclass(frozen=True)
class RowTime:
    """The time of a row, over its processes, and how much they may differ."""

    seconds: float  # of an epoch, in a usual repeat
    repeats: frozenset[int]
    variances: tuple[float, ...]  # possible ones of a process's logarithm
    chances: tuple[float, ...]  # how likely each of them is
    error: float | None  # of a process, by its own turns or epochs

    def prediction_half_width(self, processes: int = 1) -> float:
        """How far the mean of so many of its processes lies off, in 95 % of cases: the logarithm of a factor."""
        return _half_width(np.array(self.variances) / processes, np.array(self.chances), 1 - intervals.CONFIDENCE)


def of_epochs(one: Measured) -> Process | None:
    """A process's time by its steady epochs alone; None where it has none."""
    seconds = [epoch.seconds for epoch in step_times.steady(one.epochs)]
    usual = step_times.median_of(seconds)
    return Process(usual, intervals.error_of_median(seconds)) if usual and 0 < usual < math.inf else None


def row_times(table: Mapping[Row, Mapping[int, Process]]) -> dict[Row, RowTime]:
    """The times of rows that were measured together, from each one's processes by repeat.

    The logarithm of a process's time is the sum of its row's level, its repeat's level, as the machine may have
    changed between repeats, and its own deviation.
    """
    rows = [row for row, processes in table.items() if processes]
    repeats = sorted({repeat for row in rows for repeat in table[row]})
    if not rows:
        return {}
    times = np.full((len(rows), len(repeats)), np.nan)
    for position, row in enumerate(rows):
        for repeat, process in table[row].items():
            times[position, repeats.index(repeat)] = math.log(process.seconds)
    of_row = np.zeros(len(rows))
    for _ in range(_PASSES):
        before = of_row
        of_repeat = column_medians(times - of_row[:, None])
        of_row = np.nanmean(times - of_repeat, axis=1)
        if np.allclose(of_row, before, rtol=0, atol=1e-12):
            break
    errors = [_error(table[row].values()) for row in rows]
    variances, prior = _prior(max((error for error in errors if error is not None), default=0.0))
    chances = _chances(times - of_row[:, None] - of_repeat, variances, prior)
    with np.errstate(all="ignore"):
        seconds = np.exp(of_row + np.median(of_repeat)).tolist()
    found = {}
    for position, row in enumerate(rows):
        several = len(table[row]) > 1
        found[row] = RowTime(
            float(f"{seconds[position]:.12g}"),  # without the rounding of logarithms
            frozenset(table[row]),
            tuple(variances.tolist()) if several else (OF_ONE**2 + (errors[position] or 0.0) ** 2,),
            tuple(chances[position].tolist()) if several else (1.0,),
            errors[position],
        )
    return found


def column_medians(table: Numbers) -> Numbers:
    """The median of each column without its NaNs: numpy.nanmedian, fifty times as fast for small tables."""
    ordered = np.sort(table, axis=0)  # NaNs last
    count = np.isfinite(table).sum(axis=0)
    column = np.arange(table.shape[1])
    medians: Numbers = (ordered[(count - 1) // 2, column] + ordered[count // 2, column]) / 2
    return medians


def of_ratio(ratio: float, one: RowTime, reference: RowTime, chance: float) -> Interval | None:
    """The interval of the ratio of two rows of a table; wrong with at most this chance.

    The mean difference in their common repeats has the sum of the variances of both rows' processes, divided by the
    number of these repeats. None without any, and for one repeat whose own error is unknown.
    """
    common = len(one.repeats & reference.repeats)
    if not common or (common == 1 and None in (one.error, reference.error)):
        return None
    variances = (np.array(one.variances)[:, None] + np.array(reference.variances)) / common
    chances = np.array(one.chances)[:, None] * np.array(reference.chances)
    return _around(ratio, _half_width(variances.ravel(), chances.ravel(), chance))


def within(ratio: float, one: RowTime, reference: RowTime) -> Interval | None:
    """The 95 % interval of the ratio of just the two processes that were measured; None for several."""
    if len(one.repeats & reference.repeats) != 1 or one.error is None or reference.error is None:
        return None
    error = math.hypot(one.error, reference.error)
    return _around(ratio, error * intervals.normal((1 + intervals.CONFIDENCE) / 2))


def _error(processes: Iterable[Process]) -> float | None:
    """The usual error of a row's processes."""
    known = [one.error for one in processes if one.error is not None]
    return median(known) if known else None


def _prior(error: float) -> tuple[Numbers, Numbers]:
    """The possible variances of a process's time, and how likely each is before any deviation is seen.

    `error`: what a process's own turns or epochs vary adds to the largest.
    """
    chances = np.full(_SPREADS, (1 - AT_LARGEST) / _SPREADS)
    chances[-1] += AT_LARGEST
    return np.geomspace(SMALLEST, math.hypot(LARGEST, error), _SPREADS) ** 2, chances


def _chances(deviations: Numbers, variances: Numbers, prior: Numbers) -> Numbers:
    """How likely each of the variances is for each row, from the deviations of its processes (rows, repeats).

    A repeat's level comes from the same rows, which are therefore closer to it than others would be.
    """
    rows = np.isfinite(deviations).sum(axis=0)
    parts = np.where(np.isfinite(deviations) & (rows > 1), 1 - 1 / np.maximum(rows, 2), 0.0)  # of a degree of freedom
    several = (parts > 0).sum(axis=1) > 1
    freedom = np.where(several, parts.sum(axis=1) - parts.max(axis=1, initial=0.0), 0.0)
    squares = np.nansum(deviations**2, axis=1) * several
    likelihood = -freedom[:, None] / 2 * np.log(variances) - squares[:, None] / 2 / variances
    chances = _weighted(prior, likelihood)
    count = int(several.sum())
    if count < 3:  # the deviations of two rows are the same
        return chances
    share = OTHERS * (count - 2) / (count - 1)
    for _ in range(2):
        others = (chances[several].sum(axis=0) - chances * several[:, None]) / (count - several)[:, None]
        chances = _weighted((1 - share) * prior + share * others, likelihood)
    return chances


def _weighted(prior: Numbers, likelihood: Numbers) -> Numbers:
    """Bayes's rule for each row, from logarithms of the likelihood."""
    with np.errstate(under="ignore"):
        chances = prior * np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    normalised: Numbers = chances / chances.sum(axis=1, keepdims=True)
    return normalised


def _half_width(variances: Numbers, chances: Numbers, chance: float) -> float:
    """What a normal deviation, whose variance is one of these, exceeds in either direction with this chance."""
    from scipy.special import ndtr

    spreads = np.sqrt(variances)
    low, high = 0.0, 40 * float(spreads.max())
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * float(chances @ ndtr(-middle / spreads)) > chance else (low, middle)
    return high


def _around(ratio: float, half_width: float) -> Interval | None:
    """The interval that reaches so far, as a logarithm, to either side; None where its ends are no numbers."""
    low, high = (float(f"{ratio * factor:.9g}") for factor in (math.exp(-half_width), math.exp(half_width)))
    return Interval(low, high) if low > 0 and high < math.inf else None
