"""What models learn: a metric after each epoch, with the seconds of training until then or until a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from kbench.epochs import Epochs
from kbench.values import OK, Measured

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
    with np.errstate(all="ignore"):
        found = Curve(one.epochs.epoch, np.cumsum(one.epochs.seconds), values)
    return found if known.all() else Curve(found.epochs[known], found.seconds[known], values[known])


def mean(curves: Sequence[Curve]) -> Curve | None:
    """The mean over repeats of both the metric and the seconds, over the epochs that all of them have, and the spread
    of the metric; None of none.
    """
    if not curves:
        return None
    shared = _shared([curve.epochs for curve in curves])
    places = [slice(None) if len(curve.epochs) == len(shared) else np.isin(curve.epochs, shared) for curve in curves]
    seconds, values = (
        np.array([getattr(curve, name)[place] for curve, place in zip(curves, places, strict=True)])
        for name in ("seconds", "values")
    )
    with np.errstate(all="ignore"):  # a loss may be too large to square
        spread = np.std(values, axis=0, ddof=1) if len(curves) > 1 else None
        return Curve(shared, _mean(seconds), _mean(values), spread)


def _shared(every: Sequence[Counts]) -> Counts:
    """The epochs that all of these have."""
    first = every[0]
    if all(len(one) == len(first) for one in every) and (np.stack(every) == first).all():  # as it usually is
        return first
    return reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), every)


def _mean(rows: Numbers) -> Numbers:
    found: Numbers = np.add.reduce(rows, axis=0) / len(rows)
    return found


def reached(repeats: Iterable[Measured], target: float | None) -> list[tuple[int, float]]:
    """Epochs and seconds to the target, of each repeat that ended ok and reached it."""
    if target is None:
        return []
    return [found for one in repeats if one.outcome.status == OK and (found := _to_target(one.epochs, target))]


def _to_target(epochs: Epochs, target: float) -> tuple[int, float] | None:
    """Epochs and seconds of training until the validation accuracy first reaches `target`.

    None where it never does, or where an epoch before it was lost and nobody knows what it took.
    """
    places = np.flatnonzero(epochs.val_accuracy >= target)
    if not places.size:
        return None
    number = int(places[0]) + 1
    if not np.array_equal(epochs.epoch[:number], np.arange(1, number + 1)):
        return None
    return number, float(np.cumsum(epochs.seconds[:number])[-1])


def deterministic(ok: Sequence[Measured]) -> bool | None:
    """Whether repeats with the same seed have the same losses to the last bit; None where no seed was repeated."""
    if len({one.cell.seed for one in ok}) == len(ok):
        return None
    by_seed: dict[int, set[str]] = {}
    for one in ok:
        losses = [one.epochs.values("loss"), one.epochs.values("val_loss")]
        by_seed.setdefault(one.cell.seed, set()).add(repr(losses))  # as text, where NaN equals itself
    known = any(one.epochs.told("loss").size for one in ok)
    return all(len(losses) == 1 for losses in by_seed.values()) if known else None
