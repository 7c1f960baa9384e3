"""A model's forward pass in numpy and float64, which shares no code with any backend.

Weights and outputs are in the layouts that all backends share: kernels (rows, columns, inputs, filters), images
(samples, rows, columns, channels). Equations: Hochreiter and Schmidhuber (1997) with forget gates for the LSTM, Cho
et al. (2014) for the GRU, and cuDNN's variant of it for reset_after.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

if TYPE_CHECKING:
    from kbench_guest.frameworks.graph import Node


Arrays = List[np.ndarray]


class Unknown(Exception):
    """The reference does not know this layer, or not with these settings; its text names it."""


def forward(nodes: Dict[str, "Node"], weights: Dict[str, Any], inputs: Dict[str, Any]) -> Dict[str, np.ndarray]:
    """{layer's name: its output as float64} of every layer, inputs included.

    nodes: name -> (name, class_name, config, inbound, channels_first), each after those that it takes in.
    weights: name -> list of arrays. inputs: name -> array, for the nodes that take nothing in. Raises Unknown.
    """
    outputs: Dict[str, np.ndarray] = {}
    for node in nodes.values():
        if node.inbound is None:
            raise Unknown(f"{node.name}, which is used more than once")
        taken = [outputs[name] for name in node.inbound] or [np.asarray(inputs[node.name])]
        if node.class_name == "InputLayer":
            outputs[node.name] = taken[0]
        else:
            own = [np.asarray(value, dtype="float64") for value in weights.get(node.name, [])]
            outputs[node.name] = compute(node.class_name, node.config, own, taken, node.channels_first)
    return outputs


def compute(
    class_name: str, config: Dict[str, Any], weights: Arrays, taken: Arrays, channels_first: bool = False
) -> np.ndarray:
    """One layer's output. channels_first: what the configuration means by an axis. Raises Unknown."""
    outer, _, inner = class_name.partition("(")
    if outer not in _LAYERS:
        raise Unknown(f"the layer {class_name}")
    if outer in ("Add", "Concatenate", "Subtract"):
        return _LAYERS[outer](config, taken, channels_first)
    if outer == "BatchNormalization":
        return _LAYERS[outer](config, weights, taken[0], channels_first)
    if outer == "TimeDistributed":
        return _time_distributed(inner[:-1], config["layer"]["config"], weights, taken[0])
    return _LAYERS[outer](config, weights, taken[0])


def activation(name: Any, x: np.ndarray) -> np.ndarray:
    """The activation that a configuration names; raises Unknown."""
    if not isinstance(name, str) or name not in ACTIVATIONS:
        raise Unknown(f"the activation {name}")
    return ACTIVATIONS[name](x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)  # does not overflow


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


# hard_sigmoid is left out: its slope is 1/5 in Keras 2 and 1/6 in Keras 3.
ACTIVATIONS: Dict[str, Callable[..., Any]] = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
}


def _expect(config: Dict[str, Any], **settings: Any) -> None:
    """Raises Unknown if the configuration has another value than this for a setting."""
    for name, value in settings.items():
        if config.get(name, value) not in (value, None):
            raise Unknown(f"{name}={config[name]}")


