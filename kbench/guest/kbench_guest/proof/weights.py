"""Gives a Keras model its weights: initial ones that are the same on every backend, or those of another backend."""

import hashlib
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest.frameworks.layers import class_name, find, layers
from kbench_guest.proof import initializers
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Weights


def initialise(framework: "Weights", model: Any, seed: int) -> Tuple[str, List[str]]:
    """Give the model its common initial weights; returns (sha256 of them, names of weights left as they were)."""
    digest = hashlib.sha256()
    left, drawn, values = [], [], []
    for number, layer in enumerate(layer for layer, _ in layers(model) if layer.weights):
        for position, weight in enumerate(layer.weights):
            name, initializer, owner = find(layer, weight)
            shape = framework.shared_shape(owner, name, framework.shape_of(weight))
            value = _draw(initializer, name, owner, shape, initializers.stream(seed, number, position))
            if value is None:
                value = _constant(framework, weight, shape)
            if value is None:
                left.append(f"{layer.name}/{name or position}")
                continue
            value = np.asarray(value, dtype=keras.backend.floatx(), order="C")
            initializers.add_to_hash(digest, number, position, value)
            drawn.append(weight)
            values.append(framework.from_shared(owner, name, value))
    framework.set_values(drawn, values)
    return digest.hexdigest(), left


def by_layer(its_weights: Iterable[Tuple[Any, Any]]) -> List[Tuple[str, Any]]:
    """[("GRU 2", its arrays)] of [(layer, its arrays)]: backends name layers differently."""
    seen: Dict[str, int] = {}
    found: List[Tuple[str, Any]] = []
    for layer, values in its_weights:
        kind = class_name(layer.__class__.__name__)
        seen[kind] = seen.get(kind, 0) + 1
        found.append((f"{kind} {seen[kind]}", values))
    return found


def sha256(framework: "Weights", model: Any) -> Optional[str]:
    """A hash of all weights as they are, in the layout that all frameworks share; None if some are in no layer."""
    digest, count = hashlib.sha256(), 0
    for name, values in by_layer(framework.weights(model)):
        for position, value in enumerate(values):
            count += 1
            digest.update(f"{name} {position} {np.shape(value)}".encode("ascii"))
            digest.update(np.ascontiguousarray(value, "float32").tobytes())
    return digest.hexdigest() if count == len(model.weights) else None


def replay(framework: "Weights", model: Any, values: Dict[str, Any], backend: str) -> None:
    """Give a model the weights of another backend, named like "GRU 2 0". Raises Refused if it has others."""
    left = dict(values)
    weights, given = [], []
    for name, layer in by_layer((layer, layer) for layer, _ in layers(model) if layer.weights):
        for position, weight in enumerate(layer.weights):
            kind, _, owner = find(layer, weight)
            value = left.pop(f"{name} {position}", None)
            shape = tuple(framework.shared_shape(owner, kind, framework.shape_of(weight)))
            if value is None or value.shape != shape:
                other = "no such weight" if value is None else value.shape
                why = f"another model: {name} has a weight of shape {shape}, on {backend} {other}"
                raise Refused("model", why)
            weights.append(weight)
            given.append(framework.from_shared(owner, kind, value))
    if left:
        why = f"another model: it lacks weights that it has on {backend}: {', '.join(sorted(left))}"
        raise Refused("model", why)
    framework.set_values(weights, given)


def _draw(initializer: Any, name: Optional[str], owner: Any, shape: Any, random: Any) -> Optional[np.ndarray]:
    """An array from the distribution of a layer's initializer, or None if it is not a known one."""
    if initializer is None:
        return None
    if name == "bias" and getattr(owner, "unit_forget_bias", False):
        return initializers.open_forget_gate(shape, getattr(owner, "units", None) or owner.filters)
    kind = getattr(initializer, "__name__", None) or initializer.__class__.__name__
    # Its attributes, not its get_config: Keras 3's GlorotUniform leaves out what it inherits.
    return initializers.draw(kind, getattr(initializer, "__dict__", {}), shape, random)


def _constant(framework: "Weights", weight: Any, shape: Any) -> Optional[np.ndarray]:
    """The weight as its backend made it, if all of it is one number: that is the same everywhere; else None."""
    value = framework.values([weight])[0]
    return np.full(shape, value.flat[0]) if value.size and (value == value.flat[0]).all() else None
