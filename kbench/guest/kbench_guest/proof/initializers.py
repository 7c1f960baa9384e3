"""Keras's initializers drawn with numpy, so that initial weights are the same in every framework.

numpy.random.RandomState gives the same stream in every version of numpy.
"""

from typing import Any, Dict, Optional

import numpy as np

# Standard deviation of a standard normal distribution truncated at two deviations (scipy.stats.truncnorm).
TRUNCATED_STDDEV = 0.87962566103423978

# Class name -> its settings where none are given, as in Keras.
DEFAULTS: Dict[str, Dict[str, Any]] = {
    "RandomUniform": {"minval": -0.05, "maxval": 0.05},
    "RandomNormal": {"mean": 0.0, "stddev": 0.05},
    "TruncatedNormal": {"mean": 0.0, "stddev": 0.05},
    "Orthogonal": {"gain": 1.0},
    "GlorotUniform": {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform"},
    "GlorotNormal": {"scale": 1.0, "mode": "fan_avg", "distribution": "truncated_normal"},
    "HeUniform": {"scale": 2.0, "mode": "fan_in", "distribution": "uniform"},
    "HeNormal": {"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal"},
    "LecunUniform": {"scale": 1.0, "mode": "fan_in", "distribution": "uniform"},
    "LecunNormal": {"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal"},
}


def stream(seed: int, layer: int, weight: int) -> np.random.RandomState:
    """The random numbers of a weight: the `weight`-th of the `layer`-th layer that has any, both from 0."""
    return np.random.RandomState([seed, layer, weight])


def draw(class_name: str, config: Dict[str, Any], shape: Any, random: np.random.RandomState) -> Optional[np.ndarray]:
    """An array of this shape from a Keras initializer; None if it is not a known one.

    config: its settings, such as {"stddev": 0.01}; others in it do no harm. shape: of a kernel, inputs and outputs
    are its last two axes. random: a RandomState.
    """
    class_name = {"zeros": "Zeros", "ones": "Ones", "OrthogonalInitializer": "Orthogonal"}.get(class_name, class_name)
    config = dict(DEFAULTS.get(class_name, {}), **config)
    if class_name in ("Zeros", "Ones"):
        return np.full(shape, float(class_name == "Ones"))
    if class_name == "Constant":
        return np.full(shape, config["value"], dtype="float64")
    if class_name == "RandomUniform":
        return random.uniform(config["minval"], config["maxval"], shape)
    if class_name == "RandomNormal":
        return random.normal(config["mean"], config["stddev"], shape)
    if class_name == "TruncatedNormal":
        return config["mean"] + config["stddev"] * _truncated_normal(shape, random)
    if class_name == "Orthogonal":
        return _orthogonal(shape, config["gain"], random)
    if "distribution" in config and "mode" in config:  # VarianceScaling and its family
        return _variance_scaling(config, shape, random)
    return None


def open_forget_gate(shape: Any, units: int) -> np.ndarray:
    """An LSTM's bias: one for the forget gate, the second of i, f, c and o, and zero for the others.

    cuDNN adds a bias to the input and one to the state, 8 x units: Keras opens the gate in the second half.
    """
    value = np.zeros(shape)
    value[-3 * units : -2 * units] = 1.0
    return value


def add_to_hash(digest: Any, layer: int, weight: int, value: np.ndarray) -> None:
    """Add a weight to the hash of all initial weights; `layer` and `weight` as in `stream`."""
    digest.update(f"{layer} {weight} {value.shape} {value.dtype}".encode("ascii"))
    digest.update(value.tobytes())


def _variance_scaling(config: Dict[str, Any], shape: Any, random: np.random.RandomState) -> np.ndarray:
    """He et al. (2015), section 2.2; Glorot and Bengio (2010), equation 16."""
    receptive_field = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
    fan_in = shape[0] if len(shape) == 1 else shape[-2] * receptive_field
    fan_out = shape[-1] * receptive_field
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[config["mode"]]
    variance = config["scale"] / max(1.0, fan)
    if config["distribution"] == "uniform":
        limit = np.sqrt(3.0 * variance)
        return random.uniform(-limit, limit, shape)
    if config["distribution"] == "untruncated_normal":
        return random.normal(0.0, np.sqrt(variance), shape)
    return np.sqrt(variance) / TRUNCATED_STDDEV * _truncated_normal(shape, random)


def _truncated_normal(shape: Any, random: np.random.RandomState) -> np.ndarray:
    """Standard normal numbers; those beyond two deviations are drawn again."""
    values = random.normal(size=shape)
    outside = np.abs(values) > 2
    while outside.any():
        values[outside] = random.normal(size=int(outside.sum()))
        outside = np.abs(values) > 2
    return values


def _orthogonal(shape: Any, gain: float, random: np.random.RandomState) -> np.ndarray:
    """Saxe et al. (2013): the Q of a random matrix, its signs fixed by R's diagonal so that it is unique.

    Rounded to multiples of 2**-20, or the last bits would depend on the version of LAPACK.
    """
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    flat = random.normal(0.0, 1.0, (rows, columns))
    q, r = np.linalg.qr(flat if rows >= columns else flat.T)
    q *= np.sign(np.diag(r))
    values = q if rows >= columns else q.T
    return np.round(gain * values * 2.0**20).reshape(shape) / 2.0**20
