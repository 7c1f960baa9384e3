"""A training whose step after its last epoch is not the one before the first did other work, in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runs import cell, in_words, measured

from kbench.analysis.sameness import fingerprints
from kbench.records.values import Measured

KERNEL = {"class": "Dense", "number": 1, "weight": "kernel", "norm": 5.0, "change": 0.5, "sums": [0.3, 0.4]}
STEP = {"loss": 2.5, "loss_rounding": 1e-7, "draws": [], "changes": [{**KERNEL, "rounding": 1e-6}]}
AGAIN = {"loss": 2.5, "draws": [], "changes": [{**KERNEL, "rounding": 0.0}]}
OTHER = "its training step after the last epoch is not the one before the first: "


def one(name: str, again: dict[str, Any] | None = AGAIN, first: dict[str, Any] = STEP) -> Measured:
    facts = {"parameters": 1, "weights": "seeded", "first_step": first}
    if again is not None:
        facts["step_again"] = again
    return measured(cell(backend=f"keras9/{name}"), 1.0, 1.0, facts=facts)


def said(*cells: Measured) -> dict[str, tuple[str, ...]]:
    return {key.split("__")[1]: text for key, text in in_words(fingerprints.differences(cells)).items()}


def changed(**values: Any) -> dict[str, Any]:
    return {**AGAIN, "changes": [{**KERNEL, "rounding": 0.0, **values}]}


@pytest.mark.parametrize(
    ("again", "sentence"),
    [
        ({**AGAIN, "loss": 2.3}, "the loss 2.300 instead of 2.500"),
        ({**AGAIN, "loss": 2.5001}, "the loss 2.5001 instead of 2.5000"),
        ({**AGAIN, "loss": None}, "the loss no number instead of 2.500"),
        ({**AGAIN, "draws": ["dropout"]}, "its layers draw dropout at random instead of nothing"),
        (changed(change=0.0, sums=[0.0, 0.0]), "Dense 1's kernel changes by 0 instead of 0.5000"),
        (changed(change=0.49), "Dense 1's kernel changes by 0.4900 instead of 0.5000"),
        (
            changed(sums=[0.31, 0.39]),
            "Dense 1's kernel changes by 0.5000, but in another direction (0.028 of it)",
        ),
        ({**AGAIN, "loss": 2.500001}, ""),
        (changed(change=0.500005), ""),
        (None, ""),
    ],
)
def test_a_step_that_has_changed_is_told(again: dict[str, Any] | None, sentence: str) -> None:
    expected = {"keras9-z": (OTHER + sentence,)} if sentence else {}
    assert said(one("x"), one("y"), one("z", again)) == expected
    assert said(one("x"), one("z", again)) == expected, "a row's own two steps are compared"


def test_noise_at_fixed_values_is_part_of_the_step() -> None:
    noisy = {"draws": ["dropout"], "noisy_loss": 2.0}
    first, again = {**STEP, **noisy}, {**AGAIN, **noisy}
    assert said(one("x", again, first), one("z", {**again, "noisy_loss": 2.1}, first)) == {
        "keras9-z": (OTHER + "the loss (dropout and noise at fixed values) 2.100 instead of 2.000",)
    }


def test_a_step_that_has_changed_alike_on_all_backends_is_the_examples_own() -> None:
    later = {**AGAIN, "loss": 2.3}
    assert said(one("x", later), one("y", later)) == {}
    assert said(one("x", later), one("z", {**AGAIN, "loss": 2.4})) == {
        "keras9-z": ("unlike keras9/x after the last epoch in the loss of the first batch: 2.400 instead of 2.300",)
    }


def test_a_step_whose_random_numbers_cannot_be_fixed_is_not_compared() -> None:
    unfixed = {**STEP, "loss_rounding": 0.1}
    assert said(one("x", first=unfixed), one("z", {**AGAIN, "loss": 2.3}, unfixed)) == {}


def test_a_step_that_has_changed_at_one_of_two_points_is_a_tie() -> None:
    def at_two(name: str, first: dict[str, Any], second: dict[str, Any]) -> Measured:
        facts = {"step_elsewhere": {**STEP, "point": 1}, "step_elsewhere_again": {**second, "point": 1}}
        usual = {"parameters": 1, "weights": "seeded", "first_step": STEP, "step_again": first}
        return measured(cell(backend=f"keras9/{name}"), 1.0, 1.0, facts={**usual, **facts})

    usual, later, tie = at_two("x", AGAIN, AGAIN), {**AGAIN, "loss": 2.3}, changed(change=0.49)
    for points in ((tie, AGAIN), (AGAIN, tie)):
        assert said(usual, at_two("z", *points)) == {}
    assert said(usual, at_two("z", tie, tie)) == {
        "keras9-z": (OTHER + "Dense 1's kernel changes by 0.4900 instead of 0.5000",)
    }
    for points in ((later, AGAIN), (AGAIN, later)):
        assert said(usual, at_two("z", *points)) == {"keras9-z": (OTHER + "the loss 2.300 instead of 2.500",)}
    # Where all have changed, their last steps are compared at both points, too.
    changed_alike = at_two("x", later, later)
    assert said(changed_alike, at_two("z", {**later, **tie, "loss": 2.3}, later)) == {}
    both = {**later, **tie, "loss": 2.3}
    assert "Dense 1's kernel changes by" in said(changed_alike, at_two("z", both, both))["keras9-z"][0]
