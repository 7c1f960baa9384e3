"""Floating-point operations that a model takes for one sample, counted from the shapes of its layers.

A multiplication and an addition count as one each, so that a matrix product of m x n by n x k takes 2mnk. Adding a
bias, an activation (whatever the function), a comparison in a pooling window and a gate's product count as one for
each number. Attention is counted as if each place attended to all, whatever the mask. Training counts the forward
pass once more for the gradient by a layer's input and, where the layer has trained weights, once more for the
gradient by these: three times the forward pass, as in Amodei and Hernandez, "AI and Compute" (2018), and in Kaplan
et al., "Scaling Laws for Neural Language Models" (2020), section 2.1. Unlike there, the gradient by the data itself
is not counted, since no program needs it. Left out are the loss, dropout, the mean and variance of a batch, and the
optimizer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from kbench.records.reported import Layer, Shape


@dataclass(frozen=True)
class Operations:
    """What one sample takes."""

    forward: int
    training: int
    unknown: tuple[str, ...]  # classes of layers that were counted as zero


def shapes(layer: Layer) -> tuple[tuple[Shape, ...], Shape] | None:
    """Those of inputs and output; None if an axis is unknown."""
    if layer.inputs is None or layer.output is None or any(None in shape for shape in (*layer.inputs, layer.output)):
        return None
    return cast("tuple[tuple[Shape, ...], Shape]", (layer.inputs, layer.output))


def count(layers: Sequence[Layer]) -> Operations:
    """The operations of a model's layers."""
    forward = training = 0
    unknown: dict[str, None] = {}  # as a set that keeps its order
    for layer in layers:
        once = of_layer(layer)
        if once is None:
            unknown[layer.class_name] = None
            continue
        forward += layer.uses * once
        training += layer.uses * _trained(layer, once)
    return Operations(forward, training, tuple(unknown))


def of_layer(layer: Layer) -> int | None:
    """The operations of one forward pass; None for a layer that is unknown, or unknown with these shapes."""
    counting, known = _COUNTS.get(layer.class_name), shapes(layer)
    if counting is None or known is None:
        return None
    try:
        return counting(layer, *known)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # another layer with a known name
        return None


def _trained(layer: Layer, once: int) -> int:
    """The operations of a step of training, of one use of a layer whose forward pass takes `once`."""
    if not layer.trained:
        return once if layer.fed_by_data else 2 * once
    return 3 * once - (_by_input(layer, once) if layer.fed_by_data else 0)


def _by_input(layer: Layer, once: int) -> int:
    """The part of a forward pass that multiplies the layer's input: the gradient by it takes as much."""
    if (known := shapes(layer)) is None:
        return 0
    inputs, output = known
    if layer.class_name in _WRAPPERS:
        times, inner = _WRAPPERS[layer.class_name](layer, inputs[0], output)
        return times * _by_input(inner, of_layer(inner) or 0)
    if _COUNTS[layer.class_name] is _recurrent:  # its states have gradients even then
        return inputs[0][0] * 2 * math.prod(layer.weights[0])
    if layer.class_name == "MultiHeadAttention":
        return _projections(layer, inputs)
    return once - _beside(layer, output)


# From here on: functions from a layer, the shapes of its inputs and that of its output to a number of operations.
# Convolutions are counted from products of axes alone, so that the layout of images does not matter.


def _beside(layer: Layer, output: Shape) -> int:
    """Adding a bias, and an activation."""
    activated = layer.settings.get("activation") not in (None, "linear")
    return math.prod(output) * (bool(layer.settings.get("use_bias")) + activated)


