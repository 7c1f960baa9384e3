"""Initial weights: each layer's own distribution, drawn alike on every backend."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

# Of a softmax regression's weights for seed 7: results rest on it.
INITIAL_SHA256 = "43cb544d25cb81ea8c333f6f972594e5ab1ff53ada9cc50747bbb0514ac6b596"


@pytest.fixture
def weights(tmp_path: Path) -> Iterator[Any]:
    with guest(tmp_path, "proof.weights") as (module,):
        yield module


def draw(module: Any, initializer: Any, shape: tuple[int, ...], name: str = "kernel", owner: Any = None) -> Any:
    return module._draw(initializer, name, owner or SimpleNamespace(), shape, np.random.RandomState(0))


def named(name: str) -> Any:
    """An initializer as the weights module sees it: an object whose class has this name."""
    return type(name, (), {})()


@pytest.mark.parametrize("size", [{"units": 3}, {"filters": 3}], ids=str)
def test_the_forget_gate_of_an_lstm_starts_open(weights: Any, size: dict[str, int]) -> None:
    value = draw(weights, named("Zeros"), (12,), "bias", SimpleNamespace(unit_forget_bias=True, **size))
    assert value.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    owner = SimpleNamespace(unit_forget_bias=False, **size)
    assert not draw(weights, named("Zeros"), (12,), "bias", owner).any()


def test_of_the_two_biases_of_a_cudnn_lstm_one_opens_the_forget_gate(weights: Any) -> None:
    value = draw(weights, named("function"), (16,), "bias", SimpleNamespace(unit_forget_bias=True, units=2))
    assert value.tolist() == [0] * 8 + [0, 0, 1, 1, 0, 0, 0, 0]  # as Keras's own initializer has it


def test_what_is_not_known_is_left_as_it_is(weights: Any) -> None:
    assert draw(weights, named("SomebodysOwn"), (2, 2)) is None
    assert draw(weights, None, (2, 2)) is None


def model(keras: Any) -> Any:
    made = keras.models.Sequential()
    made.add(keras.layers.Flatten(input_shape=(4, 4, 1)))
    made.add(keras.layers.Dense(3))
    return made


def test_a_model_gets_the_same_weights_for_the_same_seed_forever(tmp_path: Path) -> None:
    with guest(tmp_path, "proof.weights", "frameworks", "keras") as (weights, frameworks, keras):
        framework = frameworks.load()
        one, again, other = (model(keras) for _ in range(3))
        drawn = [weights.initialise(framework, made, seed) for made, seed in ((one, 7), (again, 7), (other, 8))]
        assert drawn[0] == drawn[1] == (INITIAL_SHA256, [])
        assert drawn[2][0] != drawn[0][0]
        kernel, bias = one.layers[1].get_weights()
        assert np.array_equal(kernel, again.layers[1].get_weights()[0])
        assert np.abs(kernel).max() <= np.sqrt(6 / 19) and kernel.std() > 0.2
        assert not bias.any()
        assert len(drawn[0][0]) == len(hashlib.sha256().hexdigest())


def test_weights_that_nobody_knows_how_to_draw_are_named(tmp_path: Path) -> None:
    with guest(tmp_path, "proof.weights", "frameworks", "keras") as (weights, frameworks, keras):
        framework = frameworks.load()
        made = model(keras)
        made.layers[1].kernel_initializer = named("SomebodysOwn")
        kernel = made.layers[1].weights[0]
        framework.set_values([kernel], [np.arange(48.0).reshape(16, 3)])
        _, left = weights.initialise(framework, made, 0)
        assert left == ["dense/kernel"]


def test_the_kernel_of_a_depthwise_convolution_is_drawn_by_its_initializers_own_name(tmp_path: Path) -> None:
    with guest(tmp_path, "proof.weights", "frameworks", "keras") as (weights, frameworks, keras):
        framework, made = frameworks.load(), model(keras)
        layer = made.layers[1]
        layer.depthwise_initializer = layer.kernel_initializer
        del layer.kernel_initializer
        assert weights.initialise(framework, made, 0)[1] == []


def test_a_weight_that_is_one_number_everywhere_needs_no_initializer(tmp_path: Path) -> None:
    with guest(tmp_path, "proof.weights", "frameworks", "keras") as (weights, frameworks, keras):
        framework, made = frameworks.load(), model(keras)
        made.layers[1].kernel_initializer = named("SomebodysOwn")
        kernel = made.layers[1].weights[0]
        framework.set_values([kernel], [np.full(framework.shape_of(kernel), 0.5)])
        assert weights.initialise(framework, made, 0)[1] == []
        assert (framework.values([kernel])[0] == 0.5).all()
