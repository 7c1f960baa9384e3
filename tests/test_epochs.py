"""An epoch: the first one is not steady."""

from __future__ import annotations

from kbench.analysis.times import step_times
from kbench.records.epochs import Epoch


def test_the_first_epoch_is_not_steady_and_neither_are_its_steps() -> None:
    reported = [Epoch(1, 9.0, 9, step_seconds=(5.0, 4.0)), Epoch(2, 1.0, 9), Epoch(3, 2.0, 9, step_seconds=(2.0,))]
    assert step_times.steady(reported) == reported[1:] == step_times.steady(reported[1:])
    assert step_times.steps_of(step_times.steady(reported)) == [2.0]
