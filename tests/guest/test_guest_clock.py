"""Step and epoch clocks: taken around the model's own function, and nothing else of the model changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from guest_modules import alone, guest


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
            logged, state = self.train_function(state, batch)
            logs.append((logged, state))
        return logs


class NoFunction:
    def fit(self, batches: int) -> list[Any]:
        return list(range(batches))


clocks = alone("clock")
perf_counter = time.perf_counter


@pytest.fixture(params=[(Keras2Model, "keras2"), (MXNetModel, "keras2"), (Keras3Model, "keras3")])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A model, and a framework on which each step is done when its function returns."""
    made, generation = request.param
    with guest(tmp_path, f"frameworks.{generation}", "frameworks.interface") as (module, interface):
        yield made(), type("Framework", (interface.DoneOnReturn, module.INTERFACE), {})()


@pytest.fixture
def model(case: tuple[Any, Any]) -> Any:
    return case[0]


@pytest.fixture
def framework(case: tuple[Any, Any]) -> Any:
    return case[1]


def test_every_fit_is_timed_and_gives_what_it_gave_before(framework: Any, model: Any) -> None:
    untouched = type(model)()
    clock = clocks.StepClock(framework, model, "train", 3)
    for _ in range(3):
        start = perf_counter()
        assert model.fit(3) == untouched.fit(3)
        end = perf_counter()
        laps = clock.lap(start, end)["step_seconds"]
        assert len(laps) == 3 and min(laps) >= 0
        assert sum(laps) == pytest.approx(end - start, abs=1e-6)
    assert model.made == untouched.made, "the function is not made more often than without the clock"


def test_the_first_step_of_all_waits_for_the_device_and_no_other(framework: Any, model: Any) -> None:
    waited: list[Any] = []
    with mock.patch.object(framework, "wait", lambda _, outputs: waited.append(outputs)):
        clock = clocks.StepClock(framework, model, "train", 2)
        assert clock.first_end is None
        first, *_ = model.fit(2)
        end = clock.first_end
        model.fit(2)
    assert waited == [first] and clock.first_end == end is not None


def test_a_model_without_such_a_function_has_no_step_times_and_nothing_fails(framework: Any) -> None:
    clock = clocks.StepClock(framework, NoFunction(), "train", 3)
    assert clock.last_end() is None
    assert "step_seconds" not in clock.lap(0.0, 1.0) and clock.first_end is None


@pytest.mark.parametrize("pending", [None, (lambda: False, lambda: None)])
@pytest.mark.parametrize("batches", [2, 4])
def test_other_steps_than_batches_are_not_reported(framework: Any, model: Any, pending: Any, batches: int) -> None:
    with returning_early(framework, lambda outputs: pending):
        clock = clocks.StepClock(framework, model, "train", 3)
        model.fit(batches)
        assert "step_seconds" not in clock.lap(0.0, 1.0)
        model.fit(3)
        assert len(clock.lap(0.0, 1e9)["step_seconds"]) == 3, "the next epoch's are"


def test_no_step_ends_after_its_epoch(framework: Any, model: Any) -> None:
    clock = clocks.StepClock(framework, model, "train", 3)
    start = perf_counter()
    model.fit(3)
    laps = clock.lap(start - 1, start)["step_seconds"]
    assert laps == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def returning_early(framework: Any, pending: Callable[[Any], Any]) -> Any:
    return mock.patch.object(framework, "pending", pending)


def test_where_a_step_returns_early_the_training_looks_and_never_waits(framework: Any, model: Any) -> None:
    all_begun = threading.Event()
    asked: list[threading.Thread] = []
    waited: list[threading.Thread] = []

    def is_done() -> bool:
        asked.append(threading.current_thread())
        return all_begun.is_set()

    def wait() -> None:
        all_begun.wait()
        waited.append(threading.current_thread())

    with returning_early(framework, lambda outputs: (is_done, wait)):
        clock = clocks.StepClock(framework, model, "train", 3)
        start = perf_counter()
        model.fit(3)  # would never come back if it waited
        begun = perf_counter()
        all_begun.set()
        laps = clock.lap(start, begun + 60)["step_seconds"]
    assert laps[0] >= begun - start - 1e-6, "a step is not over before its work is"
    assert set(asked) == {threading.current_thread()}
    assert len(waited) == 3 and len(set(waited)) == 1 and waited[0] is not threading.current_thread()


def test_where_the_number_of_steps_is_only_expected_a_thread_waits_for_the_last_of_them_and_more_may_come(
    framework: Any, model: Any
) -> None:
    waited: list[threading.Thread] = []
    with returning_early(
        framework, lambda outputs: (lambda: False, lambda: waited.append(threading.current_thread()))
    ):
        clock = clocks.StepClock(framework, model, "train", None)
        clock.expected = 3
        start = perf_counter()
        model.fit(4)
        laps = clock.lap(start, perf_counter())["step_seconds"]
    assert len(laps) == 4 and min(laps) >= 0
    assert [one is threading.current_thread() for one in waited] == [False, False, False, True]


