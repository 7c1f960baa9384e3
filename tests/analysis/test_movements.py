"""An epoch in which every weight moves otherwise than elsewhere differs, whatever its loss is excused by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from fake_runs import cell, in_words, measured

from kbench.analysis.sameness import fingerprints, movements
from kbench.records.values import Measured

EMBEDDING = {
    "what": ["1 step", "10 steps"],
    "bound": 0.5,
    "bound_of_change": 0.7,
    "bound_of_loss": 0.2,
    "layer": "Embedding",
    "optimizer": "Adam",
    "reason": "It sums the squares.",
}
LOSSES = (1.1011, 1.0698)


def change(kind: str, size: float) -> dict[str, Any]:
    return {
        "class": kind,
        "number": 1,
        "weight": "kernel",
        "norm": 5.0,
        "change": size,
        "sums": [size],
        "rounding": 0.0,
    }


def one(
    name: str,
    *moved: Sequence[float | None],
    losses: Sequence[float] = LOSSES,
    embedding: float = 0.5,
    **received: Any,
) -> Measured:
    """A training of an Embedding and a Dense; moved: of both epochs."""
    changes = [change("Embedding", embedding), change("Dense", 0.5)]
    epochs = {
        number: {"event": "received", "epoch": number, "learning_rate": 0.001, "moved": each, **received}
        for number, each in enumerate(moved, 1)
    }
    facts = {
        "parameters": 1,
        "weights": "seeded",
        "first_step": {"loss": 1.1, "loss_rounding": 1e-7, "changes": changes, "draws": []},
        "explained": [EMBEDDING],
        "optimizer": {"class_name": "Adam"},
        "layers": [["Embedding", {}, []], ["Dense", {}, []]],
        "received": epochs,
    }
    return measured(cell(backend=f"keras9/{name}"), 1.0, 1.0, facts=facts, loss=list(losses))


def said(*cells: Measured) -> dict[str, tuple[str, ...]]:
    return {key.split("__")[1]: text for key, text in in_words(fingerprints.differences(cells)).items()}


USUAL = one("a", (1.2, 0.8), (1.0, 0.7))


def test_a_rate_that_is_zero_in_most_steps_is_not_excused_by_a_known_difference() -> None:
    known = one("b", (1.3, 0.8), (1.5, 0.7), embedding=0.3)
    assert said(USUAL, known) == {}
    losses = (1.1011, 1.0958)
    cheat = one("b", (1.3, 0.8), (0.12, 0.09), losses=losses, embedding=0.3)
    assert said(USUAL, cheat) == {
        "keras9-b": ("unlike keras9/a in how far it moves its weights in epoch 2: 0.12 times as far",)
    }
    assert said(USUAL, one("b", (1.3, 0.8), losses=losses, embedding=0.3)) == {}, "by its loss alone it is excused"


@pytest.mark.parametrize(
    "other",
    [
        one("b", (0.8, 1.2), (0.7, 1.0)),  # listed in another order
        one("b", (1.2, 0.8), (0.1, 0.6)),  # one weight alone
        one("b", (0.7, 0.45), (0.6, 0.4)),
        one("b", (1.2, 0.8, 3.0), (0.1, 0.1, 0.1)),  # split otherwise
        one("b", (1.2, 0.8), (None, None)),
        one("b", (1.2, 0.8), (0.1, 0.1), losses=(1.1, 0.04)),  # at its end
        one("b", (1.2, 0.8), (9.0, 9.0), losses=(1.1, 1.7)),  # chaos
        one("b"),
    ],
)
def test_what_is_honest_or_not_known_is_not_told(other: Measured) -> None:
    assert movements.differences([USUAL, other]) == []


def test_frozen_weights_and_those_that_move_too_far_are_told_of_the_row_that_most_are_unlike() -> None:
    others = [USUAL, one("c", (1.2, 0.8), (1.0, 0.7))]
    for moved, times in (((0.0, 0.0), 0.0), ((2.5, 1.5), 2.3)):
        ((which, how),) = movements.differences([one("b", (1.2, 0.8), moved), *others])
        assert which.cell.backend == "keras9/b" and math.isclose(how.own, times, abs_tol=0.05), times


def test_rates_that_callbacks_set_by_scores_are_their_own() -> None:
    by_scores = one("b", (1.2, 0.8), (0.1, 0.07))
    by_scores.facts.received[2] = type(by_scores.facts.received[2])(epoch=2, moved=(0.1, 0.07))
    assert movements.differences([USUAL, by_scores]) == []
