"""The guest tells what Keras itself refuses from what fails in the library below it."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

IN_KERAS = """
def refuses(value):
    if value < 0:
        raise ValueError(
            f"no {value}"
        )
    return below(value)

def fails(value):
    return value + "1"

def cannot(value):
    raise NotImplementedError("not here")
"""


def functions(file: str, code: str, **names: Any) -> dict[str, Callable[[int], Any]]:
    """Those of this code, as if it stood in the file."""
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    made = dict(names)
    exec(compile(code, file, "exec"), made)
    return made


def test_an_error_that_keras_raises_of_a_value_is_its_own_refusal(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_coverage.refusals", "keras") as (refusals, keras):
        assert keras.__file__ is not None
        other = functions("elsewhere.py", "def below(value):\n    raise ValueError('of the library below')\n")
        of_keras = functions(str(Path(keras.__file__).with_name("x.py")), IN_KERAS, below=other["below"])

        def is_own(name: str, value: int) -> bool:
            try:
                of_keras[name](value)
            except Exception as error:
                return bool(refusals.is_of_keras(error))
            raise AssertionError(name)

        assert is_own("refuses", -1)
        assert not is_own("refuses", 1) and not is_own("fails", 1) and not is_own("cannot", 1)

        def call(name: str) -> None:
            of_keras["refuses"](-1) if name == "image" else other["below"](1) if name == "sequence" else None

        assert refusals.outcome(["image", "sequence", "vectors", "volume"], call) == {
            "refused": {"image": "ValueError: no -1", "sequence": "ValueError: of the library below"},
            "validated": ["image"],
            "inputs": "vectors",
        }


class Model:
    """A model that says which weights it was given."""

    asked: dict[str, Any]

    def compile(self, **how: Any) -> None:
        pass

    def fit(self, x: Any, y: Any, **how: Any) -> Any:
        self.asked = how
        return SimpleNamespace(history={"hinge": [9.0, 7.0], "loss": [9.0, 5.0]})

    def evaluate(self, x: Any, y: Any, **how: Any) -> dict[str, float]:
        self.asked = how
        return {"hinge": 7.0, "loss": 5.0}


class Dense:
    weights: tuple[Any, ...] = ()

    def __call__(self, inputs: Any) -> Any:
        return inputs


def test_a_backend_that_does_not_train_says_by_evaluate_what_class_weights_make_of_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weights = np.ones((4, 5), "float32"), np.ones(4)
    labels = np.array([4, 0, 1, 0])
    framework = SimpleNamespace(set_values=lambda *given: None)
    with guest(tmp_path, "kbench_coverage.fitted") as (fitted,):
        model = Model()
        monkeypatch.setitem(sys.modules, "keras", keras_with(model))
        for y in (labels, np.eye(5)[labels]):
            for trains in (True, False):
                made = fitted.Fitted(framework, lambda: "hinge", {"name": "losses.Hinge", "masked": False}, trains)
                assert [float(one) for one in made([y, x, weights])] == [5.0, 5.0]
                if trains:
                    assert model.asked["class_weight"] == fitted.OF_CLASSES and model.asked["batch_size"] == 3
                else:
                    assert model.asked["sample_weight"] == pytest.approx([0.19, 0.37, 2.9, 0.37])


def keras_with(model: Model) -> Any:
    made: Any = ModuleType("keras")
    made.layers = SimpleNamespace(Input=lambda *args, **how: None, Dense=lambda *args, **how: Dense())
    made.models = SimpleNamespace(Model=lambda *args: model)
    made.optimizers = SimpleNamespace(SGD=lambda rate: None)
    return made
