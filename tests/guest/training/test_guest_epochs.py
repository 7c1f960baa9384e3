"""Epochs and passes through fit and predict: what counts as their time, and their scores."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import alone, guest

LATE = 5.0  # seconds that a model below goes on after its last batch
SPEC = {
    "batch_size": 2,
    "epochs": 2,
    "seed": 1,
    "augment": False,
    "device": "cpu",
    "ordered_updates": False,
    "input": "vector",
}
ALONE = alone("frameworks/workers").Workers()


@pytest.fixture
def epochs(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "training.epochs", "training.between_epochs", "clock") as (module, between, clock):
        now = SimpleNamespace(seconds=0.0)
        clocked = SimpleNamespace(perf_counter=lambda: now.seconds)
        with (
            mock.patch.object(module.arrays, "Buffer", mock.MagicMock()),
            mock.patch.object(module, "time", clocked),
            mock.patch.object(between, "time", clocked),
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

    def fit(self, ends: Callable[[int], None]) -> dict[str, float]:
        for batch in range(3):
            self.function(batch)
        ends(1)
        self.now.seconds += LATE
        return {"loss": 0.5, "accuracy": 0.25}


def train_epoch(model: Any, epoch: int, given: Any, clock: Any, callbacks: Any) -> dict[str, float]:
    clock.begin(epoch)
    return model.fit(clock.finish)  # type: ignore[no-any-return]


def framework(device: str, pending: Any = None) -> Any:
    def step_hook(model: Any, kind: str, wrap: Any) -> None:
        model.function = wrap(model.function)

    return SimpleNamespace(
        kernels_at_first=True,
        is_recurrent=lambda model: False,
        calls=lambda example, steps: steps, train_epoch=train_epoch,
        step_hook=step_hook, wait=lambda model, outputs=None: None, pending=pending or (lambda _: None),
        device=lambda model: device, settings_of_training=lambda *_: {}, unusual=lambda *_: [],
        validation_hook=lambda *_: None,
        data_of_fit=contextlib.nullcontext, data_of_step=lambda *_: None, steps_of_a_call=lambda _: 1,
        all_weights=lambda _: [], learning_rate=lambda _: None, updates=lambda _: None, workers=ALONE,
    )  # fmt: skip


def measured(epochs: ModuleType, kind: str, device: str = "cpu", pending: Any = None) -> list[dict[str, Any]]:
    """The epoch events of a training or of inference."""
    return [one for one in events_of(epochs, kind, framework(device, pending)) if one["event"] == "epoch"]


def events_of(epochs: ModuleType, kind: str, below: Any) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    part = SimpleNamespace(samples=6)
    if kind == "train":
        feed = SimpleNamespace(steps=3, samples=6, of_epoch=lambda epoch: {"x": None, "y": None})
        epochs.train(below, Late(epochs.now), SimpleNamespace(), SPEC, feed, None, events)
    else:
        epochs.infer(below, Late(epochs.now), SimpleNamespace(), SPEC, part, events)
    return written


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


@pytest.mark.parametrize("kind", ["train", "infer"])
def test_where_no_step_was_seen_the_row_says_so_and_no_number_of_steps_is_told(epochs: ModuleType, kind: str) -> None:
    below = framework("cpu")
    below.step_hook, below.unseen_steps = (lambda *_: None), "no step of {} was seen".format
    written = events_of(epochs, kind, below)
    assert [one["text"] for one in written if one["event"] == "note"] == [
        f"no step of {'train' if kind == 'train' else 'predict'} was seen"
    ]
    assert not [one for one in written if one["event"] == "received" and {"steps", "samples"} & set(one)]
    of_epochs = [one for one in written if one["event"] == "epoch"]
    assert [(one["epoch"], one["samples"]) for one in of_epochs] == [(1, 6), (2, 6)]
    assert not any({"step_seconds", "rounds"} & set(one) for one in of_epochs)


def part_of(*targets: np.ndarray) -> Any:
    return SimpleNamespace(samples=4, targets=targets, target_names=(), weights=None, inputs=[np.zeros((4, 2))])


def test_class_numbers_are_scored_by_kbenchs_own_arithmetic(epochs: ModuleType) -> None:
    model = SimpleNamespace(predict=lambda *_, **__: np.full((4, 2), 0.5))
    example = SimpleNamespace(LOSS="categorical_crossentropy")
    found = epochs.validating(None, model, example, SPEC, part_of(np.array([0, 1, 0, 1])))()
    scored = {"val_loss": pytest.approx(0.6931, abs=1e-4), "val_accuracy": 0.5}
    assert found == {"evaluation_seconds": 0.0, **scored}


def test_all_else_is_scored_by_keras_in_the_examples_own_words(epochs: ModuleType) -> None:
    asked: list[dict[str, Any]] = []

    def evaluate(model: Any, x: Any, y: Any, **given: Any) -> dict[str, float]:
        asked.append(given)
        return {"loss": 2.0, "age_mean_absolute_error": 1.5, "acc": 0.25}

    example = SimpleNamespace(LOSS="mse", METRICS={"age": ["mae", "accuracy"]})
    spec = {**SPEC, "batch_size": 8, "data": {"num_classes": 0}}
    framework = SimpleNamespace(evaluate=evaluate)
    found = epochs.validating(framework, None, example, spec, part_of(np.arange(4.0)))()
    assert (found["val_loss"], found["val_accuracy"], found["metrics"]) == (2.0, 0.25, {"val_age_mae": 1.5})
    assert [given["batch_size"] for given in asked] == [4], "a whole batch, or it would not be scored at all"


class Seen:
    """A callback that notes what it is told, and ends the training after an epoch."""

    def __init__(self, stops_after: int = 99) -> None:
        self.told: list[Any] = []
        self.stops_after = stops_after

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        self.told.append("begins")

    def on_train_end(self, logs: Any = None) -> None:
        self.told.append("ends")

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.told.append(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.told.append(sorted(logs))
        self.model.stop_training = epoch + 1 >= self.stops_after


def test_callbacks_see_one_training_with_its_validation_and_may_end_it(epochs: ModuleType) -> None:
    seen = Seen(stops_after=2)
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    feed = SimpleNamespace(steps=3, samples=6, of_epoch=lambda epoch: {"x": None, "y": None})
    example = SimpleNamespace(callbacks=lambda: [seen])
    scored = {"evaluation_seconds": 1.0, "val_loss": 0.5, "metrics": {"val_mae": 0.1}}
    with mock.patch.object(epochs, "validating", lambda *_: lambda: dict(scored)):
        epochs.train(framework("cpu"), Late(epochs.now), example, {**SPEC, "epochs": 5}, feed, "part", events)
    logs = ["accuracy", "loss", "val_loss", "val_mae"]
    assert seen.told == ["begins", 0, logs, 1, logs, "ends"]
    assert [one["epoch"] for one in written if one["event"] == "epoch"] == [1, 2]
    assert written[-1] == {"event": "stopped", "epoch": 2}


def test_callbacks_are_told_that_training_ends_by_itself(epochs: ModuleType) -> None:
    seen = Seen()
    events = SimpleNamespace(write=lambda event, **values: None)
    feed = SimpleNamespace(steps=3, samples=6, of_epoch=lambda epoch: {"x": None, "y": None})
    example = SimpleNamespace(callbacks=lambda: [seen])
    epochs.train(framework("cpu"), Late(epochs.now), example, {**SPEC, "epochs": 2}, feed, None, events)
    assert [one for one in seen.told if isinstance(one, str)] == ["begins", "ends"]


def test_of_a_pass_the_outputs_of_all_samples_are_told_and_how_far_they_change_from_pass_to_pass(
    epochs: ModuleType,
) -> None:
    passes = iter([np.arange(12.0).reshape(6, 2), np.arange(12.0).reshape(6, 2) + 1.1])
    model = Late(epochs.now)
    model.predict = lambda inputs, batch_size, verbose: (model.function(0), next(passes))[1]  # type: ignore[method-assign]
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    epochs.infer(framework("cpu"), model, SimpleNamespace(), SPEC, SimpleNamespace(samples=6), events)
    assert [one["outputs"] for one in written if one["event"] == "probe"] == [[[float(n) for n in range(12)]]]
    assert [one["outputs_off"] for one in written if one["event"] == "received"] == [0.0, pytest.approx(0.1)]
