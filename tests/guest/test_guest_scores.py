"""Loss and accuracy from predictions, against numbers computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from guest_modules import alone
from hypothesis import given
from hypothesis import strategies as st

scores = alone("scores")
PREDICTED = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.5, 0.4, 0.1]], "float32")
LABELS = np.array([0, 1, 2, 1])


def test_cross_entropy_is_the_mean_of_minus_the_logarithm_of_what_was_right() -> None:
    by_hand = -(math.log(0.7) + math.log(0.8) + math.log(0.5) + math.log(0.4)) / 4
    assert scores.categorical_crossentropy(PREDICTED, LABELS) == pytest.approx(by_hand, rel=1e-6)


def test_the_classes_of_steps_count_like_those_of_samples() -> None:
    predicted = np.array([[[0.5, 0.5], [0.25, 0.75]], [[0.9, 0.1], [0.2, 0.8]]])
    labels = np.array([[0, 1], [1, 1]])
    right = -np.mean(np.log([0.5, 0.75, 0.1, 0.8]))
    assert scores.categorical_crossentropy(predicted, labels) == pytest.approx(right)
    assert scores.accuracy(predicted, labels) == 0.75


def test_binary_cross_entropy_counts_both_classes() -> None:
    predicted = np.array([[0.9], [0.2], [0.5]], "float32")
    by_hand = -(math.log(0.9) + math.log(0.8) + math.log(0.5)) / 3
    assert scores.binary_crossentropy(predicted, np.array([1, 0, 1])) == pytest.approx(by_hand, rel=1e-6)


def test_the_zeros_and_ones_of_steps_are_scored_whether_or_not_they_have_an_axis_of_their_own() -> None:
    predicted = np.array([[[0.9], [0.2]], [[0.5], [0.7]]], "float32")
    labels = np.array([[1, 0], [1, 0]], "float32")
    by_hand = -(math.log(0.9) + math.log(0.8) + math.log(0.5) + math.log(0.3)) / 4
    for one in (labels, labels[..., None]):
        assert scores.binary_crossentropy(predicted, one) == pytest.approx(by_hand, rel=1e-6)
        assert scores.accuracy(predicted, one) == 0.5
    assert scores.accuracy(predicted[:, 0], np.array([[1.0], [0.0]])) == 1.0


def test_certainty_is_clipped_as_keras_does_it() -> None:
    wrong = scores.categorical_crossentropy(np.array([[1.0, 0.0]], "float32"), np.array([1]))
    assert wrong == pytest.approx(-math.log(1e-7))
    assert scores.binary_crossentropy(np.array([[0.0]], "float32"), np.array([1])) == pytest.approx(-math.log(1e-7))


def test_accuracy_is_the_fraction_that_was_right() -> None:
    assert scores.accuracy(PREDICTED, LABELS) == 0.75
    assert scores.accuracy(np.array([[0.6], [0.4], [0.5]], "float32"), np.array([1, 1, 0])) == pytest.approx(2 / 3)


def test_every_loss_that_keras_names_so_is_known() -> None:
    assert set(scores.LOSSES) == {
        "categorical_crossentropy",
        "sparse_categorical_crossentropy",
        "binary_crossentropy",
    }


@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans()), min_size=1, max_size=20),
)
def test_two_classes_score_alike_as_one_probability_or_as_two(pairs: list[tuple[float, bool]]) -> None:
    p = np.array([[probability] for probability, _ in pairs], "float64")
    labels = np.array([int(label) for _, label in pairs])
    both = np.hstack([1 - p, p])
    assert scores.binary_crossentropy(p, labels) == pytest.approx(scores.categorical_crossentropy(both, labels))
    undecided = np.isclose(p[:, 0], 0.5)
    if not undecided.any():
        assert scores.accuracy(p, labels) == scores.accuracy(both, labels)