def test_a_step_that_is_done_when_the_next_begins_or_returns_has_ended_then(framework: Any, model: Any) -> None:
    clock = iter(range(100))
    answers = {0: [False, True], 1: [True], 2: []}  # of each step, whenever it is looked at
    waited: list[int] = []
    begun = iter(range(3))

    def pending(outputs: Any) -> Any:
        step = next(begun)
        return lambda: answers[step].pop(0), lambda: waited.append(step)

    with (
        returning_early(framework, pending),
        mock.patch.object(clocks, "time", SimpleNamespace(perf_counter=lambda: float(next(clock)))),
    ):
        timed = clocks.StepClock(framework, model, "train", 3)
        model.fit(3)
        laps = timed.lap(0.0, 99.0)["step_seconds"]
    # 0 is the end of the first step, which is waited for; then one reading for each step that is seen to be done.
    assert laps == [1.0, 1.0, 97.0] and waited == [2] and not any(answers.values())


@pytest.mark.parametrize("fails", ["pending", "is_done", "wait"])
def test_a_step_that_cannot_be_seen_costs_its_epochs_step_times_alone(framework: Any, model: Any, fails: str) -> None:
    failing = [True]

    def fail(where: str) -> bool:
        if where == fails and failing and failing.pop():
            raise RuntimeError("Array has been deleted")
        return False

    def pending(outputs: Any) -> Any:
        fail("pending")
        return lambda: fail("is_done"), lambda: fail("wait")

    with returning_early(framework, pending):
        clock = clocks.StepClock(framework, model, "train", 3)
        assert len(model.fit(3)) == 3
        assert "step_seconds" not in clock.lap(0.0, 1e9)
        model.fit(3)
        assert len(clock.lap(0.0, 1e9)["step_seconds"]) == 3


def test_a_first_step_that_cannot_be_waited_for_has_no_end_and_nothing_fails(framework: Any, model: Any) -> None:
    with mock.patch.object(framework, "wait", mock.Mock(side_effect=RuntimeError("Array has been deleted"))) as wait:
        clock = clocks.StepClock(framework, model, "train", 3)
        assert len(model.fit(3)) == 3
    assert clock.first_end is None and "step_seconds" not in clock.lap(0.0, 1e9)
    wait.assert_called_once()


def test_a_framework_that_nobody_knows_has_no_step_times_but_a_first_end(framework: Any, model: Any) -> None:
    unknown = type(framework).__mro__[2]()
    weight = mock.Mock()
    model.trainable_weights = [weight]
    with mock.patch.object(unknown, "values", mock.Mock()) as values:
        clock = clocks.StepClock(unknown, model, "train", 3)
        model.fit(3)
    values.assert_called_once_with([weight])
    assert clock.first_end is not None and clock.last_end() is None and "step_seconds" not in clock.lap(0.0, 1e9)


def test_an_epoch_ends_when_the_device_is_done() -> None:
    now = [0.0]

    def wait(model: Any) -> None:
        assert model == "model"
        now[0] += 5

    with mock.patch.object(clocks, "time", SimpleNamespace(perf_counter=lambda: now[0])):
        clock = clocks.EpochClock(SimpleNamespace(wait=wait), "model")
        clock.begin(0)
        now[0] += 2
        clock.finish(0)
    assert clock.end - clock.start == 7


class FakeTurns:
    """A turn is over before the steps of these numbers, and the next one comes an hour later."""

    def __init__(self, now: Any, *over_before: int) -> None:
        self.now, self.over_before = now, over_before
        self.turn, self.asked = (1, 0), 0
        self.slow = False

    def is_over(self) -> bool:
        self.asked += 1
        return self.asked in self.over_before

    def is_settled(self) -> bool:
        return False

    def yield_turn(self) -> tuple[float, float]:
        ended = self.now.seconds
        self.now.seconds += 3600
        self.turn = self.turn[0] + 1, 0
        return ended, self.now.seconds


class Steps:
    """A model whose steps take the seconds that it is given."""

    train_function: Any = None

    def __init__(self, now: Any, *seconds: float) -> None:
        self.now, self.seconds = now, seconds
        self.device_is_busy = False

    def step(self, seconds: float) -> float:
        assert self.now.seconds % 3600 < 100, "a pause is not on the clock"
        self.now.seconds += seconds
        self.device_is_busy = True
        return seconds

    def fit(self) -> None:
        for seconds in self.seconds:
            self.step(seconds)


