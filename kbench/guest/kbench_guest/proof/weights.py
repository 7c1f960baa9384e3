"""Initial weights that are the same on every backend: drawn with numpy from each layer's own initializers.

numpy.random.RandomState gives the same stream in every version of numpy.
"""

import hashlib

import keras
import numpy as np

from kbench_guest.frameworks.layer_settings import class_name
from kbench_guest.frameworks.layers import find, layers
from kbench_guest.protocol import Refused

# Standard deviation of a standard normal distribution truncated at two deviations (scipy.stats.truncnorm).
TRUNCATED_STDDEV = 0.87962566103423978


def initialise(framework, model, seed):
    """Give the model its common initial weights; returns (sha256 of them, names of weights left as they were)."""
    digest = hashlib.sha256()
    left, drawn, values = [], [], []
    for number, layer in enumerate(layer for layer, _ in layers(model) if layer.weights):
        for position, weight in enumerate(layer.weights):
            name, initializer, owner = find(layer, weight)
            shape = framework.shared_shape(owner, name, framework.shape_of(weight))
            random = np.random.RandomState([seed, number, position])
            value = _draw(initializer, name, owner, shape, random)
            if value is None:
                value = _constant(framework, weight, shape)
            if value is None:
                left.append("%s/%s" % (layer.name, name or position))
                continue
            value = np.ascontiguousarray(value, dtype=keras.backend.floatx())
            digest.update(("%d %d %s %s" % (number, position, shape, value.dtype)).encode("ascii"))
            digest.update(value.tobytes())
            drawn.append(weight)
            values.append(framework.from_shared(owner, name, value))
    framework.set_values(drawn, values)
    return digest.hexdigest(), left


def by_layer(its_weights):
    """[("GRU 2", its arrays)] of what framework.weights gives: backends name layers differently."""
    seen, found = {}, []
    for layer, values in its_weights:
        kind = class_name(layer.__class__.__name__)
        seen[kind] = seen.get(kind, 0) + 1
        found.append(("%s %d" % (kind, seen[kind]), values))
    return found


def replay(framework, model, values, backend):
    """Give a model the weights that it has on another backend. values: "GRU 2 0" -> the layer's first weight.

    Raises Refused if it has others.
    """
    left = dict(values)
    weights, given = [], []
    for name, (layer, own) in by_layer(
        [(layer, (layer, layer.weights)) for layer, _ in layers(model) if layer.weights]
    ):
        for place, weight in enumerate(own):
            kind, _, owner = find(layer, weight)
            value = left.pop("%s %d" % (name, place), None)
            shape = tuple(framework.shared_shape(owner, kind, framework.shape_of(weight)))
            if value is None or value.shape != shape:
                other = "no such weight" if value is None else value.shape
                raise Refused(
                    "model", "another model: %s has a weight of shape %s, on %s %s" % (name, shape, backend, other)
                )
            weights.append(weight)
            given.append(framework.from_shared(owner, kind, value))
    if left:
        raise Refused(
            "model", "another model: it lacks weights that it has on %s: %s" % (backend, ", ".join(sorted(left)))
        )
    framework.set_values(weights, given)


def _draw(initializer, name, owner, shape, random):
    """An array from the initializer's distribution, or None if it is not a known one."""
    if initializer is None:
        return None
    kind = getattr(initializer, "__name__", None) or initializer.__class__.__name__
    if name == "bias" and getattr(owner, "unit_forget_bias", False):
        return _open_forget_gate(shape, getattr(owner, "units", None) or owner.filters)
    if kind in ("Zeros", "zeros"):
        return np.zeros(shape)
    if kind in ("Ones", "ones"):
        return np.ones(shape)
    if kind == "Constant":
        return np.full(shape, initializer.value, dtype="float64")
    if kind == "RandomUniform":
        return random.uniform(initializer.minval, initializer.maxval, shape)
    if kind == "RandomNormal":
        return random.normal(initializer.mean, initializer.stddev, shape)
    if kind == "TruncatedNormal":
        return initializer.mean + initializer.stddev * _truncated_normal(shape, random)
    if kind in ("Orthogonal", "OrthogonalInitializer"):
        return _orthogonal(shape, initializer.gain, random)
    if hasattr(initializer, "distribution") and hasattr(initializer, "mode"):  # VarianceScaling and its family
        return _variance_scaling(initializer, shape, random)
    return None


def _constant(framework, weight, shape):
    """The weight as its backend made it, if all of it is one number: that is the same everywhere; else None."""
    value = framework.values([weight])[0]
    return np.full(shape, value.flat[0]) if value.size and (value == value.flat[0]).all() else None


def _open_forget_gate(shape, units):
    """An LSTM's bias: one for the forget gate, the second of i, f, c and o, and zero for the others.

    cuDNN adds a bias to the input and one to the state, 8 x units: Keras opens the gate in the second half.
    """
    value = np.zeros(shape)
    value[-3 * units : -2 * units] = 1.0
    return value


def _variance_scaling(initializer, shape, random):
    """He et al. (2015), section 2.2; Glorot and Bengio (2010), equation 16."""
    receptive_field = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    fan_in = shape[0] if len(shape) == 1 else shape[-2] * receptive_field
    fan_out = shape[-1] * receptive_field
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[initializer.mode]
    variance = initializer.scale / max(1.0, fan)
    if initializer.distribution == "uniform":
        limit = np.sqrt(3.0 * variance)
        return random.uniform(-limit, limit, shape)
    if initializer.distribution == "untruncated_normal":
        return random.normal(0.0, np.sqrt(variance), shape)
    return np.sqrt(variance) / TRUNCATED_STDDEV * _truncated_normal(shape, random)


def _truncated_normal(shape, random):
    """Standard normal numbers; those beyond two deviations are drawn again."""
    values = random.normal(size=shape)
    outside = np.abs(values) > 2
    while outside.any():
        values[outside] = random.normal(size=int(outside.sum()))
        outside = np.abs(values) > 2
    return values


def _orthogonal(shape, gain, random):
    """Saxe et al. (2013): the Q of a random matrix, its signs fixed by R's diagonal so that it is unique.

    Rounded to multiples of 2**-20, or the last bits would depend on the version of LAPACK.
    """
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    flat = random.normal(0.0, 1.0, (rows, columns))
    q, r = np.linalg.qr(flat if rows >= columns else flat.T)
    q *= np.sign(np.diag(r))
    values = q if rows >= columns else q.T
    return np.round(gain * values * 2.0**20).reshape(shape) / 2.0**20
