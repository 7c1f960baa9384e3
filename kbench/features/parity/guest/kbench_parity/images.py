"""Layers for images of the numpy reference: convolutions, poolings and what goes with them; channels come last."""

from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np

from kbench_parity.activations import Unknown, activation, expect

Arrays = List[np.ndarray]


def conv2d(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    expect(config, groups=1)
    return _finished(config, weights, _convolved(config, weights[0], x, np.matmul))


def depthwise_conv2d(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    """The kernel (rows, columns, inputs, multiplier) is applied to each channel for itself."""

    def each(seen: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        products = seen[..., None] * kernel
        return products.reshape(seen.shape[:3] + (-1,))

    return _finished(config, weights, _convolved(config, weights[0], x, each))


def conv2d_transpose(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    """Each place of the input adds the kernel (rows, columns, filters, inputs), times its number, to the output."""
    expect(config, groups=1, padding="valid", output_padding=None)
    if list(config.get("dilation_rate") or (1, 1)) != [1, 1]:
        raise Unknown("a dilated Conv2DTranspose")
    kernel, strides = weights[0], config["strides"]
    rows, columns, filters = kernel.shape[:3]
    x = x.astype("float64")
    reach = [max(size, step) for size, step in zip((rows, columns), strides)]  # as Keras has it
    height, width = ((x.shape[1 + i] - 1) * strides[i] + reach[i] for i in (0, 1))
    y = np.zeros((len(x), height, width, filters))
    for row in range(rows):
        for column in range(columns):
            _window(y, row, column, x.shape[1], x.shape[2], strides)[...] += x @ kernel[row, column].T
    return _finished(config, weights, y)


def _convolved(config: Dict[str, Any], kernel: np.ndarray, x: np.ndarray, product: Callable[..., Any]) -> np.ndarray:
    rate = config.get("dilation_rate") or (1, 1)
    rows, columns = kernel.shape[:2]
    reach = [(size - 1) * step + 1 for size, step in zip((rows, columns), rate)]
    x, (height, width) = _padded(x.astype("float64"), reach, config["strides"], config["padding"], 0.0)
    return sum(
        product(_window(x, row * rate[0], column * rate[1], height, width, config["strides"]), kernel[row, column])
        for row in range(rows)
        for column in range(columns)
    )


def _finished(config: Dict[str, Any], weights: Arrays, y: np.ndarray) -> np.ndarray:
    return activation(config["activation"], y + weights[1] if config.get("use_bias", True) else y)


def pooling(config: Dict[str, Any], x: np.ndarray, edge: float, take: Callable[..., Any]) -> np.ndarray:
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


def batch_normalization(config: Dict[str, Any], weights: Arrays, x: np.ndarray, channels_first: bool) -> np.ndarray:
    """As it predicts, with its moving averages."""
    axis = config["axis"][0] if isinstance(config["axis"], (list, tuple)) else config["axis"]
    axis = channels_last_axis(axis, channels_first)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    given = [weight.reshape(shape) for weight in weights]
    mean, variance = given[-2:]
    return scaled(config, given, (x.astype("float64") - mean) / np.sqrt(variance + config["epsilon"]))


def group_normalization(config: Dict[str, Any], weights: Arrays, x: np.ndarray, channels_first: bool) -> np.ndarray:
    """Each group of channels by its own mean and variance, in each sample."""
    if channels_last_axis(config["axis"], channels_first) not in (-1, x.ndim - 1):
        raise Unknown(f"axis={config['axis']}")
    channels = x.shape[-1]
    groups = channels if config["groups"] == -1 else config["groups"]
    split = x.astype("float64").reshape((len(x), -1, groups, channels // groups))
    return scaled(config, weights, standardized(split, (1, 3), config["epsilon"]).reshape(x.shape))


def standardized(x: np.ndarray, axes: Tuple[int, ...], epsilon: float) -> np.ndarray:
    """x with mean 0 and variance 1 over these axes."""
    variance = x.var(axis=axes, keepdims=True)
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(variance + epsilon)


def scaled(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    """Times gamma plus beta, which come first of the weights where the layer has them."""
    given = list(weights)
    gamma = given.pop(0) if config["scale"] else 1.0
    return gamma * x + (given.pop(0) if config["center"] else 0.0)


def up_sampling(config: Dict[str, Any], weights: Any, x: np.ndarray) -> np.ndarray:
    expect(config, interpolation="nearest")
    return np.repeat(np.repeat(x, config["size"][0], axis=1), config["size"][1], axis=2)


def global_pooling(config: Dict[str, Any], x: np.ndarray, take: Callable[..., Any]) -> np.ndarray:
    return take(x.astype("float64"), axis=tuple(range(1, x.ndim - 1)), keepdims=bool(config.get("keepdims")))


def zero_padding(config: Dict[str, Any], weights: Any, x: Any) -> Any:
    return np.pad(x, [(0, 0)] + [tuple(sides) for sides in config["padding"]] + [(0, 0)], mode="constant")


def channels_last_axis(axis: int, channels_first: bool) -> int:
    """The axis of an image in the reference, which has channels last."""
    return {1: -1, -3: -1, 2: 1, 3: 2, -1: 2, -2: 1}.get(axis, axis) if channels_first else axis
