"""How sure a median is, and a ratio of two: bootstrap intervals (Efron & Tibshirani 1993), the same at each call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kbench.values import Interval

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

LEVEL = 0.95
# The ends move by less than a tenth of the interval's width from one seed to another, at some milliseconds a row.
RESAMPLES = 4000
_SEED = 19790101
_AT_ONCE = 2_000_000  # numbers held in memory while resampling


def of_median(values: Sequence[float]) -> Interval | None:
    """The interval of the median of `values`; None for fewer than two, or where one is not finite."""
    if not _usable(values):
        return None
    return _between(_medians(values, 0))


def of_ratio(values: Sequence[float], reference: Sequence[float]) -> Interval | None:
    """The interval of median(values) / median(reference), resampled independently of one another.

    None where either has fewer than two values, one that is not finite, or `reference` one that is not above 0.
    """
    if not (_usable(values) and _usable(reference)) or min(reference) <= 0:
        return None
    with np.errstate(all="ignore"):  # of numbers that overflow, which give no interval
        return _between(_medians(values, 0) / _medians(reference, 1))


def _usable(values: Sequence[float]) -> bool:
    return len(values) >= 2 and all(map(math.isfinite, values))


def _between(medians: Numbers) -> Interval | None:
    """The percentile interval. BCa has no value where all numbers are equal."""
    with np.errstate(all="ignore"):
        low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return Interval(_rounded(low), _rounded(high)) if math.isfinite(low) and math.isfinite(high) else None


def _medians(values: Sequence[float], side: int) -> Numbers:
    """The median of each resample of `values`.

    Which of the sorted values are drawn hangs on their number alone: so many rows share one draw, and a row's
    interval hangs on its own values and no other row's.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    lower, upper = _drawn(len(values), side)
    with np.errstate(all="ignore"):
        medians: Numbers = (ordered[lower] + ordered[upper]) / 2
    return medians


@cache
def _drawn(count: int, side: int) -> tuple[np.ndarray, np.ndarray]:
    """For each resample of `count` sorted values, the places of the two in its middle, or twice the one."""
    chance = np.random.default_rng((_SEED, side))
    lower, upper = (count - 1) // 2, count // 2
    kept = []
    at_once = max(1, _AT_ONCE // count)
    for start in range(0, RESAMPLES, at_once):
        drawn = chance.integers(0, count, (min(at_once, RESAMPLES - start), count), dtype=np.int32)
        drawn.partition([lower, upper], axis=1)
        kept.append(drawn[:, [lower, upper]])
    places = np.concatenate(kept)
    return places[:, 0].copy(), places[:, 1].copy()


def _rounded(value: float) -> float:
    """To nine figures: the last bits of a quantile differ between versions of numpy, and files should not."""
    return float(f"{value:.9g}")
