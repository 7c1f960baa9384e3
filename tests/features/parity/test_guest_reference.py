"""The numpy reference: each layer against numbers made by hand, by another formula, or by scipy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import alone
from scipy.signal import correlate2d
from scipy.stats import norm

from kbench.base import paths

reference = alone("reference", paths.PACKAGE / "features" / "parity" / "guest" / "kbench_parity")
RANDOM = np.random.RandomState(3)
GATES = {"activation": "tanh", "recurrent_activation": "sigmoid"}


@pytest.fixture(autouse=True)
def same_numbers_in_any_order() -> None:
    """Each test draws alike, whichever run before it."""
    RANDOM.seed(3)


def draw(*shape: int) -> Any:
    return RANDOM.uniform(-1, 1, shape)


def compute(class_name: str, config: dict[str, Any], weights: list[Any], *taken: Any, first: bool = False) -> Any:
    return reference.compute(class_name, config, weights, list(taken), first)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_dense_is_a_product_and_a_sum() -> None:
    x, kernel, bias = [[1.0, -2.0]], [[1.0, 0.5], [3.0, 0.25]], [0.5, 1.0]
    config = {"activation": "relu", "use_bias": True}
    weights = [np.array(kernel), np.array(bias)]
    assert compute("Dense", config, weights, np.array(x)).tolist() == [[0.0, 1.0]]  # -4.5 and 1.0 before relu


@pytest.mark.parametrize(("axis", "first"), [(-1, False), ([3], False), (1, True)])
def test_batch_normalization_predicts_with_its_moving_averages(axis: Any, first: bool) -> None:
    x = draw(2, 3, 4, 2)
    gamma, beta, mean, variance = (np.array(pair) for pair in ([2.0, 1.0], [0.5, 0.0], [0.1, -0.1], [4.0, 0.25]))
    config = {"axis": axis, "epsilon": 0.001, "center": True, "scale": True}
    own = compute("BatchNormalization", config, [gamma, beta, mean, variance], x, first=first)
    np.testing.assert_allclose(own, gamma * (x - mean) / np.sqrt(variance + 0.001) + beta, atol=1e-15)
    bare = {**config, "center": False, "scale": False}
    own = compute("BatchNormalization", bare, [mean, variance], x, first=first)
    np.testing.assert_allclose(own, (x - mean) / np.sqrt(variance + 0.001), atol=1e-15)


def test_global_pooling_takes_all_places() -> None:
    x = draw(2, 3, 4, 5)
    np.testing.assert_allclose(compute("GlobalAveragePooling2D", {}, [], x), x.mean(axis=(1, 2)))
    assert (compute("GlobalMaxPooling1D", {"keepdims": True}, [], x[0]) == x[0].max(axis=1, keepdims=True)).all()


def test_zeros_around_a_picture_and_the_difference_of_two_layers() -> None:
    x = draw(1, 2, 3, 2)
    padded = compute("ZeroPadding2D", {"padding": [[1, 0], [2, 3]]}, [], x)
    assert padded.shape == (1, 3, 8, 2) and (padded[:, 1:, 2:5] == x).all()
    assert np.count_nonzero(padded) == x.size
    np.testing.assert_allclose(compute("Subtract", {}, [], x, 3 * x, first=True), -2 * x)


def test_softmax_adds_up_and_does_not_overflow() -> None:
    y = reference.activation("softmax", np.array([[1000.0, 1000.0, 0.0]]))
    assert y.tolist() == [[0.5, 0.5, 0.0]]


def test_sigmoid_is_the_logistic_function() -> None:
    x = np.linspace(-20, 20, 41)
    np.testing.assert_allclose(reference.activation("sigmoid", x), sigmoid(x), atol=1e-15)
    assert reference.activation("sigmoid", np.array([-1e6, 1e6])).tolist() == [0.0, 1.0]


def test_a_convolution_is_scipys_correlation() -> None:
    x, kernel, bias = draw(2, 7, 6, 3), draw(3, 2, 3, 4), draw(4)
    config = {"strides": (1, 1), "padding": "valid", "activation": "linear"}
    own = compute("Conv2D", config, [kernel, bias], x)
    for n, f in np.ndindex(2, 4):
        right = sum(correlate2d(x[n, :, :, c], kernel[:, :, c, f], mode="valid") for c in range(3)) + bias[f]
        np.testing.assert_allclose(own[n, :, :, f], right, atol=1e-12)


def test_a_convolution_with_same_padding_and_strides_keeps_scipys_places() -> None:
    x, kernel = draw(1, 7, 9, 1), draw(3, 3, 1, 1)
    config = {"strides": (2, 2), "padding": "same", "activation": "linear", "use_bias": False}
    own = compute("Conv2D", config, [kernel], x)
    right = correlate2d(x[0, :, :, 0], kernel[:, :, 0, 0], mode="same")[::2, ::2]
    np.testing.assert_allclose(own[0, :, :, 0], right, atol=1e-12)


def test_a_dilated_convolution_looks_further() -> None:
    x, kernel = draw(1, 5, 5, 1), draw(2, 2, 1, 1)
    config = {
        "strides": [1, 1],
        "padding": "valid",
        "activation": "linear",
        "use_bias": False,
        "dilation_rate": [3, 3],
    }
    own = compute("Conv2D", config, [kernel], x)
    k, p = kernel[:, :, 0, 0], x[0, :, :, 0]
    right = k[0, 0] * p[:2, :2] + k[0, 1] * p[:2, 3:] + k[1, 0] * p[3:, :2] + k[1, 1] * p[3:, 3:]
    np.testing.assert_allclose(own[0, :, :, 0], right, atol=1e-12)


def test_pooling_takes_the_largest_or_the_mean_of_what_is_there() -> None:
    x = np.arange(9.0).reshape(1, 3, 3, 1)
    valid = {"pool_size": (2, 2), "strides": (1, 1), "padding": "valid"}
    assert compute("MaxPooling2D", valid, [], x).ravel().tolist() == [4, 5, 7, 8]
    assert compute("AveragePooling2D", valid, [], x).ravel().tolist() == [2, 3, 5, 6]
    same = {"pool_size": (2, 2), "strides": None, "padding": "same"}
    assert compute("MaxPooling2D", same, [], x).ravel().tolist() == [4, 5, 7, 8]
    assert compute("AveragePooling2D", same, [], x).ravel().tolist() == [2, 3.5, 6.5, 8]


def test_flatten_repeat_add_concatenate_and_embedding() -> None:
    x = np.arange(8).reshape(2, 2, 2)
    assert compute("Flatten", {}, [], x).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert compute("RepeatVector", {"n": 2}, [], x[0]).tolist() == [[[0, 1], [0, 1]], [[2, 3], [2, 3]]]
    assert compute("Add", {}, [], x, x, x).tolist() == (3 * x).tolist()
    assert compute("Concatenate", {"axis": -1}, [], x, x).shape == (2, 2, 4)
    assert compute("Concatenate", {"axis": 1}, [], x, x, first=True).shape == (2, 2, 4)
    table = draw(9, 3)
    assert np.array_equal(compute("Embedding", {}, [table], x), table[x])
    assert np.array_equal(compute("Dropout", {"rate": 0.0}, [], x), x)


def test_a_simple_rnn_by_hand() -> None:
    x, weights = np.array([[[1.0], [2.0]]]), [np.array([[0.5]]), np.array([[0.25]]), np.array([0.125])]
    one = np.tanh(0.5 + 0.125)
    two = np.tanh(1.0 + 0.25 * one + 0.125)
    config = {"activation": "tanh", "return_sequences": True}
    np.testing.assert_allclose(compute("SimpleRNN", config, weights, x).ravel(), [one, two], atol=1e-15)
    back = compute("SimpleRNN", {"activation": "tanh", "go_backwards": True}, weights, x)
    np.testing.assert_allclose(back, np.tanh(0.5 + 0.25 * np.tanh(1.125) + 0.125).reshape(1, 1))


def test_an_lstm_gate_by_gate() -> None:
    x, kernel, recurrent, bias = draw(2, 3, 2), draw(2, 8), draw(2, 8), draw(8)
    h, c = np.zeros((2, 2)), np.zeros((2, 2))
    for t in range(3):
        of = [slice(2 * g, 2 * g + 2) for g in range(4)]
        gate = [x[:, t] @ kernel[:, g] + h @ recurrent[:, g] + bias[g] for g in of]
        c = sigmoid(gate[1]) * c + sigmoid(gate[0]) * np.tanh(gate[2])
        h = sigmoid(gate[3]) * np.tanh(c)
    np.testing.assert_allclose(compute("LSTM", GATES, [kernel, recurrent, bias], x), h, atol=1e-14)
    assert np.abs(h - c).max() > 0.1  # the state that one backend gives instead is another


@pytest.mark.parametrize("reset_after", [False, True])
def test_a_gru_gate_by_gate_with_the_reset_before_or_after(reset_after: bool) -> None:
    x, kernel, recurrent = draw(2, 3, 2), draw(2, 6), draw(2, 6)
    bias = draw(2, 6) if reset_after else draw(6)
    b, rb = (bias[0], bias[1]) if reset_after else (bias, np.zeros(6))
    h = np.zeros((2, 2))
    for t in range(3):
        z = sigmoid(x[:, t] @ kernel[:, :2] + b[:2] + h @ recurrent[:, :2] + rb[:2])
        r = sigmoid(x[:, t] @ kernel[:, 2:4] + b[2:4] + h @ recurrent[:, 2:4] + rb[2:4])
        inner = r * (h @ recurrent[:, 4:] + rb[4:]) if reset_after else (r * h) @ recurrent[:, 4:]
        h = z * h + (1 - z) * np.tanh(x[:, t] @ kernel[:, 4:] + b[4:] + inner)
    config = {**GATES, "reset_after": reset_after}
    np.testing.assert_allclose(compute("GRU", config, [kernel, recurrent, bias], x), h, atol=1e-14)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_head_by_head_and_place_by_place(causal: bool) -> None:
    x, other, heads, width = draw(2, 4, 6), draw(2, 4, 6), 3, 2
    kernels, biases = [draw(6, heads, width) for _ in range(3)], [draw(heads, width) for _ in range(3)]
    out, out_bias = draw(heads, width, 6), draw(6)
    weights = [weight for pair in zip(kernels, biases, strict=True) for weight in pair] + [out, out_bias]
    config = {"num_heads": heads, "key_dim": width, "use_bias": True, "call": {"use_causal_mask": causal}}
    own = compute("MultiHeadAttention", config, weights, x, other)
    right = np.zeros((2, 4, 6)) + out_bias
    for n, head, place in np.ndindex(2, heads, 4):
        (q, k, v) = [given[n] @ kernels[i][:, head] + biases[i][head] for i, given in enumerate((x, other, other))]
        seen = place + 1 if causal else 4
        powers = np.exp([q[place] @ k[there] / np.sqrt(width) for there in range(seen)])
        right[n, place] += (powers / powers.sum()) @ v[:seen] @ out[head]
    np.testing.assert_allclose(own, right, atol=1e-12)


def test_attention_without_biases() -> None:
    x, kernels = draw(1, 3, 4), [draw(4, 1, 4) for _ in range(3)]
    out = draw(1, 4, 4)
    with_zeros = [one for kernel in kernels for one in (kernel, np.zeros((1, 4)))] + [out, np.zeros(4)]
    bare = compute("MultiHeadAttention", {"key_dim": 4, "use_bias": False}, [*kernels, out], x, x)
    np.testing.assert_allclose(bare, compute("MultiHeadAttention", {"key_dim": 4}, with_zeros, x, x), atol=1e-12)


@pytest.mark.parametrize("axis", [-1, [2], 2])
def test_layer_normalization_takes_each_place_for_itself(axis: Any) -> None:
    x, gamma, beta = draw(2, 3, 4), draw(4), draw(4)
    config = {"axis": axis, "epsilon": 0.1, "center": True, "scale": True}
    own = compute("LayerNormalization", config, [gamma, beta], x)
    for n, place in np.ndindex(2, 3):
        one = x[n, place]
        right = (one - one.mean()) / np.sqrt(((one - one.mean()) ** 2).mean() + 0.1) * gamma + beta
        np.testing.assert_allclose(own[n, place], right, atol=1e-12)


@pytest.mark.parametrize(("axis", "first"), [(-1, False), (1, True)])
def test_group_normalization_takes_each_group_of_channels_for_itself(axis: int, first: bool) -> None:
    x, gamma = draw(2, 3, 5, 4), draw(4)
    config = {"groups": 2, "axis": axis, "epsilon": 0.1, "center": False, "scale": True}
    own = compute("GroupNormalization", config, [gamma], x, first=first)
    for n, group in np.ndindex(2, 2):
        channels = slice(2 * group, 2 * group + 2)
        one = x[n, :, :, channels]
        right = (one - one.mean()) / np.sqrt(one.var() + 0.1) * gamma[channels]
        np.testing.assert_allclose(own[n, :, :, channels], right, atol=1e-12)


def test_a_depthwise_convolution_is_scipys_correlation_of_each_channel() -> None:
    x, kernel, bias = draw(2, 7, 6, 3), draw(3, 2, 3, 2), draw(6)
    config = {"strides": [2, 2], "padding": "valid", "activation": "linear"}
    own = compute("DepthwiseConv2D", config, [kernel, bias], x)
    for n, c, m in np.ndindex(2, 3, 2):
        right = correlate2d(x[n, :, :, c], kernel[:, :, c, m], mode="valid")[::2, ::2] + bias[2 * c + m]
        np.testing.assert_allclose(own[n, :, :, 2 * c + m], right, atol=1e-12)


@pytest.mark.parametrize(("size", "stride", "height"), [(2, 2, 6), (3, 2, 7), (2, 3, 9)])
def test_a_transposed_convolution_spreads_each_number(size: int, stride: int, height: int) -> None:
    x, kernel, bias = draw(2, 3, 3, 2), draw(size, size, 4, 2), draw(4)
    config = {"strides": [stride, stride], "padding": "valid", "activation": "linear"}
    own = compute("Conv2DTranspose", config, [kernel, bias], x)
    right = np.zeros((2, height, height, 4)) + bias
    for n, row, column, filters, channel in np.ndindex(2, 3, 3, 4, 2):
        there = slice(stride * row, stride * row + size), slice(stride * column, stride * column + size)
        right[(n, *there, filters)] += x[n, row, column, channel] * kernel[:, :, filters, channel]
    np.testing.assert_allclose(own, right, atol=1e-12)


def test_up_sampling_multiply_reshape_and_embeddings_of_places() -> None:
    x = np.arange(4.0).reshape(1, 2, 2, 1)
    up = compute("UpSampling2D", {"size": [1, 2], "interpolation": "nearest"}, [], x)
    assert up[0, :, :, 0].tolist() == [[0, 0, 1, 1], [2, 2, 3, 3]]
    images, scales = draw(2, 3, 3, 4), draw(2, 4)
    last = compute("Reshape", {"target_shape": (1, 1, 4)}, [], scales)
    first = compute("Reshape", {"target_shape": (4, 1, 1)}, [], scales)
    right = images * scales[:, None, None]
    np.testing.assert_allclose(compute("Multiply", {}, [], images, last), right)
    np.testing.assert_allclose(compute("Multiply", {}, [], images, first, first=True), right)
    tokens, places = draw(9, 3), draw(5, 3)
    found = compute("TokenAndPositionEmbedding", {}, [tokens, places], np.array([[7, 1], [0, 0]]))
    np.testing.assert_allclose(
        found, [[tokens[7] + places[0], tokens[1] + places[1]], [tokens[0] + p for p in places[:2]]]
    )


def test_einsum_dense_is_its_equation() -> None:
    x, kernel, bias = draw(2, 3, 4), draw(4, 2, 5), draw(2, 5)
    own = compute("EinsumDense", {"equation": "abc,cde->abde", "activation": "relu"}, [kernel, bias], x)
    np.testing.assert_allclose(own, np.maximum(np.tensordot(x, kernel, 1) + bias, 0), atol=1e-12)


def test_activations_of_today() -> None:
    x = np.linspace(-4, 4, 9)
    np.testing.assert_allclose(reference.activation("gelu", x), x * norm.cdf(x), atol=1e-12)
    np.testing.assert_allclose(reference.activation("silu", x), x * sigmoid(x), atol=1e-12)
    np.testing.assert_allclose(reference.activation("softplus", x), np.log(1 + np.exp(x)), atol=1e-12)
    assert reference.activation("elu", np.array([1.0, -1.0])).tolist() == [1.0, np.expm1(-1.0)]


def test_time_distributed_runs_its_layer_on_each_step() -> None:
    x, kernel, recurrent, bias = draw(2, 3, 4, 1), draw(1, 8), draw(2, 8), draw(8)
    config = {"layer": {"class_name": "LSTM", "config": GATES}}
    own = compute("TimeDistributed(LSTM)", config, [kernel, recurrent, bias], x)
    assert own.shape == (2, 3, 2)
    np.testing.assert_allclose(own[:, 1], compute("LSTM", GATES, [kernel, recurrent, bias], x[:, 1]), atol=1e-14)


@pytest.mark.parametrize(
    ("class_name", "config", "named"),
    [
        ("RMSNormalization", {}, "RMSNormalization"),
        ("LayerNormalization", {"axis": [1, 2]}, "axis="),
        ("MultiHeadAttention", {"call": {"attention_mask": ["in", 0, 0]}}, "attention_mask"),
        ("Conv2DTranspose", {"padding": "same"}, "padding=same"),
        ("Activation", {"activation": "hard_sigmoid"}, "hard_sigmoid"),
        ("Embedding", {"mask_zero": True}, "mask_zero=True"),
        ("LSTM", {**GATES, "return_state": True}, "return_state=True"),
        ("TimeDistributed(Lambda)", {"layer": {"config": {}}}, "Lambda"),
    ],
)
def test_what_the_reference_does_not_know_it_says(class_name: str, config: dict[str, Any], named: str) -> None:
    with pytest.raises(reference.Unknown, match=named):
        compute(class_name, config, [draw(2, 8), draw(2, 8), draw(8)], draw(2, 3, 2))


def test_a_model_is_computed_along_its_layers() -> None:
    def made(name: str, class_name: str, config: dict[str, Any], inbound: list[str] | None) -> Any:
        return SimpleNamespace(name=name, class_name=class_name, config=config, inbound=inbound, channels_first=False)

    nodes = [
        made("in", "InputLayer", {}, []),
        made("one", "Activation", {"activation": "relu"}, ["in"]),
        made("sum", "Add", {}, ["in", "one"]),
    ]
    found = reference.forward({one.name: one for one in nodes}, {}, {"in": np.array([[-1.0, 2.0]])})
    assert found["sum"].tolist() == [[-1.0, 4.0]]
    shared = {"in": nodes[0], "one": made("one", "Add", {}, None)}
    with pytest.raises(reference.Unknown, match="used more than once"):
        reference.forward(shared, {}, {"in": np.zeros((1, 1))})
