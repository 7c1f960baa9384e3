"""The checks of public names, without a Keras: finite differences, and how far two results are apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

from kbench.features.coverage import checks as host

START = np.array([[0.5, -1.0, 0.25]])


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[list[ModuleType]]:
    with guest(tmp_path, "kbench_coverage.training", "kbench_coverage.checks") as loaded:
        yield loaded


@pytest.fixture
def training(modules: list[ModuleType]) -> ModuleType:
    return modules[0]


def slopes(training: ModuleType, loss: Callable[[Any], float], trains: bool = True) -> list[float | None]:
    """Of a model with one weight, whose loss is a function of it."""
    weight = SimpleNamespace(value=START)
    layer = SimpleNamespace(weights=[weight])
    model = SimpleNamespace(weights=[weight], trainable_weights=[weight] if trains else [])

    def set_values(weights: list[Any], values: list[Any]) -> None:
        for one, value in zip(weights, values, strict=True):
            one.value = value

    framework = SimpleNamespace(
        own_weights=lambda model: [(layer, [])], values=lambda of: [one.value for one in of], set_values=set_values
    )
    made = object.__new__(training.Training)
    vars(made).update(_framework=framework, _model=model, _initial=[START], _loss=lambda: loss(weight.value))
    found: list[float | None] = made.slopes()
    return found


def test_a_slope_by_differences_is_that_of_the_gradient_along_the_same_direction(training: ModuleType) -> None:
    (found,) = slopes(training, lambda x: float((x**3).sum()))
    assert found == pytest.approx(training.along([3 * START**2])[0], rel=1e-6)
    assert np.linalg.norm(training.direction(0, START.shape)) == pytest.approx(1)


def test_there_is_no_slope_at_a_kink_or_in_float32_or_of_what_is_not_trained(training: ModuleType) -> None:
    assert slopes(training, lambda x: float(np.abs(x - START).sum())) == [None]
    assert slopes(training, lambda x: float(np.float32((x**3).sum()))) == [None]
    assert slopes(training, lambda x: float("nan")) == [None]
    assert slopes(training, lambda x: float(x.sum()), trains=False) == [None]


def test_two_results_differ_by_the_largest_number_or_in_words(modules: list[ModuleType]) -> None:
    _, checks = modules
    assert checks.unlike([START * 2], [START * 2.5]) == {"off": pytest.approx(0.2)}
    assert checks.unlike([START], [START, START]) == {"how": "shapes [(1, 3)] instead of [(1, 3), (1, 3)]"}
    assert checks.unlike([START], [np.where(START > 0, START, np.nan)]) == {"how": "not a number in other places"}
    of_random = [np.array([0.0, 2.0])], [np.array([0.5, 2.0])]
    assert checks.unlike(*of_random, is_random=True) == {"off": 0.25}
    assert checks.furthest([START], [START + 0.5]) == {"off": 0.5}
    assert checks.furthest([START * np.nan], [START]) == {"how": "not a number"}


def test_a_symbolic_call_says_the_shape_and_the_kind_of_what_comes(modules: list[ModuleType]) -> None:
    def says(*told: Any, is_layer: bool = False) -> Any:
        checks = object.__new__(modules[1].Checks)
        subject = SimpleNamespace(
            symbolic=lambda tensors: [SimpleNamespace(shape=one[0], dtype=one[1]) for one in told]
        )
        subject.is_layer = is_layer
        vars(checks).update(_subject=subject, _outputs=[np.zeros((2, 3), "float32"), np.zeros(2, "int32")])
        return checks._says([])

    assert says(((None, 3), "float32"), ((2,), "int32")) == {"off": 0.0}
    assert says(((None, 2), "float32"), ((2,), "int32")) == {"how": "shape (None, 2) instead of (2, 3)"}
    assert says(((2, 3), "float32"), ((2, 1), "int32")) == {"how": "shape (2, 1) instead of (2,)"}
    assert says(((2, 3), "float32"), ((2,), "int64")) == {"how": "int64 instead of int32"}
    assert says(((2, 3), "float32"), ((2,), "float32"), is_layer=True) == {"off": 0.0}  # as nearly all of them say


def of_layer(modules: list[ModuleType], give: Callable[[list[Any]], list[Any]], given: Any) -> Any:
    """The checks of a layer that gave these outputs at first, and gives what the function does from then on."""
    checks = object.__new__(modules[1].Checks)
    vars(checks).update(_subject=give, _given=[given], _outputs=[2 * given])
    return checks


def test_a_layer_gives_a_sample_alone_what_it_gave_it_among_others_and_all_the_same_again(
    modules: list[ModuleType],
) -> None:
    given = np.array([[0.5], [0.25]])
    assert of_layer(modules, lambda x: [2 * x[0]], given)._of_one_sample() == {"off": 0.0}
    of_batch = of_layer(modules, lambda x: [x[0] * len(x[0])], given)._of_one_sample()
    assert of_batch == {"off": pytest.approx(0.25)}
    calls = iter((2, 3))  # a state that changes
    assert of_layer(modules, lambda x: [next(calls) * x[0]], given)._of_one_sample()["off"] > 0.4
    assert "how" in of_layer(modules, lambda x: [np.zeros((2, 1))], given)._of_one_sample()
    mixes = modules[1].mixes_samples
    assert mixes({"settings": {"axis": 0}}) and mixes({"settings": {"axes": [1, 0]}})
    assert not mixes({"settings": {"axis": -1, "rate": 0}})


@pytest.mark.parametrize(
    ("name", "eager", "few", "always"),
    [
        ("torch", True, 1, {"graph", "gradients", "clone"}),
        ("jax", True, 4, {"graph", "gradients", "clone"}),
        ("theano", False, 2, set()),
    ],
)
def test_what_compiles_for_seconds_is_checked_in_the_first_cases_of_a_name(
    name: str, eager: bool, few: int, always: set[str], modules: list[ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modules[1].Training, "gradients", lambda made: [np.ones((1, 3), "float32")])
    monkeypatch.setattr(modules[1].Training, "__init__", lambda made, *given: None)
    module = SimpleNamespace(__name__=name)
    framework = SimpleNamespace(eager=eager, module=module, supports_run_eagerly=name == "jax")
    subject = SimpleNamespace(
        in_graph=True, is_layer=True, is_symbolic=False, made=None, kept=None, layer=SimpleNamespace(weights=[])
    )
    asked: dict[str, Any] = {"checks": True, "trains": True, "saved": ""}
    case = {"id": 0, "name": "layers.Dense", "training": False, "inference": False, "draws": False, "dtype": ""}
    case |= {"outputs_only": False, "random": False, "settings": {}}
    found = []
    for _ in range(9):
        begun: list[str] = []
        one = modules[1].Checks(framework, subject, [START[0]], [np.ones(3, "float32")], asked, begun.append)
        for skipped in ("_within_others", "_in_files", "_exported"):
            monkeypatch.setattr(one, skipped, lambda *given: None)
        monkeypatch.setattr(one, "_try", lambda check, do, begun=begun: begun.append(check))
        one.fields(case, False)
        found.append({*begun} - {"batch"})
    every = found[0]
    assert every == {"gradients", "clone"} | ({"graph"} if eager else set()) | ({"jit", "fit"} & every)
    assert ("jit" in every) == eager and ("fit" in every) == (name == "jax")
    assert found == [every] * few + [every & always] * (9 - few)


def test_what_draws_leaves_its_inputs_without_training_unless_it_gives_another_shape(
    modules: list[ModuleType],
) -> None:
    one = of_layer(modules, lambda x: x, START)
    assert one._leaves_inputs()["off"] == pytest.approx(1.0)
    vars(one).update(_outputs=[START])
    assert one._leaves_inputs() == {"off": 0.0}
    vars(one).update(_outputs=[START[:, 1:]])
    assert one._leaves_inputs() == {"off": 0.0}
    vars(one).update(_outputs=[])
    assert one._leaves_inputs() == {"how": "it draws numbers"}


def test_within_others_outputs_may_come_several_times(modules: list[ModuleType]) -> None:
    one = of_layer(modules, lambda x: x, START)
    assert one._like_outputs([2 * START, 2 * START]) == {"off": 0.0}
    assert one._like_outputs([2 * START, START])["off"] > 0.4
    assert "how" in one._like_outputs([])


def test_where_a_layer_draws_shows_at_the_ends_of_each_axis(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_coverage.probes") as (probes,):
        drops = np.random.RandomState(0).uniform(size=(1000, 4)) < 0.5
        by_column, by_row = (np.ones((1000, 4, 4)) * shape for shape in (~drops[:, None], ~drops[:, :, None]))
        of_column, of_row = (list(probes.unmoved_at_ends(one)) for one in (by_column, by_row))
        assert np.allclose([mean for mean, _ in of_column], 0.5, atol=0.05)
        assert of_row[0][1] > 1.5 * of_column[0][1] and of_column[-1][1] > 1.5 * of_row[-1][1]


def test_a_wrong_shape_of_a_first_axis_of_any_size_says_so_and_words_have_a_type(
    modules: list[ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sys.modules, "keras", SimpleNamespace(KerasTensor=lambda *one: SimpleNamespace(shape=one[0], dtype=one[1]))
    )

    def found(symbolic: Callable[[Any], Any]) -> Any:
        checks = object.__new__(modules[1].Checks)
        subject = SimpleNamespace(
            symbolic=symbolic, is_layer=True, is_batched=lambda given: True, shape=lambda shape: None
        )
        given = [np.array([["cat"], ["dog"]])]
        vars(checks).update(_subject=subject, _given=given, _outputs=[np.zeros((2, 1))], _begin=print, _found={})
        checks._without_numbers()
        return checks._found["symbolic"]

    def of_words(tensors: Any, size: int = 1) -> Any:
        assert tensors[0].dtype == "string"
        return [SimpleNamespace(shape=(tensors[0].shape[0], size))]

    assert found(of_words) == {"off": 0.0}
    assert found(lambda tensors: of_words(tensors, 2)) == {"how": "shape (2, 2) instead of (2, 1)"}
    assert found(lambda tensors: of_words(tensors, 1 if tensors[0].shape[0] else 2)) == {
        "how": "shape (None, 2) instead of (2, 1), of a first axis of any size"
    }


def test_what_draws_whether_to_do_anything_is_seen_though_it_does_the_same_several_times(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_coverage.probes") as (probes,):
        given = [START]
        turned = iter([False, False, True])
        assert probes.draws_numbers(lambda values: [-values[0] if next(turned) else values[0]], given, given)
        assert not probes.draws_numbers(lambda values: values, given, given)


def test_why_a_configuration_is_refused_is_said_not_that_it_is(modules: list[ModuleType]) -> None:
    def make() -> None:
        raise ValueError("input_number=-0.37")

    def again() -> None:
        try:
            make()
        except ValueError as error:
            raise TypeError(f"Error when deserializing class 'A' using config={{}}.\n\n{error}") from error

    with pytest.raises(TypeError) as caught:
        try:
            again()
        except TypeError:
            raise TypeError("A could not be deserialized properly.")  # noqa: B904
    assert repr(modules[1].cause(caught.value)) == "ValueError('input_number=-0.37')"
    other = ValueError("else")
    assert modules[1].cause(other) is other


def test_a_function_has_no_batch_in_its_only_axis_or_along_the_one_that_it_is_given(tmp_path: Path) -> None:
    framework = SimpleNamespace(eager=True)
    with guest(tmp_path, "kbench_coverage.probes") as (probes,):

        def is_batched(array: Any, **settings: Any) -> bool:
            case = {"random": False, "masked": False, "name": "ops.cross", "code": "", "settings": settings}
            return bool(probes.Function(framework, case, None, None).is_batched([array]))

        assert is_batched(START) and not is_batched(START[0]) and not is_batched(START, axis=0)
        assert is_batched(START, axis=1)


def test_changes_are_compared_with_themselves_but_for_what_a_weight_cannot_tell(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_coverage.steps") as (steps,):
        changes = np.array([[1.0, 1.0], [1e-3, 1e-4], [0.0, 1e-4]])
        for of_changes in (lambda own: steps.of_changes([own], [changes]), lambda own: host.of_changes(own, changes)):
            assert of_changes(changes) <= 0
            assert of_changes(changes * [[1], [1.01], [1]]) == pytest.approx(0.01, rel=0.1)
            assert of_changes(changes + np.array([[0], [1e-7], [-1e-7]])) <= 0  # of a weight of 1
            assert of_changes(changes + np.array([[0, 0], [0, 0], [1e-3, 0]])) > 1  # where nothing was to change


def test_a_value_that_comes_back_as_another_is_named(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_coverage.roundtrips") as (roundtrips,):

        def make() -> Any:
            return SimpleNamespace(
                rate=0.3142, size=(2, 3), _kwargs={"delta": 0.37}, name=next(names), built=next(names)
            )

        names = iter("abcdefghijklmnopqrstuvwxyz")
        assert roundtrips.changed(make, lambda one: SimpleNamespace(**vars(one))) == ""
        other = {"rate": 0.3, "size": [2, 3], "_kwargs": {"delta": 1.0}, "name": "other"}
        how = roundtrips.changed(make, lambda one: SimpleNamespace(**other))
        assert how == "rate 0.3 instead of 0.3142, _kwargs.delta 1.0 instead of 0.37"
        rounded = {"rate": float(np.float32(0.3142)), "size": (2, 3), "_kwargs": {"delta": 0.37}, "name": "other"}
        assert roundtrips.changed(make, lambda one: SimpleNamespace(**rounded)) == "", "float32 has no more digits"
