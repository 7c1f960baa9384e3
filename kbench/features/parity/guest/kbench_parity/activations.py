"""Activations of the numpy reference, and what it says if it does not know something."""

import math
from typing import Any, Callable, Dict

import numpy as np


class Unknown(Exception):
    """The reference does not know this layer, or not with these settings; its text names it."""


def activation(name: Any, x: np.ndarray) -> np.ndarray:
    """The activation that a configuration names; raises Unknown."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise Unknown(f"the activation {name}")
    return ACTIVATIONS[name](x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)  # does not overflow


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


_erf: Callable[..., Any] = np.vectorize(math.erf, otypes=[float])

# hard_sigmoid is left out: its slope is 1/5 in Keras 2 and 1/6 in Keras 3.
ACTIVATIONS: Dict[str, Callable[..., Any]] = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "gelu": lambda x: 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0))),  # not its approximation by tanh
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "softmax": softmax,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "swish": lambda x: x * _sigmoid(x),
}


def expect(config: Dict[str, Any], **settings: Any) -> None:
    """Raises Unknown if the configuration has another value than this for a setting."""
    for name, value in settings.items():
        if config.get(name, value) not in (value, None):
            raise Unknown(f"{name}={config[name]}")
