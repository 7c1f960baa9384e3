"""What the calls of a user's program returned, and from which weights and inputs: as the guest reports it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kbench.analysis.sameness import first_outputs
from kbench.analysis.sameness.first_outputs import Outputs
from kbench.features.script.events import Returned, Weight

INPUTS = 1e-6  # of their largest number: inputs that are no farther apart are the same
OTHER = 0.01  # and those that are farther apart are others: no rounding of a model before them explains that
APART = 0.1  # of a weight's norm: those that are trained agree below it, and those that are not do not above it
NEARER = 10.0  # times nearer are the former, if only the latter are to blame


def outputs(told: Returned) -> Outputs | None:
    """Its outputs, if there are any."""
    if not told.outputs or len(told.outputs) != len(told.scales):
        return None
    return first_outputs.joined(told.outputs, told.scales)


def number(value: float | None) -> float:
    """None as no number."""
    return math.nan if value is None else value


def same_inputs(one: Returned, other: Returned) -> bool:
    """Whether both are known, and alike."""
    if one.inputs is None or other.inputs is None or not one.inputs.norms:
        return False
    if len(one.inputs.outputs) != len(other.inputs.outputs):
        return False
    sides = zip(one.inputs.outputs, other.inputs.outputs, strict=True)
    return all(_near(*pair) for pair in ((one.inputs.norms, other.inputs.norms), *sides))


def other_inputs(one: Returned, other: Returned) -> float | None:
    """By how much inputs differ that rounding cannot explain, in their largest number, infinite where shapes differ;
    None if they are alike or not known.
    """
    if one.inputs is None or other.inputs is None or not one.inputs.norms or not other.inputs.norms:
        return None
    mine, theirs = one.inputs.outputs, other.inputs.outputs
    if [*map(len, mine)] != [*map(len, theirs)]:
        return math.inf
    own, others = (np.array([number(value) for each in side for value in each]) for side in (mine, theirs))
    largest = float(np.nanmax(np.abs([own, others]), initial=0.0))
    off = float(np.nanmax(np.abs(own - others), initial=0.0)) / largest if largest else 0.0
    return off if off > OTHER else None


def _near(own: Sequence[float | None], other: Sequence[float | None]) -> bool:
    if len(own) != len(other):
        return False
    mine, theirs = np.array(own, dtype=np.float64), np.array(other, dtype=np.float64)  # None is NaN
    scale = float(np.max(np.abs([mine, theirs]), initial=0.0))
    return bool(np.allclose(mine, theirs, rtol=INPUTS, atol=INPUTS * scale, equal_nan=True))


def same_weights(one: Returned, other: Returned) -> bool:
    """As they are, or as all backends would keep them; so are those of models that have none."""
    if len(one.weights) != len(other.weights):
        return False
    pairs = list(zip(one.weights, other.weights, strict=True))
    return all(a.sha256 == b.sha256 for a, b in pairs) or all(a.shared == b.shared for a, b in pairs)


def carried(one: Returned, other: Returned) -> list[Weight]:
    """Weights with the same numbers that compute something else, because the backends keep them differently."""
    pairs = zip(one.weights, other.weights, strict=False)
    return [own for own, theirs in pairs if own.sha256 == theirs.sha256 and own.shared != theirs.shared]


def lacking(one: Returned, other: Returned) -> list[str]:
    """Layers with other weights than on the other backend, where a file gave them; of models not trained since."""
    if one.trained or other.trained:
        return []
    there = {(weight.layer, weight.weight): weight for weight in other.weights if weight.loaded}
    found = [
        own.layer
        for own in one.weights
        if (theirs := there.get((own.layer, own.weight))) and own.shared != theirs.shared
    ]
    return list(dict.fromkeys(found))


def averages(one: Returned, other: Returned) -> list[tuple[Weight, float]]:
    """(weight, how far off it is in its norm) of those that are not trained, if those that are trained agree."""
    if not (one.trained and other.trained) or len(one.weights) != len(other.weights):
        return []
    pairs = list(zip(one.weights, other.weights, strict=True))
    if any((a.layer, a.weight) != (b.layer, b.weight) for a, b in pairs):
        return []
    layers: dict[str, list[tuple[Weight, Weight]]] = {}
    for a, b in pairs:
        if a.trains:  # those of a layer together: a bias that began at zero has almost no norm
            layers.setdefault(a.layer, []).append((a, b))
    trained = max(map(_apart, layers.values()), default=math.inf)
    found = [(a, off) for a, b in pairs if not a.trains and (off := _apart([(a, b)])) > APART]
    return found if found and trained < APART and max(off for _, off in found) > NEARER * trained else []


def _apart(pairs: Sequence[tuple[Weight, Weight]]) -> float:
    """How far weights are apart, in the smaller of their norms."""
    if any(len(own.sums) != len(other.sums) for own, other in pairs):
        return math.inf
    distances = [math.dist(*([number(one) for one in side.sums] for side in pair)) for pair in pairs]
    norms = [math.hypot(*(number(side.norm) for side in sides)) for sides in zip(*pairs, strict=True)]
    distance = math.hypot(*distances) / max(1e-12, min(norms))
    return math.inf if math.isnan(distance) else distance
