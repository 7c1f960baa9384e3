"""Epochs and passes through fit and predict: what counts as their time, and their scores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import guest

LATE = 5.0  # seconds that a model below goes on after its last batch
SPEC = {"batch_size": 2, "epochs": 2, "seed": 1, "augment": False, "device": "cpu"}


@pytest.fixture
def epochs(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "drivers.epochs", "clock") as (module, clock):
        now = SimpleNamespace(seconds=0.0)
        clocked = SimpleNamespace(perf_counter=lambda: now.seconds)
        with (
            mock.patch.object(module.arrays, "Buffer", mock.MagicMock()),
            mock.patch.object(module, "time", clocked),
            mock.patch.object(clock, "time", clocked),
        ):
            module.now = now  # type: ignore[attr-defined]
            yield module


class Late:
    """What waits before it returns, as fit and predict of TensorFlow 2 do now and then; a batch takes a second."""

    def __init__(self, now: Any) -> None:
        self.now = now

    def function(self, batch: int) -> int:
        self.now.seconds += 1
        return batch

    def predict(self, inputs: Any, batch_size: int, verbose: int) -> np.ndarray:
        for batch in range(3):
            self.function(batch)
        self.now.seconds += LATE
        return np.zeros((6, 2))

    def fit(self, *_: Any, callbacks: list[Any], **__: Any) -> Any:
        for callback in callbacks:
            callback.on_epoch_begin(0)
        for batch in range(3):
            self.function(batch)
        for callback in callbacks:
            callback.on_epoch_end(0)
        self.now.seconds += LATE
        return SimpleNamespace(history={"loss": [0.5], "accuracy": [0.25]})


def framework(device: str, pending: Any = None) -> Any:
    def step_hook(model: Any, kind: str, wrap: Any) -> None:
        model.function = wrap(model.function)

    return SimpleNamespace(
        step_hook=step_hook, wait=lambda model, outputs=None: None, pending=pending or (lambda _: None),
        device=lambda model: device,
    )  # fmt: skip


def measured(epochs: ModuleType, kind: str, device: str = "cpu", pending: Any = None) -> list[dict[str, Any]]:
    """The epoch events of a training or of inference."""
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    part, below = SimpleNamespace(samples=6), framework(device, pending)
    if kind == "train":
        epochs.train(below, Late(epochs.now), SimpleNamespace(), SPEC, part, None, None, events)
    else:
        epochs.infer(below, Late(epochs.now), SPEC, part, events)
    return [one for one in written if one["event"] == "epoch"]


@pytest.mark.parametrize(("kind", "device"), [("train", "cpu"), ("train", "gpu"), ("infer", "cpu")])
def test_an_epoch_ends_with_its_last_batch_and_what_comes_after_is_written_apart(
    epochs: ModuleType, kind: str, device: str
) -> None:
    for one in measured(epochs, kind, device):
        assert (one["seconds"], one["teardown_seconds"], one["step_seconds"]) == (3, LATE, [1, 1, 1])


@pytest.mark.parametrize("device", ["gpu", "unknown"])
def test_a_pass_lasts_until_predict_returned_unless_its_function_surely_ended(
    epochs: ModuleType, device: str
) -> None:
    for one in measured(epochs, "infer", device):
        assert (one["seconds"], one["teardown_seconds"]) == (3 + LATE, 0)


def test_a_pass_ends_no_later_than_predict_returns_however_late_its_clock_is(epochs: ModuleType) -> None:
    asked, last_end = threading.Event(), epochs.StepClock.last_end

    def when_predict_has_returned(clock: Any) -> float | None:
        asked.set()
        return last_end(clock)  # type: ignore[no-any-return]

    def wait() -> None:
        asked.wait()
        epochs.now.seconds = 100.0

    with mock.patch.object(epochs.StepClock, "last_end", when_predict_has_returned):
        first, *_ = measured(epochs, "infer", pending=lambda _: (lambda: False, wait))
    assert (first["seconds"], first["teardown_seconds"]) == (3 + LATE, 0)
    assert sum(first["step_seconds"]) == 3 + LATE and min(first["step_seconds"]) >= 0


@pytest.mark.parametrize(
    ("loss", "scored"),
    [
        ("categorical_crossentropy", {"val_loss": pytest.approx(0.6931, abs=1e-4), "val_accuracy": 0.5}),
        ("mse", {}),
    ],
)
def test_only_a_model_that_tells_classes_apart_has_an_accuracy(
    epochs: ModuleType, loss: str, scored: dict[str, Any]
) -> None:
    model = SimpleNamespace(predict=lambda *_, **__: np.full((4, 2), 0.5))
    part = SimpleNamespace(samples=4, labels=np.array([0, 1, 0, 1]))
    found = epochs.Validation(model, SimpleNamespace(LOSS=loss), part, 2).scores()
    assert found == {"evaluation_seconds": 0.0, **scored}
