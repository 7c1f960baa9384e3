"""The words by which backends' files name models."""

from __future__ import annotations

from typing import Any

import pytest

from kbench.records.layer_words import UNEVEN, words


def test_classes_texts_and_what_is_on() -> None:
    settings: dict[str, Any] = {
        "activation": "tanh",
        "stateful": True,
        "units": 1,
        "cell": {"reset_after": False, "mode": "x"},
    }
    assert words([("LSTM", settings), ("Dense", {})]) == {"LSTM", "Dense", "tanh", "stateful", "x"}


@pytest.mark.parametrize(
    ("settings", "uneven"),
    [
        ({"padding": "same", "kernel_size": [3, 3], "strides": [2, 2]}, True),
        ({"padding": "same", "pool_size": [2, 2], "strides": [1, 1]}, True),
        ({"padding": "same", "kernel_size": 4}, True),
        ({"padding": "same", "kernel_size": [3, 3], "strides": [1, 1]}, False),
        ({"padding": "valid", "kernel_size": [2, 2], "strides": [2, 2]}, False),
        ({}, False),
    ],
)
def test_which_layers_pad_unevenly(settings: dict[str, Any], uneven: bool) -> None:
    assert (UNEVEN in words([("Conv2D", settings)])) is uneven
