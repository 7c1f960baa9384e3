"""How sure a median is, and a ratio of two: bootstrap intervals (Efron & Tibshirani 1993), the same at each call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kbench.values import Interval

LEVEL = 0.95
# The ends move by less than a tenth of the interval's width from one seed to another, at some milliseconds a row.
RESAMPLES = 4000
_SEED = 19790101
_AT_ONCE = 2_000_000  # numbers held in memory while resampling


def of_median(values: Sequence[float]) -> Interval | None:
    """The interval of the median of `values`; None for fewer than two, or where one is not finite."""
    if not _usable(values):
        return None
    return _bootstrap((values,), _median)


def of_ratio(values: Sequence[float], reference: Sequence[float]) -> Interval | None:
    """The interval of median(values) / median(reference), resampled independently of one another.

    None where either has fewer than two values, one that is not finite, or `reference` one that is not above 0.
    """
    if not (_usable(values) and _usable(reference)) or min(reference) <= 0:
        return None
    return _bootstrap((values, reference), _ratio)


def _usable(values: Sequence[float]) -> bool:
    return len(values) >= 2 and all(map(math.isfinite, values))


def _bootstrap(samples: tuple[Sequence[float], ...], statistic: Callable[..., Any]) -> Interval | None:
    # Here and not above: it takes most of a second to load, and most commands never come here.
    from scipy.stats import bootstrap

    with np.errstate(all="ignore"):  # of numbers that overflow, which give no interval
        found = bootstrap(
            samples,
            statistic,
            n_resamples=RESAMPLES,
            batch=max(1, _AT_ONCE // max(map(len, samples))),
            vectorized=True,
            confidence_level=LEVEL,
            # BCa, scipy's default, has no value where all numbers are equal, and warns.
            method="percentile",
            rng=np.random.default_rng(_SEED),  # a new one each time: no row's interval hangs on the other rows
        ).confidence_interval
    ends = float(found.low), float(found.high)
    return Interval(*map(_rounded, ends)) if all(map(math.isfinite, ends)) else None


def _median(values: Any, axis: int) -> Any:
    return np.median(values, axis=axis)


def _ratio(values: Any, reference: Any, axis: int) -> Any:
    return np.median(values, axis=axis) / np.median(reference, axis=axis)


def _rounded(value: float) -> float:
    """To nine figures: the last bits of a quantile differ between versions of numpy, and files should not."""
    return float(f"{value:.9g}")
