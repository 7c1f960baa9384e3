"""How far two results are from each other: outputs, losses, and the weights of a model's layers after steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kbench.parity.values import Deviation, Step

if TYPE_CHECKING:
    from kbench.parity.values import Array


def output_deviation(own: Array, right: Array) -> float:
    """The largest difference between two numbers; relative to the largest of `right` where that is above 1."""
    if own.size != right.size:
        return math.inf
    if own.size == 0:
        return 0.0
    scale = max(1.0, float(np.max(np.abs(right))))
    return _number(np.max(np.abs(own.reshape(-1).astype(np.float64) - right.reshape(-1))) / scale)


def loss_deviation(own: float | None, right: float | None) -> float | None:
    """The relative difference of two losses; None where one is missing."""
    if own is None or right is None:
        return None
    return _number(abs(own - right) / max(abs(right), 1e-12))


def form(step: Step) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((layer.class_name, layer.sizes) for layer in step.layers)


def step_deviation(own: Step, middle: Step) -> Deviation:
    """The largest of: each layer's distance from the middle, relative to the middle's norm, and that of the loss.

    A layer's weights are taken together: a bias that starts at zero has hardly any norm of its own.
    """
    if form(own) != form(middle):
        return Deviation(math.inf)
    found = [
        Deviation(weights_deviation(layer.values, right.values, layer.sizes), layer.name, layer.class_name)
        for layer, right in zip(own.layers, middle.layers, strict=True)
    ]
    furthest = max(found, key=lambda one: one.size, default=Deviation(0.0))
    loss = loss_deviation(own.loss, middle.loss)
    if loss is None or loss <= furthest.size:
        return furthest
    return Deviation(loss, "the loss", furthest.class_name, of_weights=furthest.size)


def weights_deviation(own: Sequence[Array], right: Sequence[Array], sizes: Sequence[int]) -> float:
    """|own - right| / |right| over all weights of a layer, where each array may be a sample of `sizes` numbers."""
    distance = norm = 0.0
    for mine, other, size in zip(own, right, sizes, strict=True):
        if mine.size != other.size:
            return math.inf
        share = size / max(mine.size, 1)
        distance += share * float(np.sum((mine.astype(np.float64) - other) ** 2))
        norm += share * float(np.sum(other.astype(np.float64) ** 2))
    if distance == 0.0:
        return 0.0
    return _number(math.sqrt(distance) / math.sqrt(norm)) if norm > 0 else math.inf


def _number(value: float) -> float:
    """NaN counts as infinitely far off."""
    return math.inf if math.isnan(value) else float(value)
