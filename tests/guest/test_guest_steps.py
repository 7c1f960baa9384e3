"""Each step's time, taken around the model's own function: nothing else of the model changes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import guest


class Keras2Model:
    """What fit does in Keras 2: the function is made once, and then called for every batch."""

    train_function: Any = None
    made = 0

    def _make_train_function(self) -> None:
        if self.train_function is None:
            self.made += 1
            self.train_function = lambda inputs: [inputs, self.made]

    def fit(self, batches: int) -> list[Any]:
        self._make_train_function()
        return [self.train_function(batch) for batch in range(batches)]


class MXNetModel(Keras2Model):
    """keras-mxnet makes its function anew in every fit."""

    def _make_train_function(self) -> None:
        self.train_function = None
        super()._make_train_function()


class Keras3Model:
    """What fit does in Keras 3; its function takes a state and gives it back."""

    train_function: Any = None
    made = 0

    def make_train_function(self, force: bool = False) -> None:
        if self.train_function is None or force:
            self.made += 1
            self.train_function = lambda state, batch: (batch, state + 1)

    def fit(self, batches: int) -> list[Any]:
        self.make_train_function()
        state, logs = 0, []
        for batch in range(batches):
            told, state = self.train_function(state, batch)
            logs.append((told, state))
        return logs


class NoFunction:
    def fit(self, batches: int) -> list[Any]:
        return list(range(batches))


@pytest.fixture
def measure(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "measure", "generations", "hardware") as (module, _, _):
        yield module


@pytest.fixture(params=[(Keras2Model, "2.3.1"), (MXNetModel, "2.2.4"), (Keras3Model, "3.15.1")])
def model(request: pytest.FixtureRequest, measure: ModuleType) -> Iterator[Any]:
    made, version = request.param
    with mock.patch.object(sys.modules["keras"], "__version__", version):
        yield made()


def test_every_fit_is_timed_and_gives_what_it_gave_before(measure: ModuleType, model: Any) -> None:
    untouched = type(model)()
    clock = measure.StepClock(model, "train", 3)
    for _ in range(3):
        start = measure.time.perf_counter()
        assert model.fit(3) == untouched.fit(3)
        end = measure.time.perf_counter()
        (told,) = clock.lap(start, end).values()
        assert len(told) == 3 and min(told) >= 0
        assert sum(told) == pytest.approx(end - start, abs=1e-6)
    assert model.made == untouched.made, "the function is not made more often than without the clock"


def test_the_first_step_of_all_waits_for_the_device_and_no_other(measure: ModuleType, model: Any) -> None:
    hardware = sys.modules["hardware"]
    waited: list[Any] = []
    with mock.patch.object(hardware, "synchronise", lambda _, outputs: waited.append(outputs)):
        clock = measure.StepClock(model, "train", 2)
        assert clock.first_end is None
        first, *_ = model.fit(2)
        end = clock.first_end
        model.fit(2)
    assert waited == [first] and clock.first_end == end is not None


def test_a_model_without_such_a_function_has_no_step_times_and_nothing_fails(measure: ModuleType) -> None:
    clock = measure.StepClock(NoFunction(), "train", 3)
    assert clock.last_end() is None
    assert clock.lap(0.0, 1.0) == {} and clock.first_end is None


@pytest.mark.parametrize("running", [None, (lambda: False, lambda: None)])
@pytest.mark.parametrize("batches", [2, 4])
def test_other_steps_than_batches_are_not_told(measure: ModuleType, model: Any, running: Any, batches: int) -> None:
    with returning_early(lambda outputs: running):
        clock = measure.StepClock(model, "train", 3)
        model.fit(batches)
        assert clock.lap(0.0, 1.0) == {}
        model.fit(3)
        assert len(clock.lap(0.0, 1e9)["step_seconds"]) == 3, "the next epoch's are"


def test_no_step_ends_after_its_epoch(measure: ModuleType, model: Any) -> None:
    clock = measure.StepClock(model, "train", 3)
    start = measure.time.perf_counter()
    model.fit(3)
    (told,) = clock.lap(start - 1, start).values()
    assert told == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def returning_early(running: Callable[[Any], Any]) -> Any:
    return mock.patch.object(sys.modules["hardware"], "running", running)


def test_where_a_step_returns_early_the_training_looks_and_never_waits(measure: ModuleType, model: Any) -> None:
    all_begun = threading.Event()
    asked: list[threading.Thread] = []
    waited: list[threading.Thread] = []

    def is_done() -> bool:
        asked.append(threading.current_thread())
        return all_begun.is_set()

    def wait() -> None:
        all_begun.wait()
        waited.append(threading.current_thread())

    with returning_early(lambda outputs: (is_done, wait)):
        clock = measure.StepClock(model, "train", 3)
        start = measure.time.perf_counter()
        model.fit(3)  # would never come back if it waited
        begun = measure.time.perf_counter()
        all_begun.set()
        (told,) = clock.lap(start, begun + 60).values()
    assert told[0] >= begun - start - 1e-6, "a step is not over before its work is"
    assert set(asked) == {threading.current_thread()}
    assert len(waited) == 3 and len(set(waited)) == 1 and waited[0] is not threading.current_thread()


def test_a_step_that_is_done_when_the_next_begins_or_returns_has_ended_then(measure: ModuleType, model: Any) -> None:
    clock = iter(range(100))
    answers = {0: [False, True], 1: [True], 2: []}  # of each step, whenever it is looked at
    waited: list[int] = []
    begun = iter(range(3))

    def running(outputs: Any) -> Any:
        step = next(begun)
        return lambda: answers[step].pop(0), lambda: waited.append(step)

    with (
        returning_early(running),
        mock.patch.object(measure, "time", SimpleNamespace(perf_counter=lambda: float(next(clock)))),
    ):
        timed = measure.StepClock(model, "train", 3)
        model.fit(3)
        (told,) = timed.lap(0.0, 99.0).values()
    # 0 is the end of the first step, which is waited for; then one reading for each step that is seen to be done.
    assert told == [1.0, 1.0, 97.0] and waited == [2] and not any(answers.values())


@pytest.mark.parametrize("fails", ["is_done", "wait"])
def test_a_step_that_cannot_be_seen_costs_its_epochs_step_times_alone(
    measure: ModuleType, model: Any, fails: str
) -> None:
    failing = [True]

    def fail(where: str) -> bool:
        if where == fails and failing and failing.pop():
            raise RuntimeError("Array has been deleted")
        return False

    with returning_early(lambda outputs: (lambda: fail("is_done"), lambda: fail("wait"))):
        clock = measure.StepClock(model, "train", 3)
        assert len(model.fit(3)) == 3
        assert clock.lap(0.0, 1e9) == {}
        model.fit(3)
        assert len(clock.lap(0.0, 1e9)["step_seconds"]) == 3


LATE = 0.05  # seconds that a model below goes on after its last batch


class Late(Keras3Model):
    """What waits before it returns, as fit and predict of TensorFlow 2 do now and then."""

    predict_function: Any = None

    def make_predict_function(self, force: bool = False) -> None:
        if self.predict_function is None or force:
            self.predict_function = lambda batch: batch

    def predict(self, inputs: Any, batch_size: int, verbose: int) -> np.ndarray:
        self.make_predict_function()
        for batch in range(3):
            self.predict_function(batch)
        time.sleep(LATE)
        return np.zeros((6, 2))

    def fit(self, *_: Any, callbacks: list[Any], **__: Any) -> Any:  # type: ignore[override]
        for callback in callbacks:
            callback.on_epoch_begin(0)
        super().fit(3)
        for callback in callbacks:
            callback.set_model(self)
            callback.on_epoch_end(0)
        time.sleep(LATE)
        return SimpleNamespace(history={"loss": [0.5], "accuracy": [0.25]})


@pytest.mark.parametrize(("kind", "device"), [("train", "cpu"), ("infer", "cpu"), ("infer", "gpu")])
def test_an_epoch_ends_with_its_last_batch_and_what_comes_after_is_told_apart(
    measure: ModuleType, kind: str, device: str
) -> None:
    told: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: told.append({"event": event, **values}))
    spec = {"batch_size": 2, "epochs": 2, "seed": 1, "augment": False, "device": device}
    part = SimpleNamespace(samples=6)
    with (
        mock.patch.object(measure.arrays, "Buffer", mock.MagicMock()),
        mock.patch.object(sys.modules["keras"], "__version__", "3.15.1"),
    ):
        if kind == "train":
            measure.train(Late(), SimpleNamespace(), spec, part, None, None, events)
        else:
            measure.infer(Late(), spec, part, events)
    epochs = [one for one in told if one["event"] == "epoch"]
    assert len(epochs) == 2
    for one in epochs:
        if device == "gpu":  # where the last batch's function may return before its work is done
            assert one["seconds"] >= LATE and one["teardown_seconds"] == 0
            continue
        assert one["teardown_seconds"] >= LATE > one["seconds"] == pytest.approx(sum(one["step_seconds"]), abs=1e-6)


def test_a_pass_ends_no_later_than_predict_returns_however_late_its_clock_is(measure: ModuleType) -> None:
    told: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: told.append({"event": event, **values}))
    spec = {"batch_size": 2, "epochs": 1, "device": "cpu"}
    asked, last_end = threading.Event(), measure.StepClock.last_end

    def when_predict_has_returned(clock: Any) -> float | None:
        asked.set()
        return last_end(clock)  # type: ignore[no-any-return]

    with (
        mock.patch.object(measure.arrays, "Buffer", mock.MagicMock()),
        mock.patch.object(sys.modules["keras"], "__version__", "3.15.1"),
        mock.patch.object(measure.StepClock, "last_end", when_predict_has_returned),
        returning_early(lambda outputs: (lambda: False, asked.wait)),
    ):
        measure.infer(Late(), spec, SimpleNamespace(samples=6), events)
    (one,) = (event for event in told if event["event"] == "epoch")
    assert one["teardown_seconds"] == 0 and one["seconds"] >= LATE
    assert sum(one["step_seconds"]) == pytest.approx(one["seconds"], abs=1e-6) and min(one["step_seconds"]) >= 0


GPU = SimpleNamespace(weights=[])


def framework(name: str, **modules: Any) -> Any:
    """The guest as on this Keras backend, beside a framework that answers so."""
    backend = mock.patch.object(sys.modules["keras"].backend, "backend", lambda: name)  # type: ignore[attr-defined]
    return backend, mock.patch.dict(sys.modules, modules)


def allocator_peak(name: str, model: Any, place: str = "gpu", **modules: Any) -> float | None:
    hardware: Any = sys.modules["hardware"]
    backend, known = framework(name, **modules)
    with backend, known, mock.patch.object(hardware, "device_in_use", lambda _: place):
        peak: float | None = hardware.allocator_peak_mib(model)
    return peak


def test_a_frameworks_allocator_is_asked_for_its_peak_on_a_gpu(measure: ModuleType) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(max_memory_allocated=lambda: 3 << 20))
    assert allocator_peak("torch", GPU, torch=torch) == 3.0
    device = mock.Mock(memory_stats=lambda: {"peak_bytes_in_use": 5 << 20})
    weight = SimpleNamespace(value=SimpleNamespace(devices=lambda: {device}))
    assert allocator_peak("jax", SimpleNamespace(weights=[weight])) == 5.0
    info = mock.Mock(return_value={"current": 1, "peak": 7 << 20})
    tf2 = SimpleNamespace(config=SimpleNamespace(experimental=SimpleNamespace(get_memory_info=info)))
    with mock.patch.object(sys.modules["keras"], "ops", object(), create=True):
        assert allocator_peak("tensorflow", GPU, tensorflow=tf2) == 7.0
    info.assert_called_once_with("GPU:0")


def test_tensorflow_1_is_asked_in_its_session(measure: ModuleType) -> None:
    tf1 = mock.MagicMock()
    session = SimpleNamespace(run=lambda asked: 9 << 20 if asked is tf1.contrib.memory_stats.MaxBytesInUse() else 0)
    keras: Any = sys.modules["keras"]
    with mock.patch.object(keras.backend, "get_session", lambda: session, create=True):
        assert allocator_peak("tensorflow", GPU, tensorflow=tf1) == 9.0
    tf1.device.assert_called_once_with("/gpu:0")


def test_on_the_cpu_and_where_nobody_tells_there_is_no_allocators_peak(measure: ModuleType) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(max_memory_allocated=lambda: 3 << 20))
    assert allocator_peak("torch", GPU, "cpu", torch=torch) is None
    assert allocator_peak("theano", GPU) is None
    assert allocator_peak("torch", GPU, torch=SimpleNamespace()) is None, "one that fails does not fail the cell"
    device = mock.Mock(memory_stats=lambda: None)
    weight = SimpleNamespace(value=SimpleNamespace(devices=lambda: {device}))
    assert allocator_peak("jax", SimpleNamespace(weights=[weight])) is None


def test_openvino_is_kept_from_bfloat16(measure: ModuleType) -> None:
    hardware: Any = sys.modules["hardware"]
    compile_model = mock.Mock()
    openvino = SimpleNamespace(compile_model=compile_model)
    backend, known = framework("openvino", openvino=openvino)
    with backend, known:
        hardware.keep_float32()
        compiled = openvino.compile_model("model", "CPU")  # as Keras calls it
    assert compiled is compile_model.return_value
    compile_model.assert_called_once_with("model", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    backend, known = framework("jax", openvino=openvino)
    with backend, known:
        before = openvino.compile_model
        hardware.keep_float32()
        assert openvino.compile_model is before


def test_what_returns_early_is_seen_by_its_outputs_alone(measure: ModuleType) -> None:
    hardware: Any = sys.modules["hardware"]
    assert hardware.running(["logs"]) is None, "most have waited already"
    loss, accuracy = mock.Mock(), mock.Mock()
    jax = mock.Mock(tree_util=SimpleNamespace(tree_leaves=lambda logs: list(logs.values())))
    backend, known = framework("jax", jax=jax)
    with backend, known:
        # The state is gone when the next step has begun.
        is_done, wait = hardware.running(({"loss": loss, "accuracy": accuracy}, "state"))
    for first, second in ((True, False), (False, True), (True, True)):
        loss.is_ready.return_value, accuracy.is_ready.return_value = first, second
        assert is_done() is (first and second)
    jax.block_until_ready.assert_not_called()
    wait()
    jax.block_until_ready.assert_called_once_with([loss, accuracy])
    for available in (False, True):
        torch = mock.Mock()
        torch.cuda.is_available.return_value = available
        backend, known = framework("torch", torch=torch)
        with backend, known:
            found = hardware.running({"loss": 1.0})
        event = torch.cuda.Event.return_value
        assert found == ((event.query, event.synchronize) if available else None)
        assert event.record.called is available
