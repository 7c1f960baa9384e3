"""What calls return is reported with what went in, and nothing of the program is changed for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest


class Layer:
    def __init__(self, *weights: np.ndarray) -> None:
        self.kernel = weights[0]
        self.weights = self.trainable_weights = list(weights)


class Model:
    metrics_names = ("loss", "acc")

    def __init__(self) -> None:
        self.layers = [Layer(np.full((2, 1), 3.0, "float32"))]
        self.noise = 0.0
        self.asked = 0

    def predict_on_batch(self, x: Any) -> Any:
        self.asked += 1
        self.noise *= -1
        return np.asarray(x) @ self.layers[0].kernel + self.noise

    def load_weights(self, path: str, by_name: bool = False) -> None:
        self.layers[0].kernel[...] = 5.0


class Framework:
    eager = False

    def own_weights(self, model: Model) -> list[tuple[Layer, list[np.ndarray]]]:
        return [(layer, [one.copy() for one in layer.weights]) for layer in model.layers]

    def to_shared(self, owner: object, name: str, value: np.ndarray) -> np.ndarray:
        return value[::-1]


class Written(list[dict[str, Any]]):
    def returned(self, site: str, **values: Any) -> None:
        self.append({"site": site, **values})

    def guarded(self, do: Callable[..., Any], *args: Any) -> Any:
        return do(*args)


X = np.arange(80, dtype="float64").reshape(40, 2)


def test_the_first_call_of_a_line_is_reported_with_its_inputs_and_weights(tmp_path: Path) -> None:
    model, written = Model(), Written()
    with guest(tmp_path, "kbench_script.watching.returned") as (returned,):
        kept = returned.ReturnedValues(Framework(), written)
        for _ in range(2):
            kept.keep("predict, line 3", "predict", model, lambda: {"x": X}, X @ model.layers[0].kernel)
    (only,) = written
    assert only["outputs"] == [[float(3 * row.sum()) for row in X[:32]]]
    assert only["inputs"]["norms"] == [pytest.approx(np.linalg.norm(X[:32]), rel=1e-6)]
    assert [(one["layer"], one["weight"]) for one in only["weights"]] == [("Layer 1", "kernel")]
    assert model.asked == 0  # while the program runs


def test_outputs_of_evaluate_are_computed_at_the_end_unless_the_model_was_trained(tmp_path: Path) -> None:
    model, trained, noisy, written = Model(), Model(), Model(), Written()
    noisy.noise = 1.0
    with guest(tmp_path, "kbench_script.watching.returned") as (returned,):
        kept = returned.ReturnedValues(Framework(), written)
        for line, one in enumerate((model, trained, noisy)):
            kept.keep(f"evaluate, line {line}", "evaluate", one, lambda: {"x": X, "batch_size": 8}, [0.5, 0.25])
        kept.trains(trained)
        before = len(written)
        kept.finish()
    assert [one["scores"] for one in written[:before]] == [{"loss": 0.5, "acc": 0.25}] * 3
    assert {one["site"]: one["random"] for one in written[before:]} == {"evaluate, line 0": 0, "evaluate, line 2": 1}
    assert written[before]["outputs"] == [[float(3 * row.sum()) for row in X[:8]]]


def test_weights_that_a_file_of_the_users_gave_are_marked(tmp_path: Path) -> None:
    own, later = tmp_path / "own.h5", tmp_path / "later.h5"
    own.write_text("")
    kind = type("Kind", (Model,), {"load_weights": Model.load_weights})
    with guest(tmp_path, "kbench_script.watching.returned") as (returned,):
        kept = returned.ReturnedValues(Framework(), Written())
        kept._began = own.stat().st_mtime + 1
        kept.watch(kind)
        model, other = kind(), kind()
        model.load_weights(str(own), by_name=True)
        later.write_text("")
        kept._began = later.stat().st_mtime - 1
        other.load_weights(str(later))  # the program itself has written it
        assert [one["loaded"] for one in kept.weights(model)] == [1]
        assert [one["loaded"] for one in kept.weights(other)] == [0]


@pytest.mark.parametrize(
    ("model", "found", "expected"),
    [
        (SimpleNamespace(metrics_names=["loss", "acc"]), [0.5, np.float32(0.25)], {"loss": 0.5, "acc": 0.25}),
        (SimpleNamespace(metrics_names=["loss"]), 0.5, {"loss": 0.5}),
        (SimpleNamespace(), {"loss": 0.5}, {"loss": 0.5}),
        (SimpleNamespace(metrics_names=["loss"]), [1.0, 2.0], {}),
        (
            SimpleNamespace(
                get_metrics_result=lambda: {"mae": 2.0, "loss": 1.0},
                metrics=[SimpleNamespace(name="loss"), SimpleNamespace(name="compile_metrics")],
            ),
            [1.0, 2.0],
            {"loss": 1.0, "mae": 2.0},
        ),
    ],
)
def test_scores_go_by_their_names(model: Any, found: Any, expected: dict[str, float], tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_script.watching.returned") as (returned,):
        assert returned.scores(model, found) == expected


def test_arguments_of_a_call_go_by_the_names_of_its_method(tmp_path: Path) -> None:
    def evaluate(self: Model, x: Any = None, y: Any = None, batch_size: int = 32) -> None: ...
    def predict_generator(self: Model, generator: Any, steps: int = 1) -> None: ...
    def called(self: Model, *args: Any, **kwargs: Any) -> None: ...

    with guest(tmp_path, "kbench_script.watching.wrapping") as (wrapping,):
        assert wrapping.given_to(evaluate, (1, 2, 8), {}) == {"x": 1, "y": 2, "batch_size": 8}
        assert wrapping.given_to(predict_generator, (1, 2), {}) == {"x": 1, "generator": 1, "steps": 2}
        assert wrapping.given_to(called, (1,), {"training": True}) == {"x": 1, "training": True}
