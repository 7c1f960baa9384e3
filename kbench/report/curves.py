"""Learning curves for the page: mean and spread over repeats, with no more points than a screen can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbench.analysis import learning_curves
from kbench.values import OK, Measured

MOST_POINTS = 200  # of one curve; a screen shows hardly more
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


def curve(repeats: Sequence[Measured], metric: str, most: int) -> list[Point]:
    """The row's curve, at most `most` points: of its repeats that ended ok, or of all if none did."""
    chosen = [one for one in repeats if one.outcome.status == OK] or list(repeats)
    reported = [learning_curves.curve(one, metric) for one in chosen if learning_curves.has(one, metric)]
    mean = learning_curves.mean(reported)
    if mean is None:
        return []
    spread = [None] * len(mean.epochs) if mean.spread is None else mean.spread.tolist()
    every = list(zip(mean.epochs.tolist(), mean.seconds.tolist(), mean.values.tolist(), spread, strict=True))
    return [Point(*every[place], len(reported)) for place in thinned(range(len(every)), most)]


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most `most` of the values, evenly spread, including the first and the last."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]
