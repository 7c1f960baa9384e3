"""What each framework without Keras answers, of the four interfaces: a new one answers what the others do."""

from __future__ import annotations

from pathlib import Path

import pytest
from framework_answers import INTERFACES, classes, unanswered

# What they leave out: their twins know their layers and weights themselves, and one step is no trial.
OF_TWINS = {
    "Weights": {"weights", "own_weights", "values", "shape_of", "dtype_of", "set_values"},
    "Steps": {"trial"},
    "Layers": {"describe"},
    "Device": set(),
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_framework_answers_all_that_is_asked_of_twins(interface: str, tmp_path: Path) -> None:
    found = classes(tmp_path, ["kbench_native.framework"])
    assert len(found) > 8
    for name, made in found.items():
        # Of one that nobody knows, steps are timed whole.
        unknown = {"pending"} if name == "framework.AnyFramework" else set()
        assert unanswered(made, interface) <= OF_TWINS[interface] | unknown, name


def test_the_steps_of_a_framework_that_nobody_knows_are_timed_whole(tmp_path: Path) -> None:
    found = classes(tmp_path, ["kbench_native.framework"])
    assert "pending" in unanswered(found["framework.AnyFramework"], "Device")
