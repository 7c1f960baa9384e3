"""Cases are compared with the float64 reference, or with the backend that most are near, within rounding."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest

from kbench.errors import UserError
from kbench.features.coverage import checks, results, tables
from kbench.features.coverage.events import Begun, Case, Check, Output, Public
from kbench.features.coverage.values import KIND, ProbeCase
from kbench.records.reported import Facts
from kbench.records.values import FAILED, OK, Cell, Measured, Outcome
from kbench.store.reading import RunResults

NAME = "layers.Dense"
RIGHT = np.array([1.0, -2.0, 3.0])


def facts_of(
    public: Mapping[str, Public],
    cases: Mapping[int, Case] = MappingProxyType({}),
    begun: int | None = None,
    check: str = "",
) -> Facts:
    last = {} if begun is None else {"": Begun(begun, check)}
    return Facts(of={"public": {**public}, "case": {**cases}, "begun": last})


def output(values: Any, kind: str = "f") -> Output:
    numbers = np.asarray(values, "<f4")
    return Output(numbers.shape, kind, base64.b64encode(numbers.tobytes()).decode())


def gave(values: Any, kind: str = "f", **more: Any) -> Case:
    gradients = None if "gradients" not in more else (output(more.pop("gradients")),)
    told = {"inputs": "image", "refused": {}, "moved": 1e-7, **more}
    return Case(0, 0.1, outputs=(output(values, kind),), gradients=gradients, **told)


def refused(why: str) -> Case:
    return Case(0, 0.1, {"image": why})


def replace_case(case: Case, **more: Any) -> Case:
    return msgspec.structs.replace(case, **more)


def run_of(plan: Mapping[str, Any], measured: tuple[Measured, ...]) -> RunResults:
    about: dict[str, Any] = {"name": "", "created": "", "request": {}, "provenance": {}, "cells": ()}
    return RunResults(folder=Path("mine"), plan=plan, measured=measured, **about)


def states(told: Mapping[str, Case], name: str = NAME, **case: Any) -> dict[str, tuple[str, str]]:
    """Backend -> state and sentence of its only case."""
    facts = {backend: facts_of(public={name: Public(name, ())}, cases={0: of}) for backend, of in told.items()}
    found = {}
    for row in results.names(tried([ProbeCase(0, name, {}, **{"inputs": ("image",), **case})], facts)):
        assert (row.worst is None) == (not row.cases)
        found[row.backend] = (row.state, row.worst.sentence if row.worst else "")
    return found


WELL = Outcome(OK, "", 1.0, 0)


def tried(cases: Sequence[ProbeCase], facts: Mapping[str, Facts], outcome: Outcome = WELL) -> RunResults:
    """A run of these cases."""
    of_cell: dict[str, Any] = {"repeat": 2, "profile": KIND, "validation_samples": 0, "epochs": 0, "seed": 0}
    measured = tuple(
        Measured(Cell(values={"backend": backend, "example": "", "site": ""}, **of_cell), outcome, facts=of)
        for backend, of in facts.items()
    )
    return run_of({"kind": KIND, "cases": {"keras9": [asdict(one) for one in cases]}, "shown": list(facts)}, measured)


def test_rounding_is_the_same_and_more_differs() -> None:
    assert states({"keras9/a": gave(RIGHT), "keras9/b": gave(RIGHT * 1.00001)}) == {
        "keras9/a": ("same", ""),
        "keras9/b": ("same", ""),
    }
    assert states({"keras9/a": gave(RIGHT), "keras9/b": gave(RIGHT), "keras9/c": gave(RIGHT * 1.001)}) == {
        "keras9/a": ("same", ""),
        "keras9/b": ("same", ""),
        "keras9/c": ("differs", ""),
    }


def test_what_more_of_them_agree_on_is_right_though_most_agree_on_nothing() -> None:
    nan, none = [1.0, np.nan, np.nan], [1.0, 0.0, 0.0]
    told = {
        "keras9/a": nan,
        "keras9/b": none,
        **{name: [1.0, 0.0, np.nan] for name in ("keras9/c", "keras9/d", "keras9/e")},
    }
    found = states({**{name: gave(values) for name, values in told.items()}, "keras9/f": gave(nan)})
    assert {name: state for name, (state, _) in found.items()} == {
        name: "differs" if name in ("keras9/a", "keras9/b", "keras9/f") else "same" for name in found
    }


def test_outputs_that_rounding_moves_far_may_be_so_much_further_apart() -> None:
    told = {"keras9/a": gave(RIGHT, moved=0.001), "keras9/b": gave(RIGHT * 1.001, moved=0.002)}
    assert {state for state, _ in states(told).values()} == {"same"}


def test_no_backend_alone_widens_what_is_allowed() -> None:
    unstable = gave(RIGHT + 0.33, moved=0.3, checks={"graph": Check(0.33)})
    for steady in (["keras9/a"], ["keras9/a", "keras9/b"], [f"keras9/a{results.REFERENCE}"]):
        found = states({**{name: gave(RIGHT) for name in steady}, "keras9/c": unstable})
        assert found["keras9/c"] == ("differs", "")
    steady_outputs = gave(RIGHT, moved=0.3, checks={"graph": Check(0.33)})
    found = states({"keras9/a": gave(RIGHT), "keras9/c": steady_outputs})
    assert found["keras9/c"] == ("differs", "in a graph it differs from itself run eagerly by 0.330")
    other_version = gave(RIGHT + 0.33, moved=0.3)
    assert results.between(ProbeCase(0, NAME, {}, ("image",)), gave(RIGHT), other_version) == "by 0.110"


def test_of_random_numbers_it_says_nothing_that_others_are_drawn() -> None:
    shifted = {"keras9/a": gave([0.1, 0.05], moved=0.3), "keras9/b": gave([0.0, 0.05], moved=0.3)}
    assert states(shifted, random=True)["keras9/b"][0] == "differs"


def test_the_reference_counts_against_all_others() -> None:
    wrong = gave(RIGHT + 1)
    told = {"keras9/a": wrong, "keras9/b": wrong, f"keras9/c{results.REFERENCE}": gave(RIGHT)}
    assert [state for state, _ in states(told).values()] == ["differs", "differs", "same"]


def test_a_reference_that_differs_alone_from_three_frameworks_that_agree_is_what_differs() -> None:
    right, reference = gave(RIGHT), f"keras9/c{results.REFERENCE}"
    told = {"keras9/a": right, "keras9/b": right, "keras9/c": gave(RIGHT + 1), reference: gave(RIGHT + 1)}
    assert [state for state, _ in states(told).values()] == ["differs", "differs", "same", "same"]
    told |= {"keras9/a+keras=3.14": right}
    assert states(told)["keras9/a"][0] == "differs", "a version of the same framework is no third one"
    told |= {"keras9/d": gave(RIGHT * 1.00001)}
    found = states(told)
    assert {name for name, (state, _) in found.items() if state == "differs"} == {"keras9/c", reference}
    assert found["keras9/c"][1] == "by 0.333, and the others agree"
    told["keras9/d"] = gave(RIGHT * 1.01)
    assert states(told)["keras9/a"][0] == "differs"


def test_a_wrong_argument_is_to_be_refused_where_keras_itself_refuses_it() -> None:
    plain, wrong = ProbeCase(0, NAME, {}, ("image",)), ProbeCase(1, NAME, {"units": -1}, ("image",), wrong="units=-1")
    reference = f"keras9/c{results.REFERENCE}"

    def found(**told: Case) -> dict[str, tuple[str, str]]:
        names = {"c": reference}
        facts = {
            names.get(name, f"keras9/{name}"): facts_of({NAME: Public(NAME, ())}, {0: gave(RIGHT), 1: of})
            for name, of in told.items()
        }
        return {
            row.backend.rpartition("/")[2]: (row.state, row.cases[-1].sentence)
            for row in results.names(tried([plain, wrong], facts))
        }

    takes, own_error = Case(0, 0.1, {}, "image"), refused("no")
    by_keras = replace_case(own_error, validated=("image",))
    of_reference = {"a": takes, "b": own_error, "c": by_keras}
    assert found(**of_reference)["a"] == ("differs", "it accepts units=-1, which is refused there: no")
    assert found(**of_reference)["b"] == ("same", "")
    assert {state for state, _ in found(a=takes, b=by_keras, c=own_error).values()} == {"same"}, "NumPy refuses it"
    assert found(a=takes, b=own_error, c=takes)["b"] == ("raises", "no")
    assert found(a=by_keras, b=by_keras, d=takes)["d"] == (
        "differs",
        "it accepts units=-1, which the others refuse: no",
    )
    assert found(a=by_keras, d=takes) == {"a": ("same", ""), "d": ("same", "")}, "of two nobody knows"


def test_shapes_kinds_and_what_is_no_number_differ_in_words() -> None:
    told = {"keras9/a": gave(RIGHT), "keras9/b": gave(RIGHT)}
    for other, sentence in (
        (gave(RIGHT[:2]), "shape (2,) instead of (3,)"),
        (gave(RIGHT, "i"), "whole numbers instead of floats"),
        (gave([1.0, np.nan, 3.0]), "not a number in other places"),
        (gave([1.0, np.inf, 3.0]), "infinite in other places"),
    ):
        assert states({**told, "keras9/c": other})["keras9/c"] == ("differs", sentence)
    nowhere = gave([np.nan, np.inf, 1.0])
    assert {state for state, _ in states({"keras9/a": nowhere, "keras9/b": nowhere}).values()} == {"same"}


def test_what_every_backend_refuses_is_untried_and_what_one_refuses_raises_there() -> None:
    assert states({"keras9/a": refused("no"), "keras9/b": refused("no")})["keras9/a"] == ("untried", "")
    assert states({"keras9/a": gave(RIGHT), "keras9/b": refused("no")}) == {
        "keras9/a": ("works", ""),
        "keras9/b": ("raises", "no"),
    }


def test_of_random_numbers_mean_and_deviation_are_compared() -> None:
    near = {"keras9/a": gave([0.0, 1.0]), "keras9/b": gave([0.02, 0.99])}
    assert {state for state, _ in states(near, random=True).values()} == {"same"}
    far = {"keras9/a": gave([0.0, 1.0]), "keras9/b": gave([0.0, 1.0]), "keras9/c": gave([0.0, 1.2])}
    assert states(far, random=True)["keras9/c"][0] == "differs"


def test_a_case_that_draws_numbers_is_not_compared() -> None:
    drawn = Case(0, 0.1, {}, "image")
    told = {"keras9/a": drawn, "keras9/b": gave(RIGHT), "keras9/c": gave(RIGHT + 1)}
    assert states(told)["keras9/b"] == ("same", "")


def test_gradients_are_compared_where_outputs_are_right() -> None:
    told = {name: gave(RIGHT, gradients=RIGHT) for name in ("keras9/a", "keras9/b")}
    other = gave(RIGHT, gradients=-RIGHT)
    assert states({**told, "keras9/c": other})["keras9/c"] == ("differs", "a step changes its weights otherwise")
    nowhere = gave(RIGHT, gradients=RIGHT * np.nan)
    assert states({**told, "keras9/c": nowhere})["keras9/c"][1] == "a step makes other weights NaN or infinite"
    longer = gave(RIGHT, gradients=np.append(RIGHT, 1.0))
    assert states({**told, "keras9/c": longer})["keras9/c"][1] == "weights of other shapes"
    wrong = gave(RIGHT + 1, gradients=-RIGHT)
    assert states({**told, "keras9/c": wrong})["keras9/c"] == ("differs", "")
    untrained = gave(RIGHT, untrained="no gradient")
    assert states({**told, "keras9/c": untrained})["keras9/c"] == ("raises", "in training: no gradient")


def test_of_two_backends_that_differ_the_one_that_was_asked_for_first_is_the_measure() -> None:
    facts = {
        name: facts_of(public={NAME: Public(NAME, ())}, cases={0: of})
        for name, of in (
            ("keras9/a+keras=mine", gave(RIGHT, gradients=RIGHT / 2)),
            ("keras9/a", gave(RIGHT, gradients=RIGHT)),
        )
    }
    run = tried([ProbeCase(0, NAME, {}, ("image",))], facts)
    run = replace(run, plan={**run.plan, "shown": ["keras9/a", "keras9/a+keras=mine"]})
    assert [(row.backend, row.state) for row in results.names(run)] == [
        ("keras9/a", "same"),
        ("keras9/a+keras=mine", "differs"),
    ]


def test_where_nothing_can_be_learnt_a_backend_may_refuse_to_train() -> None:
    nothing = gave(RIGHT, gradients=0 * RIGHT)
    told = {"keras9/a": nothing, "keras9/b": gave(RIGHT, untrained="no gradient")}
    assert {state for state, _ in states(told).values()} == {"same"}


def test_a_damaged_output_is_no_result_and_a_damaged_plan_is_a_sentence() -> None:
    for damaged in (Output((3,), "f", "?"), Output((3,), "f", ""), Output((-1,), "f", "")):
        told = {"keras9/a": gave(RIGHT), "keras9/b": Case(0, 0.1, {}, "image", (damaged,))}
        assert states(told) == {"keras9/a": ("works", ""), "keras9/b": ("not run", "")}
    for plan in ({"cases": 1}, {"cases": {"keras9": [{"id": "x"}]}}, {"shown": [1]}):
        run = run_of(plan, ())
        with pytest.raises(UserError, match="mine is damaged"):
            results.names(run)


REFERENCE = f"keras9/c{results.REFERENCE}"


def checked(**checks: Check) -> Case:
    return gave(RIGHT, checks=checks)


def test_gradients_that_all_backends_share_are_wrong_if_finite_differences_have_others() -> None:
    def told(right: float) -> dict[str, Case]:
        trained = {name: gave(RIGHT, gradients=RIGHT, slopes=(0.5, 0.1)) for name in ("keras9/a", "keras9/b")}
        return {**trained, REFERENCE: gave(RIGHT, slopes=(right, None))}

    assert {state for state, _ in states(told(0.5)).values()} == {"same"}
    found = states(told(0.25))
    assert found["keras9/a"] == found["keras9/b"]
    assert found["keras9/a"] == ("differs", "its gradients are not those of finite differences")
    assert found[REFERENCE] == ("same", "")


def test_the_backend_that_finite_differences_confirm_is_right_against_most_others() -> None:
    wrong = gave(RIGHT, gradients=2 * RIGHT, slopes=(1.0,))
    told = {"keras9/a": wrong, "keras9/b": wrong, "keras9/d": gave(RIGHT, gradients=RIGHT, slopes=(0.5,))}
    found = states({**told, REFERENCE: gave(RIGHT, slopes=(0.5,))})
    assert [state for state, _ in found.values()] == ["differs", "differs", "same", "same"]


def test_what_float64_computes_otherwise_by_its_own_nature_is_no_fault() -> None:
    def state(value: float, right: float, name: str = NAME, **case: Any) -> str:
        return states({"keras9/a": gave([value]), REFERENCE: gave([right])}, name, **case)["keras9/a"][0]

    clipped = -np.log(np.float64(1e-7)), -np.log(np.float32(1) - np.float32(1 - 1e-7))
    assert state(clipped[1], clipped[0]) == "differs"
    assert state(clipped[1], clipped[0], inputs=("certain", "certain labels")) == "same"
    assert state(clipped[1] / 1.05, clipped[0], inputs=("certain", "certain labels")) == "differs"
    largest = float(np.finfo("float32").max)
    assert state(largest, np.inf) == state(-largest, np.inf, "ops.nan_to_num") == "differs"
    assert state(largest, np.inf, "ops.nan_to_num") == "same"
    told = {"keras9/a": gave(RIGHT, gradients=RIGHT, slopes=(0.5,)), REFERENCE: gave(RIGHT, slopes=(9.0,))}
    for settings, found in (({"renorm": True}, "same"), ({"renorm": False}, "differs")):
        facts = {name: facts_of(public={NAME: Public(NAME, ())}, cases={0: of}) for name, of in told.items()}
        (row, _) = results.names(tried([ProbeCase(0, NAME, settings, ("image",))], facts))
        assert row.state == found


def test_gradients_with_a_kink_or_of_other_arrays_are_left_to_the_majority() -> None:
    told = {name: gave(RIGHT, gradients=RIGHT, slopes=(0.5,)) for name in ("keras9/a", "keras9/b")}
    for slopes in ((None,), (9.0, 9.0), ()):
        assert {state for state, _ in states({**told, REFERENCE: gave(RIGHT, slopes=slopes)}).values()} == {"same"}
    for name in checks.OTHER_GRADIENTS:
        wrong = {**told, REFERENCE: gave(RIGHT, slopes=(9.0,))}
        assert {state for state, _ in states(wrong, name).values()} == {"same"}
    tied = {**told, REFERENCE: gave(RIGHT, slopes=(9.0,))}
    assert {state for state, _ in states(tied, inputs=("tied image",)).values()} == {"same"}
    found = states({**told, "keras9/d": gave(RIGHT, gradients=-RIGHT), REFERENCE: gave(RIGHT, slopes=(None,))})
    assert found["keras9/d"] == ("differs", "a step changes its weights otherwise")


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("graph", "in a graph it differs from itself run eagerly by 0.300"),
        ("fit", "in a graph a step of training differs from itself run eagerly by 0.100"),
        ("jit", "in a graph with jit_compile otherwise it differs from itself run eagerly by 0.300"),
        ("inference", "with training=False it changes what it gets by 0.300"),
        ("batch", "called with one sample, and again with all, it differs by 0.300"),
        ("TimeDistributed", "within TimeDistributed it differs from itself alone by 0.300"),
        ("config", "made again of its configuration it differs by 0.300"),
        ("keras", "saved in a .keras file and loaded it differs by 0.300"),
        ("h5", "saved in a .h5 file and loaded it differs by 0.300"),
        ("elsewhere", "loaded from the file of keras9/b it differs by 0.300"),
    ],
)
def test_what_a_backend_does_otherwise_than_itself_differs_even_if_it_is_alone(check: str, sentence: str) -> None:
    saved_on = "keras9/b" if check == "elsewhere" else None
    near, far = (gave(RIGHT, gradients=RIGHT, checks={check: Check(off, saved_on=saved_on)}) for off in (1e-6, 0.3))
    assert states({"keras9/a": near}) == {"keras9/a": ("works", "")}
    assert states({"keras9/a": far}) == {"keras9/a": ("differs", sentence)}
    assert states({"keras9/a": far, "keras9/c": near})["keras9/c"] == ("same", "")


def test_gradients_in_a_policy_may_differ_as_its_numbers_do() -> None:
    told = {"keras9/a": gave(RIGHT, gradients=RIGHT), "keras9/b": gave(RIGHT, gradients=RIGHT + 0.05)}
    assert states(told)["keras9/b"][0] == "differs"
    assert states(told, dtype="mixed_bfloat16")["keras9/b"] == ("same", "")


def test_a_file_that_loses_a_weight_differs_in_words() -> None:
    lost = checked(keras=Check(how="not a number in other places"))
    sentence = "saved in a .keras file and loaded it differs: not a number in other places"
    assert states({"keras9/a": lost})["keras9/a"] == ("differs", sentence)


def test_what_no_backend_can_do_is_no_failure_and_what_another_can_is() -> None:
    error = checked(h5=Check(error="ValueError: no"))
    assert states({"keras9/a": error, "keras9/b": error}) == {"keras9/a": ("same", ""), "keras9/b": ("same", "")}
    assert states({"keras9/a": error, "keras9/b": checked(h5=Check(0.0))}) == {
        "keras9/a": ("raises", "saved in a .h5 file and loaded: ValueError: no"),
        "keras9/b": ("same", ""),
    }


def test_what_cannot_be_made_again_is_a_failure_where_others_of_its_kind_can_be() -> None:
    error = checked(config=Check(error="TypeError: no"), h5=Check(error="no"))
    abstract = checked(config=Check(error="NotImplementedError: it has none"))
    unsafe = checked(h5=Check(error="ValueError: a potential risk of arbitrary code execution"))
    names = ("losses.A", "losses.B", "losses.c", "losses.Base", "losses.Function")
    told = dict(enumerate((error, checked(config=Check(0.0), h5=Check(0.0)), error, abstract, unsafe)))
    facts = facts_of(public={name: Public(name, ()) for name in names}, cases=told)
    run = tried([ProbeCase(number, name, {}, ("image",)) for number, name in enumerate(names)], {"keras9/a": facts})
    assert [row.state for row in results.names(run)] == ["raises", *["works"] * 4]


def test_the_worst_check_decides_and_of_those_the_simplest() -> None:
    both = checked(keras=Check(0.5), graph=Check(0.3), h5=Check(error="no"))
    fine = checked(keras=Check(0.0), graph=Check(0.0), h5=Check(0.0))
    assert states({"keras9/a": both, "keras9/b": fine})["keras9/a"][1].startswith("in a graph")
    wrong = gave(RIGHT + 1, checks={"graph": Check(0.3)})
    assert states({"keras9/a": fine, "keras9/b": fine, "keras9/c": wrong})["keras9/c"] == ("differs", "")


def test_numbers_that_are_not_set_and_signs_that_are_free_are_not_compared_with_a_graph() -> None:
    for name in (*checks.UNSET, *checks.UP_TO_SIGNS):
        assert states({"keras9/a": checked(graph=Check(0.3))}, name) == {"keras9/a": ("works", "")}


def test_a_process_that_ended_in_a_check_says_in_which() -> None:
    facts = facts_of(public={NAME: Public(NAME, ())}, begun=0, check="h5")
    run = tried([ProbeCase(0, NAME, {}, ("image",))], {"keras9/a": facts}, Outcome(FAILED, "killed", 1.0, -9))
    (row,) = results.names(run)
    assert row.worst is not None
    assert (row.state, row.worst.check) == ("crashes", "h5")
    assert row.worst.sentence == "saved in a .h5 file and loaded: killed"


def test_what_differs_on_usual_inputs_is_shown_before_what_does_on_unusual_ones() -> None:
    cases = [ProbeCase(0, "layers.A", {}, ("edges",), outputs_only=True), ProbeCase(1, "layers.B", {}, ("image",))]
    public = {one.name: Public(one.name, ()) for one in cases}
    gives = {"keras9/a": [RIGHT, RIGHT], "keras9/b": [RIGHT, RIGHT], "keras9/c": [RIGHT * np.inf, RIGHT * 1.1]}
    facts = {
        name: facts_of(public=public, cases={number: gave(values) for number, values in enumerate(of)})
        for name, of in gives.items()
    }
    found = tables.worst(results.names(tried(cases, facts)))
    assert [(one.case.name, one.deviation == np.inf) for one in found] == [("layers.B", False), ("layers.A", True)]


def test_an_argument_that_changes_nothing_on_a_backend_is_named() -> None:
    made = [
        ProbeCase(0, NAME, {}, ("image",)),
        ProbeCase(1, NAME, {"alpha": 0.37}, ("image",), varies="alpha"),
        ProbeCase(2, NAME, {"alpha": 1.9}, ("image",), varies="alpha"),
    ]
    public = {NAME: Public(NAME, ())}
    ignores = {number: gave(RIGHT) for number in range(3)}
    heeds = {**ignores, 2: gave(RIGHT * 1.9)}
    rows = results.names(tried(made, {"keras9/a": facts_of(public, heeds), "keras9/b": facts_of(public, ignores)}))
    found = {row.backend: [(one.state, one.sentence) for one in row.cases] for row in rows}
    assert found["keras9/a"] == [("same", "")] * 3, "one of its values changes something"
    assert found["keras9/b"] == [
        ("same", ""),
        ("same", "alpha changes nothing"),
        ("differs", "alpha changes nothing"),
    ]


def test_each_change_of_an_optimizer_is_compared_with_itself() -> None:
    changes = np.array([[1.0, -0.5], [1e-3, 1e-3], [2e-3, 1e-3]])
    how: dict[str, Any] = {"name": "optimizers.Adam", "inputs": ("gradients",)}

    def gives(values: Any) -> Case:
        return gave(values, inputs="gradients")

    right = {"keras9/a": gives(changes), "keras9/b": gives(changes)}
    assert states({**right, "keras9/c": gives(changes * (1 + 1e-4))}, **how)["keras9/c"][0] == "same"
    later = changes * [[1], [1], [1.01]]  # 1e-5 of the weight
    assert states({**right, "keras9/c": gives(later)}, **how)["keras9/c"][0] == "differs"


def test_moments_of_what_few_samples_draw_may_be_further_apart() -> None:
    moments = np.array([0.5, 1.0])
    how: dict[str, Any] = {"name": "layers.Dropout", "random": True, "training": True}

    def of(inputs: str, distance: float) -> str:
        one, other = (gave(values, inputs=inputs) for values in (moments, moments + np.array([distance, 0])))
        return states({"keras9/a": one, "keras9/b": one, "keras9/c": other}, inputs=(inputs,), **how)["keras9/c"][0]

    assert of("many image", 0.4) == of("many vectors", 0.08) == "same"
    assert of("many image", 0.8) == of("many vectors", 0.2) == "differs"


def test_a_name_that_all_backends_refuse_is_untried_though_a_wrong_argument_of_it_was_a_case() -> None:
    plain = ProbeCase(0, NAME, {}, ("image",))
    wrong = replace(plain, id=1, settings={"units": -1}, wrong="units=-1")
    told = {
        one: facts_of({NAME: Public(NAME, ())}, {0: refused("no"), 1: refused("no")})
        for one in ("keras9/a", "keras9/b")
    }
    assert [row.state for row in results.names(tried([plain, wrong], told))] == ["untried", "untried"]
