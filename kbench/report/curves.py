"""Learning curves for the page: the mean and the spread over repeats, with as many points as a screen can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from kbench.values import OK, Epoch, Measured

MOST_POINTS = 200  # of one curve; a screen has few more
_FEWEST_POINTS = 10
_POINTS_OF_A_PAGE = 40_000  # about 2 MB


@dataclass(frozen=True)
class Point:
    """One epoch of a row: means over the repeats."""

    epoch: int
    seconds: float  # of training until its end
    value: float
    spread: float | None  # sample standard deviation over the repeats; None where there is one
    repeats: int


def points_each(curves: int) -> int:
    """How many points each of so many curves may have on one page."""
    return min(MOST_POINTS, max(_FEWEST_POINTS, _POINTS_OF_A_PAGE // max(1, curves)))


def has(measured: Sequence[Measured], metric: str) -> bool:
    """Whether any epoch of them has a finite value of the metric."""
    return any(_value(epoch, metric) is not None for one in measured for epoch in one.epochs)


def curve(repeats: Sequence[Measured], metric: str, most: int) -> list[Point]:
    """The row's curve, over the epochs that all its repeats have; at most `most` of them, evenly spread.

    Of the repeats that ended ok, or of the others where none did.
    """
    chosen = [one for one in repeats if one.outcome.status == OK] or list(repeats)
    told = [_told(one, metric) for one in chosen]
    told = [values for values in told if values]
    if not told:
        return []
    shared = sorted(set(told[0]).intersection(*told[1:]))
    points = []
    for epoch in thinned(shared, most):
        seconds, values = zip(*(values[epoch] for values in told), strict=True)
        points.append(
            Point(epoch, sum(seconds) / len(told), sum(values) / len(told), _spread(values), len(told)),
        )
    return points


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]


def _told(one: Measured, metric: str) -> dict[int, tuple[float, float]]:
    """Epoch to seconds of training until its end, and the metric. Seconds count epochs without it, too."""
    passed = accumulate(epoch.seconds for epoch in one.epochs)
    return {
        epoch.epoch: (seconds, value)
        for epoch, seconds in zip(one.epochs, passed, strict=True)
        if (value := _value(epoch, metric)) is not None
    }


def _value(epoch: Epoch, metric: str) -> float | None:
    value: float | None = getattr(epoch, metric)
    return value if value is not None and math.isfinite(value) else None


def _spread(values: Sequence[float]) -> float | None:
    """The sample standard deviation; not by exact fractions, as the standard library: a page may have a million."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) * (value - mean) for value in values) / (len(values) - 1))
