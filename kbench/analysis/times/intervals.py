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

from kbench.records.values import Interval

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Places = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

CONFIDENCE = 0.95
# Of each analysis of a table that is analysed up to ten times, to be right at CONFIDENCE in the end (Pocock 1977).
INTERIM_ANALYSES = 10
INTERIM_CONFIDENCE = 1 - 0.0106
# With at least so many values the bootstrap alone is wrong about equal medians in at most 1 - CONFIDENCE of cases: in
# simulations with 2, 3 and 4 values on each side it is in 33, 10 and 6 %.
ENOUGH = 5
# The ends move by less than a tenth of the interval's width from one seed to another, at some milliseconds a row.
RESAMPLES = 4000
_SEED = 19790101
_AT_ONCE = 2_000_000  # numbers held in memory while resampling


def of_median(values: Sequence[float]) -> Interval | None:
    """The interval of the median of `values`; None for fewer than two, or where one is not finite."""
    if not _usable(values):
        return None
    return _with_students(_between(_medians(values, 0)), values)


def of_ratio(values: Sequence[float], reference: Sequence[float]) -> Interval | None:
    """The interval of median(values) / median(reference), resampled independently.

    None where either has fewer than two values or one that is not finite, or `reference` has one that is not above 0.
    """
    if not (_usable(values) and _usable(reference)) or min(reference) <= 0:
        return None
    with np.errstate(all="ignore"):  # numbers that overflow give no interval
        return _with_students(_between(_medians(values, 0) / _medians(reference, 1)), values, reference)


def of_difference(values: Sequence[float], reference: Sequence[float]) -> Interval | None:
    """The interval of median(values) - median(reference), resampled independently; None as for `of_median`."""
    if not (_usable(values) and _usable(reference)):
        return None
    return _between(_medians(values, 0) - _medians(reference, 1))


def error_of_median(values: Sequence[float]) -> float | None:
    """The standard error of the logarithm of the median of `values`, from its interval; None where that has none."""
    found = of_median(values)
    if found is None or not 0 < found.low <= found.high < math.inf:
        return None
    return (math.log(found.high) - math.log(found.low)) / 2 / normal((1 + CONFIDENCE) / 2)


def scale_interval(interval: Interval, estimate: float, half_width: float) -> Interval:
    """The interval of `estimate`, widened by a variation that its samples do not show, to 95 %: the logarithm of a
    factor.

    Both are independent, so they add like variances (JCGM 100:2008, *Guide to the expression of uncertainty in
    measurement*, 5.1.2), on either side and in logarithms.
    """
    if not half_width or not 0 < interval.low <= estimate <= interval.high < math.inf:
        return interval
    with np.errstate(all="ignore"):
        below, above = np.log(estimate) - np.log(interval.low), np.log(interval.high) - np.log(estimate)
        low, high = (estimate * np.exp([-np.hypot(below, half_width), np.hypot(above, half_width)])).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(high) else interval


def differing_by_chance(ratios: int) -> int:
    """How many of that many ratios may be shown to differ from 1 although none does: in 95 % of cases no more."""
    from scipy.special import bdtr

    return next(count for count in range(ratios + 1) if bdtr(count, ratios, 1 - CONFIDENCE) >= CONFIDENCE)


def two_sided(alpha: float) -> tuple[float, float]:
    """The parts of a distribution between which all but alpha of it lies."""
    return alpha / 2, 1 - alpha / 2


def normal(part: float) -> float:
    """What a standard normal deviation does not exceed in this part of cases."""
    from scipy.special import ndtri  # scipy.stats takes a second to import

    return float(ndtri(part))


def _usable(values: Sequence[float]) -> bool:
    return len(values) >= 2 and all(map(math.isfinite, values))


def _between(medians: Numbers) -> Interval | None:
    """The percentile interval of the bootstrap's medians."""
    with np.errstate(all="ignore"):
        low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(low) and math.isfinite(high) else None


def _with_students(drawn: Interval | None, *samples: Sequence[float]) -> Interval | None:
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
        low, high = np.exp(tested.confidence_interval(CONFIDENCE)).tolist()
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
