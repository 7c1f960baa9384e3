"""The batch of the first step, and the sums by which two changes are compared."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest


@pytest.mark.parametrize(
    ("size", "fixed", "samples"),
    [
        (32, False, [0, 1, 2, 3, 4, 5, 6, 7]),
        (32, True, [0, 1, 2, 3, 4, 5, 6, 7] * 4),
        (50, True, [0, 1, 2, 3, 4] * 10),
        (6, False, [0, 1, 2, 3, 4, 5]),
        (11, False, list(range(11))),  # no part of it fills it
    ],
)
def test_the_step_takes_a_few_samples_as_often_as_fill_a_fixed_batch(
    size: int, fixed: bool, samples: list[int], tmp_path: Any
) -> None:
    x = np.arange(size)
    batch = SimpleNamespace(
        model_inputs=lambda: [x, x], model_targets=lambda: {"y": x}, weighted=lambda: {"sample_weight": x}
    )
    with guest(tmp_path, "training.first_step", "proof.generic_point") as (module, generic_point):
        few = module.first_samples(batch, size, fixed, generic_point.GenericInputs(0, {}))
        assert [one.tolist() for one in few.model_inputs()] == [samples, samples]
        assert few.model_targets()["y"].tolist() == few.weighted()["sample_weight"].tolist() == samples
        assert few.samples == len(samples)


def test_two_changes_are_about_as_far_apart_as_their_sums(tmp_path: Any) -> None:
    random = np.random.RandomState(0)
    with guest(tmp_path, "sketches") as (module,):
        for size in (3, 1000):
            one, other = random.randn(size), random.randn(size)
            apart = np.linalg.norm(np.subtract(module.sums(one), module.sums(other)))
            assert apart / np.linalg.norm(one - other) == pytest.approx(1.0, abs=0.5)
        assert len(module.sums(np.zeros((3, 4, 5)))) == module.SUMS


def test_a_step_that_cannot_be_taken_again_is_noted_and_fails_nothing(tmp_path: Any) -> None:
    written: list[tuple[str, dict[str, Any]]] = []
    events = SimpleNamespace(
        write=lambda event, **values: written.append((event, values)), phase=lambda name: contextlib.nullcontext()
    )

    def fails() -> dict[str, Any]:
        raise ValueError("no labels")

    with guest(tmp_path, "training.first_step") as (module,):
        module.write_again(fails, events)
        module.write_again(lambda: {"loss": 1.0}, events)
    text = "its training step after the last epoch could not be taken again: ValueError: no labels"
    assert written == [("note", {"text": text}), ("step_again", {"loss": 1.0})]