def _dense(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """Each number of the output is a sum over a row of the kernel (inputs, units); any further axes are places."""
    return 2 * layer.weights[0][0] * math.prod(output) + _beside(layer, output)


def _convolution(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """The kernel (..., inputs of a group, filters) is applied at each place of the output."""
    kernel = layer.weights[0]
    return 2 * math.prod(kernel) * (math.prod(output) // kernel[-1]) + _beside(layer, output)


def _depthwise(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """The kernel (rows, columns, inputs, multiplier) gives inputs x multiplier channels at each place."""
    kernel = layer.weights[0]
    return 2 * math.prod(kernel) * (math.prod(output) // math.prod(kernel[-2:])) + _beside(layer, output)


def _separable(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """A depthwise kernel and then one of 1 x 1, both at each place of the output."""
    depthwise, pointwise = layer.weights[:2]
    places = math.prod(output) // pointwise[-1]
    return 2 * (math.prod(depthwise) + math.prod(pointwise)) * places + _beside(layer, output)


def _transposed(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """The kernel (..., filters, inputs) is applied at each place of the input."""
    kernel = layer.weights[0]
    return 2 * math.prod(kernel) * (math.prod(inputs[0]) // kernel[-1]) + _beside(layer, output)


def _einsum(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """Each number of the output is a sum over the axes that the kernel has and the output has not."""
    (_, kernel), result = (part.split(",") for part in str(layer.settings["equation"]).replace(" ", "").split("->"))
    sizes = dict(zip(kernel, layer.weights[0], strict=True))
    summed = math.prod(size for axis, size in sizes.items() if axis not in result[0])
    return (2 * summed + bool(layer.settings.get("bias_axes"))) * math.prod(output) + _beside(layer, output)


def _lengths(inputs: Sequence[Shape]) -> tuple[int, int, int]:
    """Places of query, key and value of an attention over one axis."""
    query, value, *key = [places for places, _ in inputs]
    return query, (key or [value])[0], value


def _attention_kernels(layer: Layer) -> list[Shape]:
    return [shape for shape in layer.weights if len(shape) == 3]


def _projections(layer: Layer, inputs: Sequence[Shape]) -> int:
    """The products that make queries, keys and values."""
    kernels = _attention_kernels(layer)[:3]
    return sum(2 * places * math.prod(kernel) for places, kernel in zip(_lengths(inputs), kernels, strict=True))


def _attention(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """Four projections with their biases; for each head and pair of places a product over its width, a softmax and a
    weighted sum; and each number of the queries is scaled once."""
    queries, keys, _ = _lengths(inputs)
    of_query, _, of_value, out = _attention_kernels(layer)
    _, heads, width = of_query
    biased = bool(layer.settings.get("use_bias"))
    made = sum(
        places * math.prod(kernel[1:])
        for places, kernel in zip(_lengths(inputs), _attention_kernels(layer)[:3], strict=True)
    )
    pairs = heads * queries * keys
    attended = pairs * (2 * width + 1 + 2 * of_value[-1]) + queries * heads * width
    end = 2 * queries * math.prod(out) + biased * math.prod(output)
    return _projections(layer, inputs) + biased * made + attended + end


def _normalization(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """Mean, difference, its square and their mean, a product with 1 / sqrt(v); with gamma and beta if it has them.

    It computes them in every sample, and for predictions, too, unlike BatchNormalization.
    """
    return (5 + bool(layer.settings.get("scale")) + bool(layer.settings.get("center"))) * math.prod(output)


def _pooling(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """One addition or comparison for each number in each window."""
    window = layer.settings["pool_size"]
    size = math.prod(window) if isinstance(window, list | tuple) else int(str(window))
    return size * math.prod(output)


# Operations for each unit and step beside the two matrix products and the bias, activations as one each:
# SimpleRNN: h = f(xW + hU + b): the sum of the products, f.
# LSTM: the sum of the products (4), four gates' functions (4), c = f c + i g (3), h = o tanh(c) (2).
# GRU: the sum of the products (3), three gates' functions (3), r h (1), z h + (1 - z) g (4).
_BESIDE = {"SimpleRNN": 2, "LSTM": 13, "GRU": 11}


def _recurrent(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """Each step multiplies the input by the kernel (inputs, gates x units) and the state by the recurrent one."""
    kernel, recurrent, *biases = layer.weights
    (steps, _), units = inputs[0], recurrent[0]
    beside = _BESIDE[layer.class_name.removeprefix("CuDNN")]
    each = 2 * (math.prod(kernel) + math.prod(recurrent)) + sum(map(math.prod, biases)) + beside * units
    return steps * each


def _inner(layer: Layer, weights: tuple[Shape, ...], inputs: Shape, output: Shape) -> Layer:
    """What a wrapper wraps."""
    reported = layer.settings["layer"]
    if not isinstance(reported, list | tuple):
        raise ValueError("wraps nothing")
    name, settings = reported
    return Layer(name, settings, weights, (inputs,), output)


def _each_step(layer: Layer, inputs: Shape, output: Shape) -> tuple[int, Layer]:
    return inputs[0], _inner(layer, layer.weights, inputs[1:], output[1:])


def _both_ways(layer: Layer, inputs: Shape, output: Shape) -> tuple[int, Layer]:
    return 2, _inner(layer, layer.weights[: len(layer.weights) // 2], inputs, output)


# (how often it is computed, what is wrapped)
_WRAPPERS = {"TimeDistributed": _each_step, "Bidirectional": _both_ways}


def _wrapper(layer: Layer, inputs: Sequence[Shape], output: Shape) -> int:
    """What it wraps, and one operation a number where the outputs of both ways are not just put side by side."""
    times, inner = _WRAPPERS[layer.class_name](layer, inputs[0], output)
    once = of_layer(inner)
    if once is None:
        raise ValueError("wraps a layer that is not known")
    merged = layer.settings.get("merge_mode") in ("sum", "mul", "ave")
    return times * once + merged * math.prod(output)


_SIZES = ("1D", "2D", "3D")
_FREE = (
    "Flatten", "Reshape", "Permute", "RepeatVector", "Concatenate", "Embedding", "Masking", "Dropout", "AlphaDropout",
    "GaussianDropout", "GaussianNoise", "ActivityRegularization", "Identity",
    *(f"{name}{size}" for name in ("SpatialDropout", "ZeroPadding", "Cropping", "UpSampling") for size in _SIZES),
)  # fmt: skip
_NUMBER_BY_NUMBER = ("ReLU", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax", "Rescaling")
_MERGES = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
_OVER_ALL = tuple(f"Global{name}Pooling{size}" for name in ("Max", "Average") for size in _SIZES)
_COUNTS: Mapping[str, Callable[[Layer, Sequence[Shape], Shape], int]] = {
    **dict.fromkeys(_FREE, lambda layer, inputs, output: 0),
    **dict.fromkeys(_NUMBER_BY_NUMBER, lambda layer, inputs, output: math.prod(output)),
    **dict.fromkeys(_MERGES, lambda layer, inputs, output: (len(inputs) - 1) * math.prod(output)),
    **dict.fromkeys(("SimpleRNN", "LSTM", "GRU", "CuDNNLSTM", "CuDNNGRU"), _recurrent),
    **{f"Conv{size}": _convolution for size in _SIZES},
    **{f"Conv{size}Transpose": _transposed for size in _SIZES},
    **{f"DepthwiseConv{size}": _depthwise for size in _SIZES},
    **{f"SeparableConv{size}": _separable for size in _SIZES},
    **{f"{name}Pooling{size}": _pooling for name in ("Max", "Average") for size in _SIZES},
    **dict.fromkeys(_OVER_ALL, lambda layer, inputs, output: math.prod(inputs[0])),
    "Dense": _dense,
    "EinsumDense": _einsum,
    "MultiHeadAttention": _attention,
    **dict.fromkeys(("LayerNormalization", "GroupNormalization"), _normalization),
    "TokenAndPositionEmbedding": lambda layer, inputs, output: math.prod(output),
    "Activation": lambda layer, inputs, output: _beside(layer, output),
    "BatchNormalization": lambda layer, inputs, output: 2 * math.prod(output),  # a scale and a shift
    **dict.fromkeys(_WRAPPERS, _wrapper),
}
