"""Keras's initializers, drawn with numpy: each has its own distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guest_modules import alone

initializers = alone("proof/initializers")


def draw(class_name: str, config: dict[str, Any], shape: tuple[int, ...]) -> Any:
    return initializers.draw(class_name, config, shape, np.random.RandomState(0))


def test_glorot_uniform_fills_its_limits() -> None:
    value = draw("VarianceScaling", {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform"}, (300, 200))
    limit = np.sqrt(6 / 500)
    assert np.abs(value).max() <= limit
    assert np.abs(value).max() == pytest.approx(limit, rel=0.001)
    assert value.std() == pytest.approx(limit / np.sqrt(3), rel=0.01)


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal"])
def test_he_normal_has_its_deviation_and_no_tails(distribution: str) -> None:
    value = draw("VarianceScaling", {"scale": 2.0, "mode": "fan_in", "distribution": distribution}, (3, 3, 64, 128))
    deviation = np.sqrt(2 / (3 * 3 * 64))
    assert value.std() == pytest.approx(deviation, rel=0.01)
    assert np.abs(value).max() <= 2 * deviation / initializers.TRUNCATED_STDDEV


def test_a_normal_distribution_that_is_not_truncated_has_tails() -> None:
    value = draw(
        "VarianceScaling", {"scale": 1.0, "mode": "fan_in", "distribution": "untruncated_normal"}, (100, 1000)
    )
    assert value.std() == pytest.approx(0.1, rel=0.01)
    assert np.abs(value).max() > 0.35


def test_truncated_normal_ends_at_two_deviations() -> None:
    value = draw("TruncatedNormal", {"mean": 1.0, "stddev": 0.5}, (200, 200))
    assert np.abs(value - 1.0).max() <= 1.0
    assert value.mean() == pytest.approx(1.0, abs=0.01)
    assert (value - 1.0).std() == pytest.approx(0.5 * initializers.TRUNCATED_STDDEV, rel=0.01)


@pytest.mark.parametrize("shape", [(64, 16), (16, 64), (3, 3, 2, 8)])
def test_orthogonal_columns_or_rows_are_orthonormal(shape: tuple[int, ...]) -> None:
    value = draw("Orthogonal", {"gain": 1.0}, shape)
    assert value.shape == shape
    flat = value.reshape(-1, shape[-1])
    shorter = flat if flat.shape[0] <= flat.shape[1] else flat.T
    np.testing.assert_allclose(shorter @ shorter.T, np.eye(len(shorter)), atol=1e-5)


def test_orthogonal_has_its_gain_and_does_not_hang_on_the_last_bits() -> None:
    one, two = (draw("Orthogonal", {"gain": gain}, (8, 8)) for gain in (1.0, 2.0))
    np.testing.assert_allclose(two, 2 * one, atol=1e-5)
    assert np.array_equal(one * 2**20, np.round(one * 2**20))


def test_an_embedding_is_uniform_within_a_twentieth() -> None:
    value = draw("RandomUniform", {"minval": -0.05, "maxval": 0.05}, (500, 32))
    assert np.abs(value).max() <= 0.05
    assert value.std() == pytest.approx(0.05 / np.sqrt(3), rel=0.02)


@pytest.mark.parametrize(
    ("class_name", "config", "expected"), [("Zeros", {}, 0.0), ("Ones", {}, 1.0), ("Constant", {"value": 0.25}, 0.25)]
)
def test_constants_are_constant(class_name: str, config: dict[str, Any], expected: float) -> None:
    assert np.array_equal(draw(class_name, config, (2, 3)), np.full((2, 3), expected))


def test_a_name_alone_has_the_settings_of_keras() -> None:
    settings = {"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal"}
    assert np.array_equal(draw("HeNormal", {}, (8, 4)), draw("VarianceScaling", settings, (8, 4)))
    assert np.array_equal(draw("RandomUniform", {}, (9,)), draw("RandomUniform", {"minval": -0.05}, (9,)))
    assert draw("SomebodysOwn", {}, (2, 2)) is None
