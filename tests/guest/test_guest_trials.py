"""A step on trial is as if it were the first one, whatever Keras keeps of steps before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guest_modules import alone

trials = alone("frameworks/trials")


class Framework:
    """Sets nothing."""

    def set_values(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        assert len(variables) == len(values)


class AddsUp:
    """A model of Keras 3.10: `train_on_batch` reports the mean of all steps since its metrics were reset."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def reset_metrics(self) -> None:
        self.losses.clear()

    def train_on_batch(self, loss: float) -> float:
        self.losses.append(loss)
        return sum(self.losses) / len(self.losses)


def test_a_step_on_trial_reports_its_own_loss_where_keras_adds_up_those_of_all_steps() -> None:
    trial = trials.Trial(Framework(), AddsUp())
    found = []
    for loss in (2.0, 4.0, 0.5):
        trial.restart(0.0)
        found.append(trial.model.train_on_batch(loss))
    assert found == [2.0, 4.0, 0.5]