def _dense(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    y = x.astype("float64") @ weights[0]
    return activation(config["activation"], y + weights[1] if config.get("use_bias", True) else y)


def _conv2d(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    _expect(config, groups=1)
    kernel, rate = weights[0], config.get("dilation_rate") or (1, 1)
    rows, columns = kernel.shape[:2]
    reach = [(size - 1) * step + 1 for size, step in zip((rows, columns), rate)]
    x, (height, width) = _padded(x.astype("float64"), reach, config["strides"], config["padding"], 0.0)
    y = np.zeros((len(x), height, width, kernel.shape[-1]))
    for row in range(rows):
        for column in range(columns):
            seen = _window(x, row * rate[0], column * rate[1], height, width, config["strides"])
            y += seen @ kernel[row, column]
    return activation(config["activation"], y + weights[1] if config.get("use_bias", True) else y)


def _pooling(config: Dict[str, Any], x: np.ndarray, edge: float, take: Callable[..., Any]) -> np.ndarray:
    size = config["pool_size"]
    strides = config.get("strides") or size
    x, (height, width) = _padded(x.astype("float64"), size, strides, config["padding"], edge)
    windows = [_window(x, row, column, height, width, strides) for row in range(size[0]) for column in range(size[1])]
    return take(np.stack(windows), axis=0)


def _padded(
    x: np.ndarray, size: Sequence[int], strides: Any, padding: str, edge: float
) -> Tuple[np.ndarray, Tuple[int, ...]]:
    """(x with its edges filled up, (rows, columns) of the output); TensorFlow's rule for 'same', which Keras took."""
    if padding == "valid":
        return x, tuple((x.shape[1 + i] - size[i]) // strides[i] + 1 for i in (0, 1))
    if padding != "same":
        raise Unknown(f"padding={padding}")
    output = tuple(-(-x.shape[1 + i] // strides[i]) for i in (0, 1))
    missing = [max((output[i] - 1) * strides[i] + size[i] - x.shape[1 + i], 0) for i in (0, 1)]
    widths = [(0, 0)] + [(count // 2, count - count // 2) for count in missing] + [(0, 0)]
    return np.pad(x, widths, mode="constant", constant_values=edge), output


def _window(x: np.ndarray, row: int, column: int, height: int, width: int, strides: Any) -> np.ndarray:
    """What one place of a moving window sees, for all places of the output."""
    rows = slice(row, row + (height - 1) * strides[0] + 1, strides[0])
    columns = slice(column, column + (width - 1) * strides[1] + 1, strides[1])
    return x[:, rows, columns]


def _batch_normalization(config: Dict[str, Any], weights: Arrays, x: np.ndarray, channels_first: bool) -> np.ndarray:
    """As it predicts, with its moving averages."""
    axis = config["axis"][0] if isinstance(config["axis"], (list, tuple)) else config["axis"]
    axis = channels_last_axis(axis, channels_first)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    given = [weight.reshape(shape) for weight in weights]
    gamma = given.pop(0) if config["scale"] else 1.0
    beta = given.pop(0) if config["center"] else 0.0
    mean, variance = given
    return gamma * (x.astype("float64") - mean) / np.sqrt(variance + config["epsilon"]) + beta


def _global_pooling(config: Dict[str, Any], x: np.ndarray, take: Callable[..., Any]) -> np.ndarray:
    return take(x.astype("float64"), axis=tuple(range(1, x.ndim - 1)), keepdims=bool(config.get("keepdims")))


def _embedding(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    _expect(config, mask_zero=False)
    return weights[0][x.astype("int64")]


def _recurrent(
    config: Dict[str, Any], x: np.ndarray, units: int, states: int, step: Callable[[np.ndarray, Arrays], Arrays]
) -> np.ndarray:
    """The last output of `step(x_t, states) -> states`, or all of them; the first state is the output."""
    _expect(config, return_state=False, stateful=False, dropout=0.0, recurrent_dropout=0.0)
    now = [np.zeros((len(x), units)) for _ in range(states)]
    outputs = []
    x = x.astype("float64")
    for position in range(x.shape[1])[:: -1 if config.get("go_backwards") else 1]:
        now = step(x[:, position], now)
        outputs.append(now[0])
    return np.stack(outputs, axis=1) if config.get("return_sequences") else outputs[-1]


def _lstm(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    kernel, recurrent = weights[:2]
    units = recurrent.shape[0]
    bias = weights[2] if config.get("use_bias", True) else np.zeros(4 * units)

    def step(x_t: np.ndarray, states: Arrays) -> Arrays:
        hidden, carry = states
        i, f, c, o = np.split(x_t @ kernel + hidden @ recurrent + bias, 4, axis=-1)
        gate = config["recurrent_activation"]
        carry = activation(gate, f) * carry + activation(gate, i) * activation(config["activation"], c)
        return [activation(gate, o) * activation(config["activation"], carry), carry]

    return _recurrent(config, x, units, 2, step)


def _gru(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    kernel, recurrent = weights[:2]
    units = recurrent.shape[0]
    reset_after = config.get("reset_after", False)
    bias = weights[2] if config.get("use_bias", True) else np.zeros((2, 3 * units) if reset_after else 3 * units)
    of_input, of_state = bias if reset_after else (bias, np.zeros(3 * units))

    def step(x_t: np.ndarray, states: Arrays) -> Arrays:
        hidden = states[0]
        z_x, r_x, h_x = np.split(x_t @ kernel + of_input, 3, axis=-1)
        z_h, r_h, h_h = np.split(hidden @ recurrent + of_state, 3, axis=-1)
        z = activation(config["recurrent_activation"], z_x + z_h)
        r = activation(config["recurrent_activation"], r_x + r_h)
        inner = r * h_h if reset_after else (r * hidden) @ recurrent[:, 2 * units :]
        return [z * hidden + (1 - z) * activation(config["activation"], h_x + inner)]

    return _recurrent(config, x, units, 1, step)


def _simple_rnn(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    bias = weights[2] if config.get("use_bias", True) else 0.0

    def step(x_t: np.ndarray, states: Arrays) -> Arrays:
        return [activation(config["activation"], x_t @ weights[0] + states[0] @ weights[1] + bias)]

    return _recurrent(config, x, weights[1].shape[0], 1, step)


def _time_distributed(class_name: str, config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    folded = compute(class_name, config, weights, [x.reshape((-1,) + x.shape[2:])])
    return folded.reshape(x.shape[:2] + folded.shape[1:])


def _concatenate(config: Dict[str, Any], taken: Arrays, channels_first: bool) -> np.ndarray:
    return np.concatenate(taken, axis=channels_last_axis(config.get("axis", -1), channels_first))


def _zero_padding(config: Dict[str, Any], weights: Any, x: Any) -> Any:
    return np.pad(x, [(0, 0)] + [tuple(sides) for sides in config["padding"]] + [(0, 0)], mode="constant")


def channels_last_axis(axis: int, channels_first: bool) -> int:
    """The axis of an image in the reference, which has channels last."""
    return {1: -1, -3: -1, 2: 1, 3: 2, -1: 2, -2: 1}.get(axis, axis) if channels_first else axis


_LAYERS: Dict[str, Callable[..., Any]] = {
    "Dense": _dense,
    "Conv2D": _conv2d,
    "MaxPooling2D": lambda config, weights, x: _pooling(config, x, -np.inf, np.max),
    "AveragePooling2D": lambda config, weights, x: _pooling(config, x, np.nan, np.nanmean),
    "GlobalAveragePooling1D": lambda config, weights, x: _global_pooling(config, x, np.mean),
    "GlobalAveragePooling2D": lambda config, weights, x: _global_pooling(config, x, np.mean),
    "GlobalMaxPooling1D": lambda config, weights, x: _global_pooling(config, x, np.max),
    "GlobalMaxPooling2D": lambda config, weights, x: _global_pooling(config, x, np.max),
    "ZeroPadding2D": _zero_padding,
    "BatchNormalization": _batch_normalization,
    "Flatten": lambda config, weights, x: x.reshape(len(x), -1),
    "Dropout": lambda config, weights, x: x,  # of a model whose dropout is off
    "Activation": lambda config, weights, x: activation(config["activation"], x.astype("float64")),
    "Embedding": _embedding,
    "LSTM": _lstm,
    "GRU": _gru,
    "SimpleRNN": _simple_rnn,
    "TimeDistributed": _time_distributed,
    "RepeatVector": lambda config, weights, x: np.repeat(x[:, None], config["n"], axis=1),
    "Add": lambda config, taken, channels_first: sum(taken[1:], taken[0]),
    "Subtract": lambda config, taken, channels_first: taken[0] - taken[1],
    "Concatenate": _concatenate,
}
