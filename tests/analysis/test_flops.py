"""Operations of a sample, counted from the shapes of layers: each formula against a count by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fake_runs import known

from kbench.analysis.times import flops
from kbench.records.reported import Layer, Shape

Given = list[int] | tuple[int, ...]


def layer(
    class_name: str,
    inputs: Given | Sequence[Given],
    output: Given,
    *weights: Given,
    uses: int = 1,
    trained: bool | None = None,
    fed_by_data: bool = True,
    **settings: Any,
) -> Layer:
    """A layer of one input, or of a list of them; trained where it has weights."""
    several = isinstance(inputs, list)
    return Layer(
        class_name,
        settings,
        tuple(map(tuple, weights)),
        tuple(map(tuple, inputs)) if several else (tuple(inputs),),  # type: ignore[arg-type]
        tuple(output),
        uses,
        bool(weights) if trained is None else trained,
        fed_by_data,
    )


def dense(inputs: int, units: int, **changed: Any) -> Layer:
    weights: list[Shape] = [(inputs, units), (units,)]
    settings: dict[str, Any] = {"use_bias": True, "activation": "relu"} | changed
    return layer("Dense", (inputs,), (units,), *weights, **settings)


# Each with what is counted, by hand, behind it.
BY_HAND = [
    (dense(3, 2, use_bias=False, activation="linear"), 12),  # 3 products and 3 sums for each of 2
    (dense(3, 2, activation="linear"), 12 + 2),  # and a bias for each
    (dense(3, 2), 12 + 2 + 2),  # and an activation
    # The same 12 + 2 + 2 in each of 5 places.
    (layer("Dense", (5, 3), (5, 2), (3, 2), (2,), use_bias=True, activation="tanh"), 5 * 16),
    # 'valid': 26 x 26 places; 3 x 3 x 1 products and sums for 32 filters; bias; relu.
    (
        layer("Conv2D", (28, 28, 1), (26, 26, 32), (3, 3, 1, 32), (32,), use_bias=True, activation="relu"),
        26 * 26 * 32 * (2 * 9 + 1 + 1),
    ),
    # The same with channels first.
    (
        layer("Conv2D", (1, 28, 28), (32, 26, 26), (3, 3, 1, 32), (32,), use_bias=True, activation="relu"),
        26 * 26 * 32 * (2 * 9 + 1 + 1),
    ),
    # 'same' with a stride of 2: 4 x 4 places out of 7 x 7; 5 x 5 x 3 products and sums for 8 filters, nothing else.
    (layer("Conv2D", (7, 7, 3), (4, 4, 8), (5, 5, 3, 8), strides=[2, 2], padding="same"), 4 * 4 * 8 * 2 * 75),
    # Two groups: each of the 8 filters sees 2 of the 4 inputs.
    (layer("Conv2D", (4, 4, 4), (4, 4, 8), (1, 1, 2, 8)), 4 * 4 * 8 * 2 * 2),
    (layer("Conv1D", (10, 4), (8, 6), (3, 4, 6), (6,), use_bias=True), 8 * 6 * (2 * 12 + 1)),
    # 2 x 2 places, 4 inputs, 3 channels out of each; 3 x 3 products and sums.
    (layer("DepthwiseConv2D", (4, 4, 4), (2, 2, 12), (3, 3, 4, 3)), 2 * 2 * 12 * 2 * 9),
    # The depthwise part, 2 x 2 x 4 x 9; then 1 x 1 x 4 for each of 5 filters.
    (
        layer("SeparableConv2D", (4, 4, 4), (2, 2, 5), (3, 3, 4, 1), (1, 1, 4, 5)),
        2 * 2 * (4 * 2 * 9 + 5 * 2 * 4),
    ),
    # Each of the 2 x 2 x 4 inputs is multiplied into 3 x 3 x 5 outputs.
    (layer("Conv2DTranspose", (2, 2, 4), (4, 4, 5), (3, 3, 5, 4)), 2 * 2 * 4 * 2 * 45),
    # 6 places, 8 numbers each, 2 heads of 3: three projections of 8 by 6 and their biases; each query is scaled; for
    # each head and pair of places a product of 3, a softmax, and a sum of 3 values; the way back, 6 by 8, and a bias.
    (
        layer(
            "MultiHeadAttention",
            [(6, 8), (6, 8)],
            (6, 8),
            *[(8, 2, 3), (2, 3)] * 3,
            (2, 3, 8),
            (8,),
            use_bias=True,
            num_heads=2,
            key_dim=3,
        ),
        3 * 6 * 6 * (2 * 8 + 1) + 6 * 6 + 2 * 6 * 6 * (2 * 3 + 1 + 2 * 3) + 6 * 8 * (2 * 6 + 1),
    ),
    # 5 queries look at 7 places, without biases; values are of 4 for each head.
    (
        layer("MultiHeadAttention", [(5, 8), (7, 9)], (5, 8), (8, 2, 3), (9, 2, 3), (9, 2, 4), (2, 4, 8)),
        2 * (5 * 8 * 6 + 7 * 9 * 6 + 7 * 9 * 8) + 5 * 6 + 2 * 5 * 7 * (2 * 3 + 1 + 2 * 4) + 5 * 8 * 2 * 8,
    ),
    # 2 x 4 for each number of the output, a bias for each.
    (
        layer("EinsumDense", (3, 4), (3, 2, 5), (4, 2, 5), (2, 5), equation="abc,cde->abde", bias_axes="de"),
        3 * 2 * 5 * (2 * 4 + 1),
    ),
    (layer("EinsumDense", (3, 2, 5), (3, 4), (2, 5, 4), equation="...de,def->...f", activation="relu"), 12 * 21),
    # The mean, the difference, its square, their mean, the quotient; gamma and beta.
    (layer("LayerNormalization", (6, 8), (6, 8), (8,), (8,), scale=True, center=True), 6 * 8 * 7),
    (layer("LayerNormalization", (6, 8), (6, 8)), 6 * 8 * 5),
    (layer("GroupNormalization", (4, 4, 8), (4, 4, 8), (8,), (8,), scale=True, center=True), 4 * 4 * 8 * 7),
    (layer("TokenAndPositionEmbedding", (6,), (6, 8), (100, 8), (6, 8)), 6 * 8),
    (layer("UpSampling2D", (2, 2, 3), (4, 4, 3), size=[2, 2]), 0),
    (layer("MaxPooling2D", (24, 24, 64), (12, 12, 64), pool_size=[2, 2]), 12 * 12 * 64 * 4),
    (layer("AveragePooling1D", (9, 2), (3, 2), pool_size=3), 3 * 2 * 3),
    (layer("GlobalAveragePooling2D", (7, 7, 2048), (2048,)), 7 * 7 * 2048),
    (layer("BatchNormalization", (4, 4, 3), (4, 4, 3), (3,), (3,), (3,), (3,)), 4 * 4 * 3 * 2),  # scale and shift
    (layer("Activation", (4, 3), (4, 3), activation="softmax"), 12),
    (layer("Activation", (4, 3), (4, 3), activation="linear"), 0),
    (layer("LeakyReLU", (4, 3), (4, 3), negative_slope=0.1), 12),
    (layer("Add", [(4, 3), (4, 3), (4, 3)], (4, 3)), 24),  # two additions
    (layer("Concatenate", [(4, 3), (4, 3)], (4, 6)), 0),
    (layer("Embedding", (150,), (150, 125), (30000, 125)), 0),  # looked up
    (layer("Flatten", (4, 3), (12,)), 0),
    # 10 steps; inputs 3, units 2: h = f(xW + hU + b) is 2 x 6 + 2 x 4, then two sums and f for each of 2 units.
    (layer("SimpleRNN", (10, 3), (2,), (3, 2), (2, 2), (2,)), 10 * (12 + 8 + 2 * 3)),
    # Four gates: 2 x 3 x 8 + 2 x 2 x 8; two sums and a function for each of 8; then for each of 2 units f x c, i x g,
    # their sum, tanh(c) and o x tanh(c).
    (layer("LSTM", (10, 3), (2,), (3, 8), (2, 8), (8,)), 10 * (48 + 32 + 3 * 8 + 5 * 2)),
    # Three gates: 2 x 3 x 6 + 2 x 2 x 6; two sums and a function for each of 6; r x h; z x h + (1 - z) x g.
    (layer("GRU", (10, 3), (2,), (3, 6), (2, 6), (6,)), 10 * (36 + 24 + 3 * 6 + 5 * 2)),
    # cuDNN's has a second bias, of 6.
    (layer("GRU", (10, 3), (2,), (3, 6), (2, 6), (2, 6)), 10 * (36 + 24 + 4 * 6 + 5 * 2)),
    # The LSTM above, once for each of 7 rows.
    (
        layer("TimeDistributed", (7, 10, 3), (7, 2), (3, 8), (2, 8), (8,), layer=["LSTM", {"units": 2}]),
        7 * 10 * (48 + 32 + 3 * 8 + 5 * 2),
    ),
    # The SimpleRNN above, forwards and backwards; put side by side, or added up.
    (
        layer(
            "Bidirectional",
            (10, 3),
            (4,),
            *[(3, 2), (2, 2), (2,)] * 2,
            layer=["SimpleRNN", {"units": 2}],
            merge_mode="concat",
        ),
        2 * 10 * (12 + 8 + 2 * 3),
    ),
    (
        layer(
            "Bidirectional",
            (10, 3),
            (2,),
            *[(3, 2), (2, 2), (2,)] * 2,
            layer=["SimpleRNN", {"units": 2}],
            merge_mode="sum",
        ),
        2 * 10 * (12 + 8 + 2 * 3) + 2,
    ),
]


@pytest.mark.parametrize(("one", "by_hand"), BY_HAND, ids=lambda value: getattr(value, "class_name", None))
def test_a_layer_takes_what_a_count_by_hand_gives(one: Layer, by_hand: int) -> None:
    assert flops.of_layer(one) == by_hand


def test_mnist_cnn_takes_24_million_operations_forward() -> None:
    layers = [
        layer("Conv2D", (28, 28, 1), (26, 26, 32), (3, 3, 1, 32), (32,), use_bias=True, activation="relu"),
        layer("Conv2D", (26, 26, 32), (24, 24, 64), (3, 3, 32, 64), (64,), use_bias=True, activation="relu"),
        layer("MaxPooling2D", (24, 24, 64), (12, 12, 64), pool_size=[2, 2]),
        layer("Dropout", (12, 12, 64), (12, 12, 64), rate=0.25),
        layer("Flatten", (12, 12, 64), (9216,)),
        dense(9216, 128),
        layer("Dropout", (128,), (128,), rate=0.5),
        dense(128, 10, activation="softmax"),
    ]
    # Products and sums: 389,376 + 21,233,664 + 2,359,296 + 2,560; biases and activations: 2 x (21,632 + 36,864 + 128
    # + 10); pooling: 9,216 x 4.
    assert flops.count(layers).forward == 23_984_896 + 117_268 + 36_864 == 24_139_028


def test_resnet_50_takes_3_86_billion_multiplications() -> None:
    """He et al., "Deep Residual Learning for Image Recognition" (2016), table 1: 3.8 x 10^9, with its classifier."""
    layers = [convolution(112, 7, 3, 64)]
    inputs = 64
    for stage, (blocks, filters) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        size = 56 >> stage
        for block in range(blocks):
            layers += [convolution(size, 1, inputs, 4 * filters)] if block == 0 else []  # the shortcut
            layers += [convolution(size, 1, inputs, filters), convolution(size, 3, filters, filters)]
            layers += [convolution(size, 1, filters, 4 * filters)]
            inputs = 4 * filters
    layers.append(dense(2048, 1000, use_bias=False, activation="linear"))
    assert len(layers) == 54
    assert flops.count(layers).forward == 2 * 3_857_973_248


def convolution(size: int, kernel: int, inputs: int, filters: int) -> Layer:
    """One without a bias, whose output has size x size places."""
    return layer("Conv2D", (size, size, inputs), (size, size, filters), (kernel, kernel, inputs, filters))


def test_training_takes_three_times_the_forward_pass_but_for_the_gradient_by_the_data() -> None:
    first = dense(3, 2, use_bias=False, activation="linear")  # forward and the gradient by its weights
    pooling = layer("MaxPooling1D", (4, 1), (2, 1), pool_size=2, fed_by_data=False)  # forward, and the way back
    last = dense(2, 1, use_bias=False, activation="linear", fed_by_data=False)  # and both gradients
    assert flops.count([first, pooling, last]).forward == 12 + 4 + 4
    assert flops.count([first, pooling, last]).training == 2 * 12 + 2 * 4 + 3 * 4


def test_the_first_layers_bias_and_activation_have_a_gradient_all_the_same() -> None:
    # Forward 12 + 2 + 2; but for the products with the data, three times.
    assert flops.count([dense(3, 2)]).training == 3 * 16 - 12


def test_the_states_of_a_recurrent_first_layer_have_gradients_too() -> None:
    """Only the product of the data with the kernel, 2 x 3 x 8 a step, has no gradient by its input."""
    weights: list[Shape] = [(3, 8), (2, 8), (8,)]
    once = 10 * (48 + 32 + 34)
    first = layer("LSTM", (10, 3), (2,), *weights)
    assert flops.count([first]).training == 3 * once - 10 * 48
    rows = layer("TimeDistributed", (7, 10, 3), (7, 2), *weights, layer=["LSTM", {}])
    assert flops.count([rows]).training == 7 * (3 * once - 10 * 48)
    both = layer("Bidirectional", (10, 3), (4,), *weights, *weights, layer=["LSTM", {}], merge_mode="concat")
    assert flops.count([both]).training == 2 * (3 * once - 10 * 48)


def test_frozen_layers_have_no_gradient_by_their_weights() -> None:
    frozen = dense(3, 2, use_bias=False, activation="linear", trained=False)
    behind = dense(2, 2, use_bias=False, activation="linear", trained=False, fed_by_data=False)
    assert flops.count([frozen]).training == 12
    assert flops.count([behind]).training == 2 * 8


def test_a_layer_that_is_used_twice_counts_twice() -> None:
    assert flops.count([dense(3, 2, uses=2)]).forward == 2 * flops.count([dense(3, 2)]).forward


def test_a_layer_that_is_not_known_counts_as_nothing_and_is_named() -> None:
    found = flops.count([layer("MyAttention", (4, 3), (4, 3), (3, 3)), dense(3, 2), dense(3, 2)])
    assert (found.forward, found.unknown) == (32, ("MyAttention",))
    lambda_ = Layer("Lambda", {}, (), None, None)
    assert flops.count([lambda_, lambda_]).unknown == ("Lambda",)


@pytest.mark.parametrize(
    "strange",
    [
        layer("Dense", (3,), (2,)),  # without weights: somebody's own layer of that name
        layer("LSTM", (2, 3, 4, 5), (2,), (3, 8), (2, 8)),
        layer("LSTM", (10, 3), (2,)),
        layer("TimeDistributed", (7, 3), (7, 2), layer=["Mine", {}]),
        layer("TimeDistributed", (7, 3), (7, 2)),
        layer("MaxPooling2D", (4, 4, 1), (2, 2, 1), pool_size="all"),
        layer("Conv2D", (4, 4, 1), (2, 2, 1), (3, 3, 1, 0)),
    ],
    ids=lambda one: one.class_name,
)
def test_a_stranger_under_a_known_name_is_not_known(strange: Layer) -> None:
    assert flops.of_layer(strange) is None


TOLD = {
    "class": "Dense",
    "settings": {"units": 2},
    "weights": [[3, 2]],
    "inputs": [[3]],
    "output": [2],
    "uses": 1,
    "trained": True,
    "fed_by_data": True,
}


def test_layers_are_read_as_a_guest_tells_them() -> None:
    assert known(layer_shapes=[TOLD]).layer_shapes == (layer("Dense", (3,), (2,), (3, 2), units=2),)
    for unread in ({"inputs": None}, {"output": None}, {"inputs": [[None, 3]]}, {"output": [None]}):
        (one,) = known(layer_shapes=[TOLD | unread]).layer_shapes or ()
        assert flops.of_layer(one) is None


@pytest.mark.parametrize(
    "told",
    [None, {}, "layers", [1], [{}], [TOLD | {"weights": None}], [TOLD | {"uses": "x"}], [TOLD | {"settings": 3}]],
    ids=str,
)
def test_what_is_no_list_of_layers_is_none(told: object) -> None:
    assert known(layer_shapes=told).layer_shapes is None
