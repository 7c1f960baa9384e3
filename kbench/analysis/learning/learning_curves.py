"""Learning curves: a metric after each epoch, and the training time until then or until a target."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from kbench.analysis.sameness import not_finite
from kbench.records.epochs import Epoch
from kbench.records.values import OK, Measured

_FIELDS = ("loss", "accuracy", "val_loss", "val_accuracy")  # of an epoch; other metrics lie together

_SHOWN = 2.0  # standard errors: a smaller rise may be chance

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True)
class Curve:
    """One cell's, or the mean of several."""

    epochs: Counts
    seconds: Numbers  # of training until the end of each epoch
    values: Numbers  # of the metric, all finite
    cached: bool = False  # its seconds are without compilation
    spread: Numbers | None = None  # over several: the sample standard deviation; may be too large for a number


def has(one: Measured, metric: str) -> bool:
    """Whether any of the cell's epochs has a finite value of the metric."""
    return any((value := getattr(epoch, metric)) is not None and math.isfinite(value) for epoch in one.epochs)


def curve(one: Measured, metric: str) -> Curve:
    """The cell's epochs with a finite value of the metric; seconds include the other epochs."""
    numbers = np.array([epoch.epoch for epoch in one.epochs], dtype=np.int64)
    seconds = np.fromiter(accumulate(epoch.seconds for epoch in one.epochs), dtype=np.float64)
    values = np.array([getattr(epoch, metric) for epoch in one.epochs], dtype=np.float64)
    known = np.isfinite(values)
    return Curve(numbers[known], seconds[known], values[known], one.outcome.compilation_cached)


def mean(curves: Sequence[Curve]) -> Curve | None:
    """The mean curve over the repeats, at the epochs that all have, and the metric's spread; None for no curve.

    Its seconds are those of the repeats that compiled, if there are any.
    """
    if not curves:
        return None
    shared = reduce(np.intersect1d, (curve.epochs for curve in curves))
    timed = [curve for curve in curves if not curve.cached] or curves
    seconds = np.array([curve.seconds[np.isin(curve.epochs, shared)] for curve in timed])
    values = np.array([curve.values[np.isin(curve.epochs, shared)] for curve in curves])
    with np.errstate(all="ignore"):  # a loss may be too large to square
        spread = np.std(values, axis=0, ddof=1) if len(curves) > 1 else None
        return Curve(shared, seconds.mean(axis=0), values.mean(axis=0), spread=spread)


def unrisen(measured: Sequence[Measured]) -> str:
    """Why the curves of an example look flat or falling, in a sentence; empty where a validation accuracy rises.

    It rises if the last epoch's is above the first's by more than two standard errors of their difference, which
    come from the number of validation samples.
    """
    trained = [one for one in measured if one.outcome.status == OK and not_finite.finding(one) is None]
    ok = [one for one in trained if has(one, "val_accuracy")]
    curves = [curve(one, "val_accuracy").values for one in ok]
    counts = [one.cell.validation_samples for one in ok]
    if not ok or min(counts) < 1 or min(map(len, curves)) < 2:
        return ""
    changes = []  # in standard errors
    for values, count in zip(curves, counts, strict=True):
        ends = np.clip(values[[0, -1]], 0.0, 1.0)
        error = max(math.sqrt(float((ends * (1 - ends)).sum()) / count), 1 / count)
        changes.append(float(values[-1] - values[0]) / error)
    if max(changes) > _SHOWN:
        return ""
    cell = ok[0].cell
    return (
        f"The validation accuracy {'falls' if max(changes) < -_SHOWN else 'does not rise'} after the first of "
        f"{cell.epochs:,} epochs on any backend, as far as {counts[0]:,} validation samples show: at this size "
        f"({cell.samples:,} training samples) it says nothing of what the model can learn. The times are compared "
        "all the same."
    )


def to_target(epochs: Sequence[Epoch], target: str) -> tuple[float, float]:
    """Epochs and seconds of training until `target` is first reached, such as "val_accuracy >= 0.99".

    Infinite where it is never reached, and where an earlier epoch was lost, whose time is unknown.
    """
    metric, sign, number_wanted = re.split(r"\s*([<>]=)\s*", target)
    reached = operator.ge if sign == ">=" else operator.le
    passed = accumulate(epoch.seconds for epoch in epochs)
    for number, (epoch, seconds) in enumerate(zip(epochs, passed, strict=True), 1):
        if epoch.epoch != number:
            break
        value = getattr(epoch, metric, None) if metric in _FIELDS else (epoch.metrics or {}).get(metric)
        if value is not None and reached(value, float(number_wanted)):
            return number, seconds
    return math.inf, math.inf


def deterministic(ok: Sequence[Measured]) -> bool | None:
    """Whether repeats with the same seed have the same losses to the last bit; None where no seed was repeated."""
    if len({one.cell.seed for one in ok}) == len(ok) or all(epoch.loss is None for one in ok for epoch in one.epochs):
        return None
    # As text, where NaN equals itself. Of a program's line all epochs count, not only those whose times do.
    losses = {
        (one.cell.seed, repr(one.facts.losses or tuple((epoch.loss, epoch.val_loss) for epoch in one.epochs)))
        for one in ok
    }
    return len(losses) == len({one.cell.seed for one in ok})
