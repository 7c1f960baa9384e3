"""Trainings from the same weights that lose otherwise in the first epoch did other work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from fake_runs import cell, measured

from kbench.analysis import fingerprints
from kbench.backend_keys import explanations
from kbench.values import Measured

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
    return {key.split("__")[1]: text for key, text in fingerprints.differences(cells).items()}


@pytest.mark.parametrize(
    ("loss", "draws", "samples", "differs"),
    [
        (1.68, [], 1000, False),
        (1.75, [], 1000, False),
        (1.87, [], 1000, True),
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
    assert said(one("a", 1.0, []), one("b", 2.0, [], sums=[0.45], change=0.45)) == {}


CLIPPED = {"what": ["loss", "rising loss"], "bound": 0.01, "bound_of_loss": 0.6, "reason": "It does not clip."}


@pytest.mark.parametrize(
    ("clipped", "unclipped", "differs"), [(7.2, 13.1, False), (7.2, 6.0, True), (3.0, 5.0, True), (7.2, 72.0, True)]
)
def test_a_loss_that_others_clip_is_explained_if_it_rises(clipped: float, unclipped: float, differs: bool) -> None:
    cells = [one("a", clipped, []), one("b", clipped, []), one("c", unclipped, [])]
    facts = msgspec.structs.replace(cells[2].facts, explained=explanations([CLIPPED]))
    cells[2] = replace(cells[2], facts=facts)
    assert bool(said(*cells)) == differs
    notes = fingerprints.noted(cells)[2].facts.notes
    known = ("its loss of epoch 1 differs from that of keras9/a, as is known: It does not clip.",)
    assert notes == (() if differs else known)
