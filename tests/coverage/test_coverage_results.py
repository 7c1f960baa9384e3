"""Cases are compared with the float64 reference, or with the backend that most are near, within rounding."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kbench.coverage import results
from kbench.coverage.values import KIND, ProbeCase
from kbench.errors import UserError
from kbench.reported import Case, Facts, Output, Public
from kbench.store.reading import RunResults
from kbench.values import OK, Cell, Measured, Outcome

NAME = "layers.Dense"
RIGHT = np.array([1.0, -2.0, 3.0])


def output(values: Any, kind: str = "f") -> Output:
    numbers = np.asarray(values, "<f4")
    return Output(numbers.shape, kind, base64.b64encode(numbers.tobytes()).decode())


def gave(values: Any, kind: str = "f", **more: Any) -> Case:
    gradients = None if "gradients" not in more else (output(more.pop("gradients")),)
    told = {"inputs": "image", "refused": {}, "moved": 1e-7, **more}
    return Case(0, 0.1, outputs=(output(values, kind),), gradients=gradients, **told)


def refused(why: str) -> Case:
    return Case(0, 0.1, {"image": why})


def run_of(plan: Mapping[str, Any], measured: tuple[Measured, ...]) -> RunResults:
    about: dict[str, Any] = {"name": "", "created": "", "request": {}, "provenance": {}, "cells": ()}
    return RunResults(folder=Path("mine"), plan=plan, measured=measured, **about)


def states(told: Mapping[str, Case], name: str = NAME, **case: Any) -> dict[str, tuple[str, str]]:
    """Backend -> state and sentence of its only case."""
    probe = ProbeCase(0, name, {}, ("image",), **case)
    of_cell: dict[str, Any] = {"repeat": 2, "profile": KIND, "validation_samples": 0, "epochs": 0, "seed": 0}
    measured = tuple(
        Measured(
            Cell(values={"backend": backend, "example": "", "site": ""}, **of_cell),
            Outcome(OK, "", 1.0, 0),
            facts=Facts(public={name: Public(name, ())}, cases={0: of}),
        )
        for backend, of in told.items()
    )
    plan = {"kind": KIND, "cases": {"keras9": [asdict(probe)]}, "shown": list(told)}
    run = run_of(plan, measured)
    found = {}
    for row in results.names(run):
        assert (row.worst is None) == (not row.cases)
        found[row.backend] = (row.state, row.worst.sentence if row.worst else "")
    return found


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


def test_outputs_that_rounding_moves_far_may_be_so_much_further_apart() -> None:
    told = {"keras9/a": gave(RIGHT, moved=0.001), "keras9/b": gave(RIGHT * 1.001)}
    assert {state for state, _ in states(told).values()} == {"same"}


def test_the_reference_counts_against_all_others() -> None:
    wrong = gave(RIGHT + 1)
    told = {"keras9/a": wrong, "keras9/b": wrong, f"keras9/c{results.REFERENCE}": gave(RIGHT)}
    assert [state for state, _ in states(told).values()] == ["differs", "differs", "same"]


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
    wrong = gave(RIGHT + 1, gradients=-RIGHT)
    assert states({**told, "keras9/c": wrong})["keras9/c"] == ("differs", "")
    untrained = gave(RIGHT, untrained="no gradient")
    assert states({**told, "keras9/c": untrained})["keras9/c"] == ("raises", "in training: no gradient")


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
