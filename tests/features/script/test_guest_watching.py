"""What --explain changes in a program, and what it measures for that."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import guest


class Model:
    def compile(self, optimizer: str, jit_compile: bool = False, run_eagerly: bool = False) -> None:
        self.jit_compile = jit_compile
        self.run_eagerly = run_eagerly

    jit_compile = False
    run_eagerly = False


@pytest.mark.parametrize(
    ("supported", "asked", "expected"),
    [
        (True, {"run_eagerly": True}, (False, False)),
        (True, {"jit_compile": True}, (False, False)),
        (True, {}, (True, False)),
        (False, {"run_eagerly": True}, (True, True)),  # where it changes nothing, jit_compile may
    ],
)
def test_a_model_is_compiled_otherwise(
    supported: bool, asked: dict[str, bool], expected: tuple[bool, bool], tmp_path: Path
) -> None:
    changed = type("Changed", (Model,), {})
    with guest(tmp_path, "kbench_script.watching.changes") as (changes,):
        changes.compile_otherwise(changed, SimpleNamespace(supports_run_eagerly=supported))
    model: Any = changed()
    model.compile("sgd", **asked)
    assert (model.jit_compile, model.run_eagerly) == expected


def test_the_numbers_of_a_batch_are_copied_and_texts_are_not(tmp_path: Path) -> None:
    numbers, texts = np.ones(3), np.array(["a text"])
    framework, convert = mock.Mock(eager=True), mock.Mock(side_effect=np.array)
    ops = SimpleNamespace(convert_to_tensor=convert, convert_to_numpy=mock.Mock())
    with guest(tmp_path, "keras", "kbench_script.watching.changes") as (keras, changes):
        keras.ops = ops  # type: ignore[attr-defined]
        assert changes.transfer_seconds(framework, "model", ([numbers, texts], None, None)) > 0
        assert convert.call_args_list[0].args[0] is numbers and convert.call_count == 2 * changes.COPIES
        assert framework.wait.call_count == ops.convert_to_numpy.call_count == changes.COPIES
        framework.eager = False
        assert changes.transfer_seconds(framework, "model", (numbers, None, None)) is None


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch", "brandnew"])
def test_a_model_without_weights_has_no_fallbacks(tmp_path: Path, backend: str) -> None:
    model = SimpleNamespace(layers=[], weights=[], jit_compile=False)
    with guest(tmp_path, "kbench_script.watching.fallbacks", backend=backend) as (fallbacks,):
        assert fallbacks.fallbacks(SimpleNamespace(eager=True), model) == []


def test_equal_values_are_the_same_data_in_any_precision(tmp_path: Path) -> None:
    single, halves = np.eye(3, dtype="float32"), np.full((2, 2), 0.1)
    with guest(tmp_path, "kbench_script.watching.about") as (about,):

        def sha256(y: np.ndarray) -> str:
            found: str = about.training({"x": np.zeros((3, 1), "float32"), "y": y}, True)["content_sha256"]
            return found

        assert sha256(single) == sha256(single.astype("float64")) != sha256(single * 2)
        assert sha256(halves) != sha256(halves.astype("float32").astype("float64"))


def test_weights_of_samples_and_classes_are_told_where_they_are_numbers(tmp_path: Path) -> None:
    ones, twos = np.ones(3), np.full(3, 2.0)
    with guest(tmp_path, "kbench_script.watching.about") as (about,):
        assert about.weighting({}) == {"class_weight": "{}", "sample_weights": "none"}
        told = [about.weighting({"sample_weight": one})["sample_weights"] for one in (ones, ones.copy(), twos)]
        assert told[0] == told[1] != told[2] and "none" not in told
        given = {"class_weight": {np.int64(1): 2, 0: np.float32(1)}, "sample_weight": {"a": [1, 2], "b": ones}}
        assert about.weighting(given) == {"class_weight": '{"0": 1.0, "1": 2.0}'}, "nothing of what has no hash"


def test_the_spread_of_larger_matrices_is_told(tmp_path: Path) -> None:
    one, other = SimpleNamespace(), type("GRU", (), {})()
    values = [(one, [np.eye(8), np.ones(80)]), (other, [np.zeros((2, 3)), np.tile([1.0, 3.0], (8, 4))])]
    framework = SimpleNamespace(weights=lambda model: values)
    with guest(tmp_path, "kbench_script.watching.models") as (models,):
        assert models._spreads(framework, None) == {
            "SimpleNamespace 1": pytest.approx(np.eye(8).std()),
            "GRU 1 (weight 2)": 1.0,
        }


def test_steps_that_are_taken_together_are_told_one_by_one(tmp_path: Path) -> None:
    timed = {"seconds": 5.0, "step_seconds": [2.0, 2.0, 1.0], "rounds": [[1, 1, 2, 0], [2, 2, 3, 1]]}
    with guest(tmp_path, "kbench_script.watching.overhead") as (overhead,):
        assert overhead.in_steps(timed, 1, 3) is timed
        told = overhead.in_steps(timed, 4, 9)
        unknown = overhead.in_steps({"seconds": 5.0}, 4, 9)
    assert told == {"seconds": 5.0, "step_seconds": [0.5] * 8 + [1.0], "rounds": [[1, 4, 8, 0], [2, 8, 9, 1]]}
    assert unknown == {"seconds": 5.0}


@pytest.mark.parametrize(
    ("given", "steps"),
    [
        ({"x": np.ones((45 * 8 - 3, 5)), "batch_size": 8}, 45),
        ({"x": np.ones((55, 5)), "validation_split": 0.1}, 2),  # 49 of them
        ({"x": np.ones((64, 5)), "steps_per_epoch": 7}, 7),
        ({"x": SimpleNamespace(cardinality=lambda: 5)}, 5),
        ({"x": SimpleNamespace(cardinality=lambda: -2)}, 0),  # as tf.data says that it does not know
        ({"generator": range(6)}, 6),
        ({"x": (row for row in ())}, 0),
    ],
)
def test_how_many_steps_an_epoch_has_is_known_from_what_it_is_given(
    given: dict[str, Any], steps: int, tmp_path: Path
) -> None:
    with guest(tmp_path, "kbench_script.watching.about") as (about,):
        assert about.steps_in_epoch(given) == steps
        facts = {"samples": 55, "batch_size": 32, "validation_split": 0.1}
        assert about.samples(facts, 2) == 49, "as Keras rounds"


def test_the_programs_clock_stands_still_while_kbench_works_or_others_have_their_turn(tmp_path: Path) -> None:
    with (
        guest(tmp_path, "kbench_script.watching.overhead", "turns") as (overhead, turns),
        mock.patch.object(overhead, "time") as clock,
    ):
        clock.perf_counter.return_value = 10.0
        start = overhead.now()
        with overhead.excluded_from_time():
            clock.perf_counter.return_value = 14.0
            assert overhead.now() == start
            with overhead.excluded_from_time():
                turns._held[0] += 1.0
                clock.perf_counter.return_value = 16.0
        assert overhead.now() == start
        clock.perf_counter.return_value = 19.0
        assert overhead.now() - start == pytest.approx(3.0)


class Unbuilt:
    """A model whose weights are made while its first step is traced."""

    layers = ()
    weights = ("kernel",)
    built = False

    def train_step(self) -> str:
        self.built = True
        return "logs"


def test_weights_that_are_made_while_a_step_is_traced_are_looked_at_before_it_is_taken(tmp_path: Path) -> None:
    model, traced = Unbuilt(), mock.Mock(return_value=False)
    module = SimpleNamespace(init_scope=contextlib.nullcontext, inside_function=traced)
    with guest(tmp_path, "kbench_script.watching.fits", "turns") as (fits, turns):
        recorder = mock.Mock(turns=turns.TurnClient(0), guarded=lambda do, *args: do(*args))
        models = mock.Mock(framework=mock.Mock(eager=True, module=module), recorder=recorder)
        watched = fits.Fits(models, None, None, {"variant": "", "max_epochs": None})
        watched._before_update(model)
        fit = fits.ObservedFit.__new__(fits.ObservedFit)
        about = {"_models": models, "_model": model, "_site": SimpleNamespace(described=False), "_facts": {}}
        vars(fit).update(about, _done=0, _start=1.0, _looks=True, _before=None, _clock=SimpleNamespace(begun=1))
        watched._fit = fit
        models.have_values.side_effect = [False, True, True]
        assert model.train_step() == "logs" and not models.have_values.called, "it is run eagerly: it is taken"
        traced.return_value = True
        model.train_step()
        assert not models.describe.called, "they have no values yet"
        model.train_step()
        models.describe.assert_called_once_with(fit._site, model, {})
        assert fit._before is models.some_weights.return_value and fit._start > 1.0
        fit._clock.begun = 2
        model.train_step()
        models.describe.assert_called_once()


def test_a_framework_that_traces_no_step_is_left_alone(tmp_path: Path) -> None:
    model = Unbuilt()
    with guest(tmp_path, "kbench_script.watching.fits") as (fits,):
        models = SimpleNamespace(framework=SimpleNamespace(eager=True, module=SimpleNamespace()), recorder=None)
        fits.Fits(models, None, None, {"variant": "", "max_epochs": None})._before_update(model)
    assert "train_step" not in vars(model)


@pytest.mark.parametrize(("value", "known"), [(np.ones((2, 3)), True), (np.ones(0), False)])
def test_weights_have_values_where_these_have_their_shape(tmp_path: Path, value: np.ndarray, known: bool) -> None:
    framework = SimpleNamespace(shape_of=lambda one: [2, 3], values=lambda several: [value])
    with guest(tmp_path, "kbench_script.watching.models") as (models,):
        found = models.Models(framework, None, {"seed": 0, "init": "backend"})
        assert found.have_values(Unbuilt()) == known


@pytest.mark.parametrize(
    ("calls", "seeded"),
    [
        ([("call, line 3", True), ("fit, line 4", False)], ["fit, line 4"]),  # its first call makes a model's weights
        ([("call, line 3", False)], ["call, line 3"]),
        ([("train_on_batch, line 3", True), ("fit, line 4", False)], []),  # it has been trained by then
    ],
)
def test_weights_that_a_call_made_are_not_exchanged_behind_what_it_returned(
    tmp_path: Path, calls: list[tuple[str, bool]], seeded: list[str]
) -> None:
    with guest(tmp_path, "kbench_script.watching.models", "kbench_guest.proof.weights") as (models, weights):
        recorder = mock.Mock(cut="")
        found = models.Models(mock.Mock(), recorder, {"seed": 0, "init": "seeded"})
        with (
            mock.patch.object(models.about, "model", return_value={}),
            mock.patch.object(weights, "initialise", return_value=("sha", [])) as initialise,
        ):
            for name, ended in calls:
                found.describe(SimpleNamespace(name=name, described=False), "model", {}, ended=ended)
    told = [call.args for call in recorder.describe.call_args_list]
    assert [site.name for site, _, facts in told if facts.get("weights") == "seeded"] == seeded
    assert initialise.call_count == len(seeded)
