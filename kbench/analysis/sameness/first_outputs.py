"""Compares the outputs of models for their first batch, before training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from kbench.records.findings import Finding
from kbench.records.values import Measured

# float32 is accurate to about 6e-8 of a term's size times the root of the number of terms, and ResNet-50 has 53 sums
# in a row. Another activation, gate or kernel shows in the first or second digit.
OF_SCALE, RELATIVE = 1e-4, 1e-3  # of the largest number of an output, and of the number itself
LEAST_SCALE = 1e-9  # of outputs that are zero


@dataclass(frozen=True)
class Outputs:
    """Numbers of each of a model's outputs, one after the other."""

    numbers: npt.NDArray[np.float64]
    scales: npt.NDArray[np.float64]  # the largest number of the output that a number is from; 1 in old runs
    form: tuple[int, ...]  # equal if they can be compared number by number
    scaled: bool  # False in old runs, which kept other numbers


def of(one: Measured) -> Outputs | None:
    """The cell's; None if it reported none, or what is no list of numbers."""
    found, scales = one.facts.probe, one.facts.probe_scales
    if found is None:
        return None
    try:
        if scales is None:
            numbers = np.array(found, dtype=np.float64)
            return Outputs(numbers.reshape(-1), np.ones(numbers.size), numbers.shape, False)
        return joined(found, scales) if found else None
    except (TypeError, ValueError):  # ragged, or no numbers
        return None


def joined(outputs: Sequence[Sequence[float | None]], scales: Sequence[float | None]) -> Outputs:
    """Of a model with outputs, as a guest reports them; None is NaN."""
    each = [np.array(output, dtype=np.float64).reshape(-1) for output in outputs]
    of_each = [np.full(one.size, scale, dtype=np.float64) for one, scale in zip(each, scales, strict=True)]
    return Outputs(np.concatenate(each), np.concatenate(of_each), tuple(one.size for one in each), True)


def same(own: Outputs, other: Outputs) -> bool:
    """Whether they agree as far as rounding goes; an old run's and a new one's are not compared."""
    if own is other or own.scaled != other.scaled:
        return True
    if own.form == other.form and own.numbers.tobytes() == other.numbers.tobytes():
        return True
    return own.form == other.form and bool(np.all(_off(own, other) <= 1) or _same_nan(own, other))


def _same_nan(own: Outputs, other: Outputs) -> bool:
    off = _off(own, other)
    return bool(np.all((off <= 1) | (np.isnan(own.numbers) & np.isnan(other.numbers))))


def _off(own: Outputs, other: Outputs) -> npt.NDArray[np.float64]:
    """How far each number is off, in what is allowed."""
    with np.errstate(invalid="ignore"):
        off = np.abs(own.numbers - other.numbers)
        off[own.numbers == other.numbers] = 0.0  # infinities
        allowed = OF_SCALE * _scale(own, other) + RELATIVE * np.abs(other.numbers)
        return np.asarray(off / allowed, dtype=np.float64)


def _scale(own: Outputs, other: Outputs) -> npt.NDArray[np.float64]:
    return np.maximum(np.maximum(own.scales, other.scales), LEAST_SCALE)


def apart(own: Outputs, other: Outputs) -> float:
    """The largest difference, in the largest number of its output; NaN if they cannot be compared."""
    if own.form != other.form or not own.scaled or not other.scaled:
        return math.nan
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(own.numbers - other.numbers) / _scale(own, other), initial=0.0))


def finding(own: Outputs, other: Outputs) -> Finding:
    """By how much they differ: where the difference is largest in what is allowed."""
    if own.form != other.form:
        return Finding(kind="outputs", aspect="shape")
    about: dict[str, object] = {"relative": own.scaled, "allowed": OF_SCALE}
    if not own.scaled:
        off = float(np.max(np.abs(own.numbers - other.numbers), initial=0.0))
        sure = math.isfinite(off)
    else:
        with np.errstate(invalid="ignore"):
            each = np.abs(own.numbers - other.numbers) / _scale(own, other)
        sure = bool(np.all(np.isfinite(each)))
        place = int(np.argmax(_off(own, other)))
        off = float(each[place])
        if len(own.form) > 1:
            about["output"] = sum(place >= end for end in accumulate(own.form)) + 1
    return (
        Finding(kind="outputs", aspect="numbers", own=off, about=about)
        if sure
        else Finding(kind="outputs", aspect="not numbers")
    )
