"""Trainings from the same weights whose losses differ in any epoch did other work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from fake_runs import cell, in_words, measured, replace

from kbench.analysis.sameness import fingerprints
from kbench.records.backend_keys import explanations
from kbench.records.epochs import Epoch
from kbench.records.reported import Step
from kbench.records.values import Measured
from kbench.words import sentences

KNOWN = {"what": ["1 step"], "bound": 0.1, "bound_of_change": 0.2, "reason": "It is known.", "layer": "Dense"}
KERNEL = {
    "class": "Dense",
    "number": 1,
    "weight": "kernel",
    "norm": 5.0,
    "change": 0.5,
    "sums": [0.5],
    "rounding": 0.0,
}


def one(name: str, loss: float | None, draws: list[str] | None, samples: int = 1000, **changed: Any) -> Measured:
    step = {"loss": 2.5, "loss_rounding": 1e-7, "changes": [{**KERNEL, **changed}], "draws": draws}
    the_cell = replace(cell(backend=f"keras9/{name}"), samples=samples, batch_size=10)
    facts = {
        "parameters": 1,
        "weights": "seeded",
        "first_step": step,
        "explained": [KNOWN],
        "layers": [["Dense", {}, []]],
    }
    return measured(the_cell, 1.0, 1.0, facts=facts, loss=loss)


def said(*cells: Measured) -> dict[str, tuple[str, ...]]:
    return {key.split("__")[1]: text for key, text in in_words(fingerprints.differences(cells)).items()}


@pytest.mark.parametrize(
    ("loss", "draws", "samples", "differs"),
    [
        (1.68, [], 1000, False),
        (1.71, [], 1000, False),
        (1.75, [], 1000, True),
        (1.4, [], 20, True),
        (1.87, ["dropout"], 1000, False),
        (2.28, ["dropout"], 1000, True),
        (2.28, ["dropout"], 90, False),
        (2.28, None, 1000, False),
        (None, [], 1000, False),
    ],
)
def test_the_loss_of_the_first_epoch_is_that_of_the_others(
    loss: float | None, draws: list[str] | None, samples: int, differs: bool
) -> None:
    found = said(one("a", 1.68, draws, samples), one("b", 1.68, draws, samples), one("c", loss, draws, samples))
    expected = (
        f"unlike keras9/a in the loss of epoch 1: {loss or 0:.2f} instead of 1.68, from the same weights and batches"
    )
    assert list(found.values()) == ([(expected,)] if differs else [])


def test_of_two_the_first_is_right_and_a_known_difference_explains_it() -> None:
    assert said(one("a", 1.0, []), one("b", 2.0, [])) == {
        "keras9-b": (
            "unlike keras9/a in the loss of epoch 1: 2.00 instead of 1.00, from the same weights and batches",
        )
    }
    step: dict[str, Any] = {"sums": [0.45], "change": 0.45}
    assert said(one("a", 1.0, []), one("b", 1.09, [], **step)) == {}
    assert said(one("a", 1.0, []), one("b", 2.0, [], **step)), "the first step explains no such loss"


CLIPPED = {"what": ["loss", "rising loss"], "bound": 0.01, "bound_of_loss": 0.6, "reason": "It does not clip."}


@pytest.mark.parametrize(
    ("clipped", "unclipped", "differs"),
    [
        (7.2, 13.1, False),
        (7.2, 6.0, False),
        (2.1, 2.8, False),
        (2.1, 2.55, True),
        (1.5, 3.0, True),
        (7.2, 72.0, True),
    ],
)
def test_a_loss_that_others_clip_is_explained_while_it_is_as_high_as_at_first(
    clipped: float, unclipped: float, differs: bool
) -> None:
    cells = [one("a", clipped, []), one("b", clipped, []), one("c", unclipped, [])]
    facts = msgspec.structs.replace(cells[2].facts, explained=explanations([CLIPPED]))
    cells[2] = replace(cells[2], facts=facts)
    assert bool(said(*cells)) == differs
    notes = sentences.all_of(fingerprints.add_notes(cells)[2].findings)
    known = ("known difference from keras9/a in its loss of epoch 1: It does not clip.",)
    assert notes == (() if differs else known)
    named = [text for found in said(*cells).values() for text in found if "may be why: It does not clip" in text]
    assert bool(named) == (differs and unclipped >= 2.5), "it shows in losses as large as at first"


def epochs(
    name: str, losses: Sequence[float], draws: list[str] | None = None, **of_each: Sequence[float]
) -> Measured:
    found = one(name, losses[0], [] if draws is None else draws)
    return replace(
        found,
        epochs=tuple(
            msgspec.structs.replace(
                Epoch(number + 1, 1.0, 1000, loss), **{name: values[number] for name, values in of_each.items()}
            )
            for number, loss in enumerate(losses)
        ),
    )


@pytest.mark.parametrize(
    ("draws", "losses", "number"),
    [
        ([], (1.0, 0.51, 0.25), 0),
        ([], (1.0, 0.6, 0.25), 2),
        ([], (1.0, 0.5, 2.3), 3),
        ([], (1.0, 0.5, 0.258), 0),  # 3.1 %, where 2 % times the root of 3 are allowed
        ([], (1.0, 0.5, 0.26), 3),
        (["dropout"], (1.0, 0.6, 0.27), 0),
        (["dropout"], (1.0, 0.5, 0.4), 3),
    ],
)
def test_later_epochs_are_compared_too(draws: list[str], losses: Sequence[float], number: int) -> None:
    found = said(epochs("a", (1.0, 0.5, 0.25), draws), epochs("b", losses, draws))
    if not number:
        assert found == {}
    else:
        (text,) = found["keras9-b"]
        assert text.startswith(f"unlike keras9/a in the loss of epoch {number}: ")


def test_nothing_is_said_of_epochs_after_training_became_unstable() -> None:
    assert said(epochs("a", (2.0, 4.0, 3.0)), epochs("b", (2.0, 4.1, 30.0))) == {}
    assert said(epochs("a", (2.0, 1.0, 1.0)), epochs("b", (2.0, 1.0, 30.0)))


def test_losses_near_zero_are_compared_beside_the_first() -> None:
    assert said(epochs("a", (1.0, 0.01)), epochs("b", (1.0, 0.011))) == {}
    assert said(epochs("a", (1.0, 0.01)), epochs("b", (1.0, 0.02)))


def test_validation_and_accuracy_follow_from_a_training_with_the_same_loss() -> None:
    usual = epochs("a", (1.0, 0.5), val_loss=(1.0, 0.4), val_accuracy=(0.5, 0.9), accuracy=(0.5, 0.9))
    poor = epochs("b", (1.0, 0.5), val_loss=(1.0, 14.9), val_accuracy=(0.5, 0.07), accuracy=(0.5, 0.9))
    assert said(usual, poor) == {
        "keras9-b": (
            "unlike keras9/a in its validation loss of epoch 2: 14.9 instead of 0.400, at the same loss in training",
        )
    }
    own = epochs("b", (1.0, 0.5), val_loss=(1.0, 0.4), val_accuracy=(0.5, 0.9), accuracy=(0.5, 1.0))
    assert said(usual, own) == {
        "keras9-b": ("unlike keras9/a in its accuracy of epoch 2: 1 instead of 0.9, at the same loss",)
    }
    chance = epochs("b", (1.0, 0.49), val_loss=(1.0, 0.9), val_accuracy=(0.5, 0.8), accuracy=(0.5, 0.96))
    assert said(usual, chance) == {}


AVERAGES = {
    "what": ["1 step"],
    "bound": 1,
    "bound_of_change": 1.0,
    "untrained": True,
    "reason": "They follow sooner.",
}


def test_averages_that_are_known_to_differ_explain_another_validation_and_no_other_training() -> None:
    later = [{**KERNEL, "weight": "moving_mean", "sums": [sums]} for sums in (0.5, 0.3)]

    def beside(*losses: float) -> list[Measured]:
        usual = epochs("a", (1.0, 0.5), val_loss=(1.0, 0.4), val_accuracy=(0.5, 0.9))
        other = epochs("b", losses, val_loss=(9.0, 6.0), val_accuracy=(0.1, 0.1))
        known = explanations([AVERAGES])
        return [
            replace(
                cell,
                facts=msgspec.structs.replace(
                    cell.facts,
                    explained=known,
                    first_step=msgspec.convert(
                        {"event": "step", "loss": 2.5, "changes": [KERNEL, average], "draws": []}, Step
                    ),
                ),
            )
            for cell, average in zip((usual, other), later, strict=True)
        ]

    assert said(*beside(1.0, 0.5)) == {}
    assert sentences.sentence(fingerprints.add_notes(beside(1.0, 0.5))[1].findings[-1]) == (
        "known difference from keras9/a in its validation loss of epoch 1: They follow sooner."
    )
    assert "the loss of epoch 2" in said(*beside(1.0, 0.9))["keras9-b"][0]


def test_a_loss_differs_in_two_epochs_where_a_difference_is_declared() -> None:
    """How far the declared difference takes a loss is not known exactly."""

    def beside(*losses: float, declared: bool = True) -> dict[str, tuple[str, ...]]:
        cells = [epochs("a", (1.0,) * len(losses)), epochs("b", losses)]
        if declared:  # of one alone
            cells[0] = replace(cells[0], facts=msgspec.structs.replace(cells[0].facts, explained=()))
        return said(*cells)

    assert beside(1.14, 1.0, 1.0) == beside(1.0, 1.0, 1.22) == {}
    assert "the loss of epoch 1: 1.14" in beside(1.14, 1.2, 1.0)["keras9-b"][0]
    assert "the loss of epoch 1: 1.14" in beside(1.14, 1.0, 1.3)["keras9-b"][0]
    assert "the loss of epoch 1: 1.14" in beside(1.14)["keras9-b"][0], "it has no other"
    assert "the loss of epoch 1: 1.30" in beside(1.3, 1.0)["keras9-b"][0], "so far no dropout takes it"
    assert "the loss of epoch 1: 1.14" in beside(1.14, 1.0, 1.0, declared=False)["keras9-b"][0]


def test_accuracies_may_be_apart_at_the_same_loss_where_nothing_is_learnt() -> None:
    usual = epochs("a", (0.7, 0.69), ["dropout"], val_loss=(0.7, 0.69), val_accuracy=(0.3, 0.3), accuracy=(0.3, 0.3))
    other = epochs("b", (0.7, 0.69), ["dropout"], val_loss=(0.7, 0.7), val_accuracy=(0.7, 0.7), accuracy=(0.7, 0.7))
    assert said(usual, other) == {}
    flat = epochs("b", (0.7, 0.69), ["dropout"], val_loss=(0.7, 1.0), val_accuracy=(0.3, 0.7), accuracy=(0.3, 0.3))
    assert "its validation loss of epoch 2: 1.00 instead of 0.690" in said(usual, flat)["keras9-b"][0]


def test_a_loss_that_is_no_number_is_unlike_one_that_is() -> None:
    usual, broken = epochs("a", (1.0, 0.5)), epochs("b", (1.0, math.nan))
    text = "in the loss of epoch 2: no number instead of 0.500, from the same weights and batches"
    assert said(usual, broken) == {"keras9-b": (f"unlike keras9/a {text}",)}
    assert said(broken, usual) == {"keras9-b": (f"unlike keras9/a {text}",)}
    assert said(epochs("a", (2.0, 400.0)), epochs("b", (2.0, math.nan))) == {}, "training is unstable on both"


def test_epochs_of_the_same_number_are_compared() -> None:
    usual = epochs("a", (1.0, 0.5, 0.25))
    assert said(usual, replace(usual, cell=cell(backend="keras9/b"), epochs=usual.epochs[1:])) == {}


def test_programs_whose_weights_and_batches_are_their_own_are_not_compared() -> None:
    def of_program(one: Measured) -> Measured:
        facts = msgspec.structs.replace(one.facts, unit="epoch", weights="", first_step=None)
        return replace(one, facts=facts)

    cells = epochs("a", (1.0, 0.001)), epochs("b", (1.0, 0.1))
    assert said(*cells)
    assert said(*map(of_program, cells)) == {}


def test_what_is_random_in_an_unknown_way_is_compared_widely() -> None:
    cells = [epochs("a", (1.0, 0.3)), epochs("b", (1.0, 0.5)), epochs("c", (1.0, 34.0))]
    unfixed = [
        replace(
            cell,
            facts=msgspec.structs.replace(
                cell.facts, first_step=msgspec.structs.replace(cell.facts.first_step, loss_rounding=1.0)
            ),
        )
        for cell in cells
    ]
    assert list(said(*unfixed)) == ["keras9-c"]


SAME = (1.0, 0.5, 0.25)


@pytest.mark.parametrize(
    ("what", "own", "right", "words"),
    [
        ("accuracy", 0.62, 0.6, "its accuracy of epoch 2: 0.62 instead of 0.6, at the same loss"),
        (
            "val_loss",
            0.63,
            0.6,
            "its validation loss of epoch 2: 0.630 instead of 0.600, at the same loss in training",
        ),
        ("accuracy", 0.606, 0.6, ""),
        ("val_loss", 0.606, 0.6, ""),
    ],
)
def test_at_the_same_loss_of_training_without_random_numbers_scores_are_the_same(
    what: str, own: float, right: float, words: str
) -> None:
    def both(draws: list[str]) -> list[Measured]:
        return [epochs(name, SAME, draws, **{what: [0.5, one, 0.7]}) for name, one in (("a", right), ("b", own))]

    cells = both([])
    assert said(*cells) == ({"keras9-b": (f"unlike keras9/a in {words}",)} if words else {})
    assert said(*both(["dropout"])) == {}, "with dropout they need not be"


def test_at_the_same_validation_loss_accuracies_are_the_same() -> None:
    right, generous = ({"val_loss": [0.6] * 3, "val_accuracy": [0.7, 0.7, last]} for last in (0.7, 0.715))
    (text,) = said(epochs("a", SAME, [], **right), epochs("b", SAME, [], **generous))["keras9-b"]
    assert text == "unlike keras9/a in its validation accuracy of epoch 3: 0.715 instead of 0.7, at the same loss"


def test_of_a_step_that_failed_on_one_the_other_tells_whether_anything_is_random() -> None:
    usual, other = epochs("a", (1.0, 0.5)), epochs("b", (1.0, 0.55))
    step = msgspec.structs.replace(other.facts.first_step, unchecked="ValueError: batch", draws=None)
    failed = replace(other, facts=msgspec.structs.replace(other.facts, first_step=step))
    assert "the loss of epoch 2: 0.550" in said(usual, failed)["keras9-b"][0]
    noisy = msgspec.structs.replace(other.facts.first_step, loss_rounding=1.0)
    unfixed = replace(other, facts=msgspec.structs.replace(other.facts, first_step=noisy))
    assert said(usual, unfixed) == {}
    later = replace(unfixed, epochs=epochs("b", (1.0, 0.65)).epochs)
    assert "the loss of epoch 2: 0.650" in said(usual, later)["keras9-b"][0]
