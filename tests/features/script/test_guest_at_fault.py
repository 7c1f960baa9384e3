"""Which public name of Keras raised an error: none where the program is at fault itself."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

# A part of a Keras: a function that has a public name, one below it that has none, and a layer that calls it.
KERAS = """
def _pooled(x, size):
    if size > len(x):
        raise ValueError(f"a window of {size}")
    return x

def average_pool(inputs, pool_size):
    return _pooled(inputs, pool_size)

class Layer:
    def __call__(self, x):
        try:
            return self.call(x)
        except Exception as error:  # as Keras does it, with other words and without its frames
            error = type(error)("Exception encountered when calling a layer").with_traceback(None)
            raise error from None

class AveragePooling1D(Layer):
    def call(self, inputs):
        return average_pool(inputs, 9)

def vectorized_map(function, elements):
    return [function(one) for one in elements]
"""
USER = """
class Own(layers.Layer):
    def __init__(self, function):
        self.call = function

def catches():
    try:
        ops.average_pool(x, 9)
    except ValueError:
        raise KeyError("of the program's own")
"""
PUBLIC = {"ops": ("average_pool", "vectorized_map"), "layers": ("Layer", "AveragePooling1D")}


@contextmanager
def program(folder: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """(the guest's module, the names of a program beside such a Keras)."""
    with guest(folder, "kbench_script.hosting.at_fault", "keras") as (at_fault, keras):
        source: dict[str, Any] = {"__name__": "keras.src.ops"}
        exec(compile(KERAS, "/lib/site-packages/keras/src/ops.py", "exec"), source)
        for module, names in PUBLIC.items():
            held = types.ModuleType(f"keras.{module}")
            vars(held).update({name: source[name] for name in names})
            sys.modules[held.__name__] = held
            setattr(keras, module, held)
        user = {"__name__": "__main__", "x": np.zeros((4, 3), "float32"), "np": np}
        user |= {"ops": keras.ops, "layers": keras.layers}
        exec(compile(USER, str(folder / "mine.py"), "exec"), user)
        yield at_fault, user


def told(folder: Path, code: str) -> dict[str, Any]:
    """What is told of the error that this line of a program raises."""
    with program(folder) as (at_fault, user):
        with pytest.raises(Exception) as raised:  # of any kind
            exec(compile(code, str(folder / "mine.py"), "exec"), user)
        found: dict[str, Any] = at_fault.told(raised.value)
        return found


@pytest.mark.parametrize(
    ("code", "within"),
    [
        ("ops.average_pool(x, 9)", ""),
        ("Own(lambda x: ops.average_pool(x, 9))(x)", ""),
        ("layers.AveragePooling1D()(x)", "layers.AveragePooling1D"),
        ("Own(lambda x: layers.AveragePooling1D()(x))(x)", "layers.AveragePooling1D"),
    ],
)
def test_the_innermost_public_name_is_told_with_the_layer_around_it(tmp_path: Path, code: str, within: str) -> None:
    assert told(tmp_path, code) == {
        "name": "ops.average_pool",
        "within": within,
        "error": "ValueError: a window of 9",
        "given": ["inputs float32 (4, 3)"],
    }


@pytest.mark.parametrize(
    "code",
    [
        "x.nothing()",
        "Own(lambda x: x @ np.ones((9, 9)))(x)",
        "layers.Layer()(x)",  # which has no call: no layer of Keras's is at fault
        "ops.vectorized_map(lambda one: one.nothing(), x)",  # Keras runs the program's own function
        "catches()",
    ],
)
def test_an_error_of_the_programs_own_blames_nobody(tmp_path: Path, code: str) -> None:
    assert told(tmp_path, code) == {}


def test_a_tensor_of_another_framework_is_the_programs_own_fault(tmp_path: Path) -> None:
    tensor = "type('Tensor', (), dict(__module__='torch', shape=(4,), dtype='float32', __len__=len))()"
    assert told(tmp_path, f"ops.average_pool({tensor}, 9)") == {}


def test_what_cannot_be_told_leaves_the_programs_error_as_it_is(tmp_path: Path) -> None:
    class Odd:
        @property
        def shape(self) -> None:
            raise KeyError

        def __len__(self) -> int:
            return 0

    with program(tmp_path) as (at_fault, user):
        user["x"] = Odd()
        with pytest.raises(ValueError, match="a window") as raised:
            exec(compile("ops.average_pool(x, 9)", str(tmp_path / "mine.py"), "exec"), user)
        at_fault.tell(raised.value, None)
