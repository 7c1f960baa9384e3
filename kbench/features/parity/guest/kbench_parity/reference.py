"""A model's forward pass in numpy and float64, which shares no code with any backend.

Weights and outputs are in the layouts that all backends share: kernels (rows, columns, inputs, filters), images
(samples, rows, columns, channels). Equations: Hochreiter and Schmidhuber (1997) with forget gates for the LSTM, Cho
et al. (2014) for the GRU, and cuDNN's variant of it for reset_after.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict, List

import numpy as np

from kbench_parity import attention, images
from kbench_parity.activations import Unknown, activation, expect

if TYPE_CHECKING:
    from kbench_guest.frameworks.graph import Node


Arrays = List[np.ndarray]


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
    if outer in ("Add", "Concatenate", "Multiply", "Subtract"):
        return _LAYERS[outer](config, taken, channels_first)
    if outer == "MultiHeadAttention":
        return attention.multi_head_attention(config, weights, taken)
    if outer in ("BatchNormalization", "GroupNormalization"):
        return _LAYERS[outer](config, weights, taken[0], channels_first)
    if outer == "TimeDistributed":
        return _time_distributed(inner[:-1], config["layer"]["config"], weights, taken[0])
    return _LAYERS[outer](config, weights, taken[0])


def _dense(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    y = x.astype("float64") @ weights[0]
    return activation(config["activation"], y + weights[1] if config.get("use_bias", True) else y)


def _embedding(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    expect(config, mask_zero=False)
    return weights[0][x.astype("int64")]


def _recurrent(
    config: Dict[str, Any], x: np.ndarray, units: int, states: int, step: Callable[[np.ndarray, Arrays], Arrays]
) -> np.ndarray:
    """The last output of `step(x_t, states) -> states`, or all of them; the first state is the output."""
    expect(config, return_state=False, stateful=False, dropout=0.0, recurrent_dropout=0.0)
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
    return np.concatenate(taken, axis=images.channels_last_axis(config.get("axis", -1), channels_first))


def _multiply(config: Dict[str, Any], taken: Arrays, channels_first: bool) -> np.ndarray:
    product: Any = 1.0
    for one in taken:
        weighs_channels = channels_first and one.ndim == 4 and one.shape[2:] == (1, 1)  # after a Reshape
        product = product * (one.reshape((len(one), 1, 1, -1)) if weighs_channels else one)
    return product


_LAYERS: Dict[str, Callable[..., Any]] = {
    "Dense": _dense,
    "EinsumDense": attention.einsum_dense,
    "Conv2D": images.conv2d,
    "Conv2DTranspose": images.conv2d_transpose,
    "DepthwiseConv2D": images.depthwise_conv2d,
    "MaxPooling2D": lambda config, weights, x: images.pooling(config, x, -np.inf, np.max),
    "AveragePooling2D": lambda config, weights, x: images.pooling(config, x, np.nan, np.nanmean),
    "GlobalAveragePooling1D": lambda config, weights, x: images.global_pooling(config, x, np.mean),
    "GlobalAveragePooling2D": lambda config, weights, x: images.global_pooling(config, x, np.mean),
    "GlobalMaxPooling1D": lambda config, weights, x: images.global_pooling(config, x, np.max),
    "GlobalMaxPooling2D": lambda config, weights, x: images.global_pooling(config, x, np.max),
    "ZeroPadding2D": images.zero_padding,
    "UpSampling2D": images.up_sampling,
    "BatchNormalization": images.batch_normalization,
    "GroupNormalization": images.group_normalization,
    "LayerNormalization": attention.layer_normalization,
    "MultiHeadAttention": attention.multi_head_attention,
    "Flatten": lambda config, weights, x: x.reshape(len(x), -1),
    "Dropout": lambda config, weights, x: x,  # of a model whose dropout is off
    "Activation": lambda config, weights, x: activation(config["activation"], x.astype("float64")),
    "Embedding": _embedding,
    "TokenAndPositionEmbedding": attention.token_and_position_embedding,
    "Reshape": lambda config, weights, x: x.reshape((len(x),) + tuple(config["target_shape"])),
    "LSTM": _lstm,
    "GRU": _gru,
    "SimpleRNN": _simple_rnn,
    "TimeDistributed": _time_distributed,
    "RepeatVector": lambda config, weights, x: np.repeat(x[:, None], config["n"], axis=1),
    "Add": lambda config, taken, channels_first: sum(taken[1:], taken[0]),
    "Multiply": _multiply,
    "Subtract": lambda config, taken, channels_first: taken[0] - taken[1],
    "Concatenate": _concatenate,
}
