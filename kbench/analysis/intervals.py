"""Bootstrap intervals of medians and of their ratios (Efron & Tibshirani 1993), the same at each call.

The bootstrap interval of few values is too narrow, since no resample goes beyond them. It is widened to include
Student's interval, which accounts for how little few values say of their own spread.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kbench.values import Interval

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Places = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

LEVEL = 0.95
# Of each look at a table that is looked at up to ten times and must be right at LEVEL in the end (Pocock 1977).
LOOKS = 10
LEVEL_OF_A_LOOK = 1 - 0.0106
# With at least so many values the bootstrap alone is wrong about equal medians in at most 1 - LEVEL of cases: in
# simulations with 2, 3 and 4 values on each side it is in 33, 10 and 6 %.
ENOUGH = 5
# The ends move by less than a tenth of the interval's width from one seed to another, at some milliseconds a row.
RESAMPLES = 4000
# The median absolute deviation is as efficient as the standard deviation of this share of the values (Huber, Robust
# Statistics, 1981, section 5.1); in simulations, t then misses one more value in 4 to 6 % of cases.
EFFICIENCY = 0.37
FARTHEST = math.log(1000)  # a larger reach comes from damaged files, not from a machine
_SEED = 19790101
_AT_ONCE = 2_000_000  # numbers held in memory while resampling


def of_median(values: Sequence[float]) -> Interval | None:
    """The interval of the median of `values`; None for fewer than two, or where one is not finite."""
    if not _usable(values):
        return None
    return _widened(_between(_medians(values, 0)), values)


def of_ratio(values: Sequence[float], reference: Sequence[float]) -> Interval | None:
    """The interval of median(values) / median(reference), resampled independently.

    None where either has fewer than two values or one that is not finite, or `reference` has one that is not above 0.
    """
    if not (_usable(values) and _usable(reference)) or min(reference) <= 0:
        return None
    with np.errstate(all="ignore"):  # numbers that overflow give no interval
        return _widened(_between(_medians(values, 0) / _medians(reference, 1)), values, reference)


def reach(values: Sequence[float]) -> float | None:
    """How far one more such value lies from the median, in 95 % of cases: the logarithm of a factor.

    Student's t times the standard deviation of the logarithms, estimated by their median absolute deviation, so that
    a burst of other work in a few of the values hardly widens it. None for fewer than two values, for one that is not
    finite or not above 0, and for an absurdly large result.
    """
    if not _usable(values) or min(values) <= 0:
        return None
    logarithms = np.log(values)
    spread = median_deviation(logarithms - np.median(logarithms))
    found = students_t((1 + LEVEL) / 2, EFFICIENCY * (len(values) - 1)) * spread
    return found if found < FARTHEST else None


def reaching(interval: Interval, estimate: float, further: float) -> Interval:
    """The interval of `estimate`, widened by a variation that its samples do not show: `further`, a `reach`.

    Both are independent, so they add like variances (JCGM 100:2008, *Guide to the expression of uncertainty in
    measurement*, 5.1.2), on either side and in logarithms.
    """
    if not further or not 0 < interval.low <= estimate <= interval.high < math.inf:
        return interval
    with np.errstate(all="ignore"):
        below, above = np.log(estimate) - np.log(interval.low), np.log(interval.high) - np.log(estimate)
        low, high = (estimate * np.exp([-np.hypot(below, further), np.hypot(above, further)])).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(high) else interval


@lru_cache(maxsize=256)
def for_all_pairs(rows: int, level: float, freedom: int) -> float:
    """How much wider the interval of a pair of `rows` must be for those of all pairs to hold together at `level`.

    Tukey's studentized range over Student's t (Tukey 1953; Kramer 1956), with `freedom` degrees of freedom, above 0.
    """
    from scipy.stats import studentized_range

    if rows < 3:
        return for_all_with_one(rows, level, freedom)
    return float(studentized_range.ppf(level, rows, freedom) / math.sqrt(2) / students_t((1 + LEVEL) / 2, freedom))


@lru_cache(maxsize=256)
def for_all_with_one(rows: int, level: float, freedom: int) -> float:
    """The same for only the `rows` - 1 pairs with one row that was chosen beforehand.

    By Bonferroni's inequality, which gives at most 1 % more than Dunnett's test.
    """
    if rows < 3 and level == LEVEL:
        return 1.0
    return students_t(1 - (1 - level) / 2 / max(1, rows - 1), freedom) / students_t((1 + LEVEL) / 2, freedom)


def widened(interval: Interval, estimate: float, factor: float) -> Interval:
    """The interval, `factor` times as wide on either side of the estimate, in logarithms."""
    if factor == 1 or not 0 < interval.low <= estimate <= interval.high < math.inf:
        return interval
    with np.errstate(all="ignore"):
        low, high = (estimate * np.power([interval.low / estimate, interval.high / estimate], factor)).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(high) else interval


def differing_by_chance(ratios: int) -> int:
    """How many of that many ratios may be shown to differ from 1 although none does: in 95 % of cases no more."""
    from scipy.special import bdtr

    return next(count for count in range(ratios + 1) if bdtr(count, ratios, 1 - LEVEL) >= LEVEL)


# These two are from scipy.special, because scipy.stats takes a second to import.


def students_t(part: float, freedom: float) -> float:
    """What Student's t does not exceed in this part of cases."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, part))


