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
        # At another point it takes the next ones, if there are more.
        next_ones = module.first_samples(batch, size, fixed, generic_point.GenericInputs(0, {}, point=1))
        number = len(set(samples))
        expected = [one + (number if number < size else 0) for one in samples]
        assert next_ones.model_targets()["y"].tolist() == next_ones.model_inputs()[0].tolist() == expected


@pytest.mark.parametrize(
    ("parts", "fixed", "whole", "samples", "of_second"),
    [
        (2, False, False, 8, [4, 5, 6, 7]),
        (3, False, False, 24, [*range(8)]),  # which cannot be divided into so many
        (2, False, True, 16, [*range(8)]),
        (2, True, False, 32, [*range(8)] * 2),
    ],
)
def test_workers_have_parts_of_the_few_samples_or_each_all_of_them(
    parts: int, fixed: bool, whole: bool, samples: int, of_second: list[int], tmp_path: Any
) -> None:
    x = np.arange(32)
    batch = SimpleNamespace(model_inputs=lambda: x, model_targets=lambda: x, weighted=dict)
    with guest(tmp_path, "training.first_step", "proof.generic_point", "training.feeding") as modules:
        module, generic_point, feeding = modules
        size = 16 if fixed else 32
        few = module.first_samples(batch, size, fixed, generic_point.GenericInputs(0, {}), parts, whole)
        assert few.samples == samples
        assert few.repeats == (samples > 8)
        spec = {"batch_size": samples, "workers": {"processes": parts, "rank": 1}}
        few.take(feeding.own_samples(spec, samples))
        assert few.model_inputs().tolist() == few.model_targets().tolist() == of_second


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

    def fails() -> list[dict[str, Any]]:
        raise ValueError("no labels")

    with guest(tmp_path, "training.first_step") as (module,):
        module.write_again(fails, events)
        module.write_again(lambda: [{"loss": 1.0}, {"loss": 2.0}], events)
    text = "its training step after the last epoch could not be taken again: ValueError: no labels"
    assert written == [("note", {"text": text}), ("step_again", {"loss": 1.0}), ("step_again", {"loss": 2.0})]


@pytest.mark.parametrize(("rate", "points"), [(0.1, [0]), (0.2, [0, 1])], ids=["the same", "another rate"])
def test_the_step_after_training_is_taken_at_a_second_point_if_the_first_one_has_changed(
    rate: float, points: list[int], tmp_path: Any
) -> None:
    initial = np.array([[0.5, 0.25]], "float32")
    weight, rates, began = [initial], [0.1], []

    def train(inputs: Any, targets: Any) -> float:
        began.append(weight[0])
        weight[0] = weight[0] - np.float32(rates[-1] * inputs.sum())
        return float(inputs.sum())

    trial = SimpleNamespace(
        asked=[], model=SimpleNamespace(train_on_batch=train), notes=list,
        restart=lambda level: weight.__setitem__(0, initial), steps=lambda samples: contextlib.nullcontext(),
        put_away=lambda: True,
    )  # fmt: skip
    layer = SimpleNamespace(weights=["kernel"], kernel="kernel")
    framework = SimpleNamespace(
        trial=lambda *given: trial, workers=SimpleNamespace(here=1, count=1, copy_steps=False, mean_of_step=float),
        set_values=lambda variables, values: weight.__setitem__(0, values[0]),
        weights=lambda model: [(layer, weight[:])], own_weights=lambda model: [(layer, [initial])],
        to_shared=lambda owner, name, value: value, from_shared=lambda owner, name, value: value,
    )  # fmt: skip
    x = np.arange(32, dtype="float32").reshape(16, 2)
    batch = SimpleNamespace(model_inputs=lambda: x, model_targets=lambda: x, weighted=dict)
    spec = {"seed": 0, "batch_size": 16, "device": "cpu", "input": "flat", "image_data_format": "channels_last"}
    written: list[tuple[str, dict[str, Any]]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append((event, values)))
    with guest(tmp_path, "training.first_step") as (module,):
        model, feed = SimpleNamespace(inputs=None, layers=[layer]), SimpleNamespace(batch=lambda number: batch)
        again = module.of_model(framework, model, SimpleNamespace(), spec, feed, events)
        assert [(event, values.get("point")) for event, values in written] == [("step", 0), ("step", 1)], written
        first, second = (values["changes"][0]["sums"] for _, values in written)
        assert first != second
        rates.append(rate)
        assert [values["point"] for values in again()] == points
    of_first, _, of_second, _, anew, *_ = (one.tolist() for one in began)
    assert anew == of_first != of_second, "each begins at its point, whatever the one before has trained"
