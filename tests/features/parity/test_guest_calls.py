"""What a user's own layers call of keras.ops: each call with what it is given and returns, and Keras as it was."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
from guest_modules import guest

OPS = """
import numpy as np
def pad(x, width):
    return np.pad(x, width)
def reshape(x, shape):
    return np.reshape(x, shape)
def mean(x):
    return divide(np.sum(x), np.size(x))  # which is one call of the user's
def divide(one, other):
    return one / other
"""
USER = """
class Own:
    name = "own"
    def call(self, x):
        return ops.mean(pad(x, 1)) * x
class Fails(Own):
    def call(self, x):
        return ops.reshape(ops.pad(x, 1), (999,))
"""


class Framework:
    eager = True

    def values(self, weights: list[Any]) -> list[Any]:
        return [np.array(one) for one in weights]


class Model:
    __module__ = "keras.models"

    def __init__(self, layer: Any) -> None:
        self.layers = [layer]

    def __call__(self, x: Any, training: bool) -> Any:
        return self.layers[0].call(x)


def recorded(folder: Path, layer: str) -> list[tuple[str, list[Any], list[Any]]]:
    """What is recorded of a model with this layer, for six samples."""
    with guest(folder, "keras", "kbench_parity.calls") as (keras, calls):
        ops = keras.ops = types.ModuleType("keras.ops")  # type: ignore[attr-defined]
        ops.image = types.ModuleType("keras.ops.image")  # type: ignore[attr-defined]
        exec(OPS, vars(ops))
        user: dict[str, Any] = {"__name__": "__main__", "ops": ops, "pad": ops.pad}
        exec(USER, user)
        before = dict(vars(ops)), dict(user)
        found: list[tuple[str, list[Any], list[Any]]]
        found = calls.recorded(Framework(), Model(user[layer]()), np.ones((6, 2)))
        assert (vars(ops), user) == before, "all is as it was"
        return found


def test_calls_by_any_way_are_recorded_in_their_order_and_not_what_they_call(tmp_path: Path) -> None:
    (padded, given, returned), (mean, of_padded, its) = recorded(tmp_path, "Own")
    assert (padded, mean) == ("ops.pad", "ops.mean")
    assert [one.shape for one in given] == [(4, 2), ()] and given[1] == 1
    assert returned[0].shape == (6, 4) and np.array_equal(of_padded[0], returned[0]) and its[0] == 8 / 24


def test_what_was_called_before_an_error_is_kept(tmp_path: Path) -> None:
    assert [name for name, _, _ in recorded(tmp_path, "Fails")] == ["ops.pad"]


def test_of_large_arrays_numbers_are_drawn_alike_beside_their_extremes(tmp_path: Path) -> None:
    with guest(tmp_path, "keras", "kbench_parity.calls") as (_, calls):
        large = np.arange(100_000.0)
        kept = calls.kept(large)
        assert np.array_equal(kept, calls.kept(large.copy())) and kept[-2:].tolist() == [0, 99_999]
        assert calls.kept(np.array([1 + 2j])).tolist() == [1, 2]
