"""Whether a step changed a moving average by the formula that a backend's file declares, exactly.

Of a batch's average b and a moving average m, Keras makes momentum * m + (1 - momentum) * b. Declared formulas differ
from that. One takes b itself at first, as if corrected for a start at zero ("batch average"). Others take n / (n - 1)
times the variance, that of a population ("population variance"), or of the variance and the layer's epsilon
("population variance and epsilon"). Either way b follows from the step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import mul

from kbench.records.backend_keys import Formula

EXACT = 1e-3  # of the batch's average
LARGEST = 2.0  # n / (n - 1) of two numbers
_EPSILON: Formula = "population variance and epsilon"
ROUNDED = 1e-6  # of the average itself, of which float32 holds no smaller change


@dataclass(frozen=True)
class Average:
    """A moving average: sums of its numbers before a step, and of how the step changed it.

    epsilon: the same sums of its layer's epsilon.
    """

    weight: str
    momentum: float
    start: Sequence[float]
    epsilon: Sequence[float]
    change: Sequence[float]


def apart(own: Average, other: Average, formulas: Collection[Formula], others: Collection[Formula]) -> float:
    """How far the averages of their batches are apart, as a share of them; infinite if that cannot be told.

    formulas, others: those that are declared of each.
    """
    if own.momentum != other.momentum or own.momentum >= 1 or len(own.start) != len(other.start):
        return math.inf
    mine, theirs = _of_batch(own, formulas), _of_batch(other, others)
    variance = own.weight == "moving_variance"
    if variance and (_EPSILON in formulas) != (_EPSILON in others):
        lacking = theirs if _EPSILON in formulas else mine
        lacking[:] = [one + epsilon for one, epsilon in zip(lacking, own.epsilon, strict=True)]
    size = max(math.hypot(*mine), math.hypot(*theirs))
    if not any(mine) or not any(theirs):
        return 0.0 if mine == theirs else math.inf
    times = sum(map(mul, mine, theirs)) / sum(map(mul, theirs, theirs)) if variance else 1.0
    most, least = (LARGEST if declared else 1 + EXACT for declared in (formulas, others))
    if not 1 / least <= times <= most:
        return math.inf
    rounded = ROUNDED * math.hypot(*own.start) / (1 - own.momentum)
    return max(0.0, math.dist(mine, [times * one for one in theirs]) - rounded) / size


def _of_batch(one: Average, formulas: Collection[Formula]) -> list[float]:
    share = 1.0 if "batch average" in formulas else 1 - one.momentum
    return [start + change / share for start, change in zip(one.start, one.change, strict=True)]
