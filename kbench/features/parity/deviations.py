"""How far two results are from each other: outputs, losses, and the weights of a model's layers after steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kbench.features.parity.values import Deviation, LayerWeights, ParityStep

if TYPE_CHECKING:
    from kbench.features.parity.values import Array


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


def form(step: ParityStep) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((layer.class_name, layer.sizes) for layer in step.layers)


@dataclass(frozen=True)
class Scale:
    """What one is, of deviations after some steps: the same for all backends, so that none looks near by its size."""

    norms: tuple[tuple[float, ...], ...]  # of the weights of each layer
    loss: float


def scale_of(steps: Sequence[ParityStep]) -> Scale:
    """The median over the backends, whose models have one form, of each weight's norm and of the loss."""
    norms = [[_norms(layer) for layer in step.layers] for step in steps]
    middle = tuple(tuple(map(_median, zip(*of_layer, strict=True))) for of_layer in zip(*norms, strict=True))
    return Scale(middle, _median([abs(step.loss) for step in steps if step.loss is not None]))


def step_deviation(own: ParityStep, middle: ParityStep, scale: Scale) -> Deviation:
    """The largest of: each layer's distance from the middle, in norms of that layer, and that of the loss.

    A layer's weights are taken together: a bias that starts at zero has hardly any norm of its own.
    """
    if form(own) != form(middle):
        return Deviation(math.inf)
    layers = list(zip(own.layers, middle.layers, scale.norms, strict=True))
    furthest = _furthest(layers, lambda _: True)
    if any(not all(layer.trained) for layer in own.layers):
        furthest = replace(furthest, trained=_furthest(layers, lambda trained: trained))
    furthest = replace(furthest, by_weight=_by_weight(layers))
    if own.loss is None or middle.loss is None:
        return furthest
    loss = _in_norms(abs(own.loss - middle.loss), scale.loss)
    if loss <= furthest.size:
        return furthest
    of_loss = Deviation(loss, "the loss", furthest.class_name, of_weights=furthest.size)
    return replace(of_loss, trained=furthest.trained, by_weight=furthest.by_weight)


_Pair = tuple[LayerWeights, LayerWeights, tuple[float, ...]]


def _furthest(layers: Sequence[_Pair], counts: Callable[[bool], bool]) -> Deviation:
    """The layer that deviates most by those of its weights that count; `counts` is told whether one is trained."""
    found = []
    for own, middle, norms in layers:
        chosen = [number for number, trained in enumerate(own.trained or [True] * len(own.sizes)) if counts(trained)]
        distance = math.hypot(*(_distance(own, middle, number) for number in chosen))
        size = _in_norms(distance, math.hypot(*(norms[number] for number in chosen)))
        found.append(Deviation(size, own.name, own.class_name))
    return max(found, key=lambda one: one.size, default=Deviation(0.0))


def _by_weight(layers: Sequence[_Pair]) -> dict[str, float]:
    """Of all layers the largest deviation of a weight of each name, in its own norm; the largest first."""
    found: dict[str, float] = {}
    for own, middle, norms in layers:
        for number, name in enumerate(own.names):
            if name and norms[number] > 0:
                found[name] = max(found.get(name, 0.0), _in_norms(_distance(own, middle, number), norms[number]))
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _distance(own: LayerWeights, middle: LayerWeights, number: int) -> float:
    """Of one weight, of which both may have a sample of `sizes` numbers."""
    mine, other = own.values[number], middle.values[number]
    if mine.size != other.size:
        return math.inf
    share = own.sizes[number] / max(mine.size, 1)
    with np.errstate(invalid="ignore"):  # of infinite numbers
        return math.sqrt(share) * float(np.linalg.norm(mine.astype(np.float64) - other))


def _norms(layer: LayerWeights) -> list[float]:
    zero = replace(layer, values=tuple(np.zeros_like(one) for one in layer.values))
    return [_distance(layer, zero, number) for number in range(len(layer.sizes))]


def _median(numbers: Sequence[float]) -> float:
    """Of those that are numbers: a backend that trains to infinity must not make all others look near."""
    finite = [number for number in numbers if math.isfinite(number)]
    return float(np.median(finite)) if finite else 0.0


def _in_norms(distance: float, norm: float) -> float:
    if distance == 0.0:
        return 0.0
    return _number(distance / norm) if norm > 0 else math.inf


def _number(value: float) -> float:
    """NaN counts as infinitely far off."""
    return math.inf if math.isnan(value) else float(value)