@pytest.mark.parametrize("early", [False, True])
def test_pauses_count_for_nothing_and_first_steps_after_them_as_much_as_others(early: bool) -> None:
    now = SimpleNamespace(seconds=0.0)
    model = Steps(now, 5.0, 0.01, 0.01, 0.4, 0.01, 0.04, 0.02, 0.01, 0.03)
    busy = []

    def wait(model: Any, outputs: Any = None) -> None:
        model.device_is_busy = False

    def step_hook(model: Any, kind: str, wrap: Any) -> None:
        model.step = wrap(model.step)

    def yield_turn() -> tuple[float, float]:
        busy.append(model.device_is_busy)
        return FakeTurns.yield_turn(turns)

    pending = (lambda: False, lambda: None) if early else None
    framework = SimpleNamespace(wait=wait, step_hook=step_hook, pending=lambda outputs: pending)
    turns = FakeTurns(now, 3, 5)
    with (
        mock.patch.object(clocks, "time", SimpleNamespace(perf_counter=lambda: now.seconds)),
        mock.patch.object(turns, "yield_turn", yield_turn),
    ):
        clock = clocks.StepClock(framework, model, "train", 9, turns)
        model.fit()
        found = clock.lap(0.0, now.seconds)
    assert busy == [False, False], "no work is left on the device"
    assert sum(found["step_seconds"]) == pytest.approx(found["seconds"], abs=1e-6)
    if not early:  # a second step is warm at once if the first took longer than 0.05 s
        assert found["step_seconds"] == pytest.approx([5.0, *[0.01] * 7, 0.03])
        assert found["rounds"] == [[1, 1, 3, 0], [2, 4, 5, 0], [3, 7, 9, 0]]


@pytest.mark.parametrize(
    "seconds",
    [
        (0.9, *[0.003] * 6, 0.6),  # the framework compiles for the last batch, which is smaller
        (0.9, *[0.003] * 6, 0.001),
        (0.9, 0.003, 0.003, *[0.06] * 6),
    ],
)
def test_an_epoch_never_takes_longer_than_was_measured_nor_as_long_as_its_only_other_step(
    seconds: tuple[float, ...],
) -> None:
    found = timed_after_a_pause(*seconds)
    assert found["step_seconds"] == pytest.approx(seconds) and found["seconds"] == pytest.approx(sum(seconds))


def timed_after_a_pause(*seconds: float, pause_before: int = 1) -> dict[str, Any]:
    """What `lap` gives of an epoch with such steps and a pause before the one of that number."""
    now = SimpleNamespace(seconds=0.0)
    model = Steps(now, *seconds)

    def step_hook(model: Any, kind: str, wrap: Any) -> None:
        model.step = wrap(model.step)

    framework = SimpleNamespace(wait=lambda *_: None, step_hook=step_hook, pending=lambda outputs: None)
    with mock.patch.object(clocks, "time", SimpleNamespace(perf_counter=lambda: now.seconds)):
        clock = clocks.StepClock(framework, model, "train", len(seconds), FakeTurns(now, pause_before))
        model.fit()
        found: dict[str, Any] = clock.lap(0.0, now.seconds)
    return found


def test_a_first_step_after_a_pause_counts_if_it_takes_so_long_that_the_pause_is_nothing_beside_it() -> None:
    found = timed_after_a_pause(1.0, 1.0, 0.6, 1.0, pause_before=2)
    assert found["step_seconds"] == pytest.approx([1.0, 1.0, 0.6, 1.0])
    assert found["rounds"] == [[1, 1, 2, 0], [2, 2, 4, 0]]


def test_each_step_that_still_runs_when_a_turn_ends_has_its_own_time() -> None:
    now = SimpleNamespace(seconds=0.0)
    ends = [0.0]  # of the steps on the device, one after the other
    wanted = [5.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7]

    def wait_until(end: float) -> None:
        now.seconds = max(now.seconds, end)

    class Early:
        """A model whose function returns at once."""

        def step(self, seconds: float) -> float:
            ends.append(max(now.seconds, ends[-1]) + seconds)
            return ends[-1]

    def step_hook(model: Any, kind: str, wrap: Any) -> None:
        model.step = wrap(model.step)

    framework = SimpleNamespace(
        wait=lambda model, outputs=None: wait_until(ends[-1]),
        step_hook=step_hook,
        pending=lambda end: (lambda: now.seconds >= end, lambda: wait_until(end)),
    )
    with mock.patch.object(clocks, "time", SimpleNamespace(perf_counter=lambda: now.seconds)):
        model = Early()
        clock = clocks.StepClock(framework, model, "train", len(wanted), FakeTurns(now, 4))
        for seconds in wanted:
            model.step(seconds)
        clock.last_end()
        found = clock.lap(0.0, now.seconds)
    usual = 0.3  # in place of the first step after the pause: the median of 0.1, 0.2, 0.3, 0.6, 0.7
    assert found["step_seconds"] == pytest.approx([5.0, 0.1, 0.2, 0.3, usual, 0.6, 0.7])


def test_where_steps_are_slow_training_runs_ahead_by_a_few_alone(framework: Any, model: Any) -> None:
    waited: list[int] = []
    begun = iter(range(99))

    def pending(outputs: Any) -> Any:
        step = next(begun)
        return lambda: step in waited, lambda: waited.append(step)

    with returning_early(framework, pending):
        turns = FakeTurns(SimpleNamespace(seconds=0.0))
        turns.slow = True
        clocks.StepClock(framework, model, "train", 20, turns)
        model.fit(10)
        assert waited == list(range(10 - clocks.RUN_AHEAD - 1))
