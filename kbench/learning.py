"""Learning curves: a metric after each epoch and the seconds of training until then, of a cell or over repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kbench.values import Measured

if TYPE_CHECKING:
    from kbench.epochs import Counts, Numbers


@dataclass(frozen=True)
class Curve:
    """One cell's, or the mean of several."""

    epochs: Counts
    seconds: Numbers  # of training until the end of each epoch
    values: Numbers  # of the metric, all finite
    spread: Numbers | None = None  # over several: the sample standard deviation; may be too large for a number


def has(one: Measured, metric: str) -> bool:
    """Whether any of the cell's epochs has a finite value of the metric."""
    return bool(np.isfinite(one.epochs.numbers(metric)).any())


def curve(one: Measured, metric: str) -> Curve:
    """The cell's epochs that have a finite value of the metric; seconds count those that have not, too."""
    values = one.epochs.numbers(metric)
    known = np.isfinite(values)
    return Curve(one.epochs.epoch[known], np.cumsum(one.epochs.seconds)[known], values[known])


def mean(curves: Sequence[Curve]) -> Curve | None:
    """The mean over repeats of both the metric and the seconds, over the epochs that all of them have, and the spread
    of the metric; None of none.
    """
    if not curves:
        return None
    shared: Counts = reduce(_shared, (curve.epochs for curve in curves))
    places = [np.searchsorted(curve.epochs, shared) for curve in curves]
    seconds, values = (
        np.array([getattr(curve, name)[place] for curve, place in zip(curves, places, strict=True)])
        for name in ("seconds", "values")
    )
    with np.errstate(all="ignore"):  # a loss may be too large to square
        spread = np.std(values, axis=0, ddof=1) if len(curves) > 1 else None
        return Curve(shared, _mean(seconds), _mean(values), spread)


def _shared(one: Counts, other: Counts) -> Counts:
    return one if np.array_equal(one, other) else np.intersect1d(one, other, assume_unique=True)


def _mean(rows: Numbers) -> Numbers:
    found: Numbers = np.add.reduce(rows, axis=0) / len(rows)
    return found