def median_deviation(deviations: Numbers) -> float:
    """The standard deviation, estimated by the median of the absolute deviations."""
    from scipy.special import ndtri

    return float(np.median(np.abs(deviations)) / ndtri(0.75))


def _usable(values: Sequence[float]) -> bool:
    return len(values) >= 2 and all(map(math.isfinite, values))


def _between(medians: Numbers) -> Interval | None:
    """The percentile interval of the bootstrap's medians."""
    with np.errstate(all="ignore"):
        low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(low) and math.isfinite(high) else None


def _widened(drawn: Interval | None, *samples: Sequence[float]) -> Interval | None:
    """The bootstrap's interval; for few values widened to include Student's.

    Student's is that of the logarithms: noise is proportional to a time, and an inverted ratio then has the inverted
    interval. The bootstrap's alone where the logarithms, or their interval, are not finite.
    """
    if drawn is None or min(map(len, samples)) >= ENOUGH or min(map(min, samples)) <= 0:
        return drawn
    from scipy.stats import ttest_1samp, ttest_ind

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where all values are the same
        own, *reference = map(np.log, samples)
        # Welch's test: each side has its own spread.
        tested: Any = ttest_ind(own, *reference, equal_var=False) if reference else ttest_1samp(own, 0.0)
        low, high = np.exp(tested.confidence_interval(LEVEL)).tolist()
    if not (math.isfinite(low) and math.isfinite(high)):
        return drawn
    return Interval(min(drawn.low, _rounded(low)), max(drawn.high, _rounded(high)))


def _medians(values: Sequence[float], side: int) -> Numbers:
    """The median of each resample of `values`; the two sides of a ratio are drawn independently."""
    ordered = np.sort(values)
    below, above = _middle(len(ordered), side)
    with np.errstate(all="ignore"):
        medians: Numbers = (ordered[below] + ordered[above]) / 2
    return medians


@lru_cache(maxsize=256)
def _middle(count: int, side: int) -> tuple[Places, Places]:
    """Which two of `count` values in order are in the middle of each resample: the same one twice if it is odd."""
    random = np.random.default_rng((_SEED, side))
    at_once = max(1, _AT_ONCE // count)
    parts = [min(at_once, RESAMPLES - done) for done in range(0, RESAMPLES, at_once)]
    middle = [(count - 1) // 2, count // 2]
    drawn = (np.partition(random.integers(count, size=(part, count)), middle, axis=1)[:, middle] for part in parts)
    below, above = np.concatenate(list(drawn)).T
    return below, above


def _rounded(value: float) -> float:
    """To nine digits: the last bits of a quantile differ between versions of numpy, and files should not."""
    return float(f"{value:.9g}")
