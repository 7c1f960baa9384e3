"""A loss that never falls and a score that never changes on any backend are a note; small trainings show nothing."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runs import cell, measured

from kbench.analysis.learning import no_progress
from kbench.analysis.summaries import summarise
from kbench.records.values import Measured
from kbench.tables import at_a_glance
from kbench.words import sentences

FLAT = [2.31, 2.303, 2.302]


def one(name: str, samples: int = 2000, first_loss: float = 2.3, **scores: Any) -> Measured:
    facts = {"first_step": {"loss": first_loss, "changes": [], "draws": []}}
    return measured(cell(backend=f"a/{name}", samples=samples), 1.0, 1.0, 1.0, facts=facts, **scores)


def said(*cells: Measured) -> list[list[str]]:
    rows = no_progress.add_notes(summarise(cells), cells)
    kinds = [[found for found in row.findings if found.kind == "no progress"] for row in rows]
    return [[sentences.sentence(found).partition(", as with")[0] for found in each] for each in kinds]


def test_a_loss_that_falls_on_no_backend_is_noted_on_all() -> None:
    text = "its loss does not fall in 3 epochs on any backend"
    assert said(one("x", loss=FLAT), one("y", loss=FLAT)) == [[text], [text]]
    assert said(one("x", loss=FLAT)) == [["its loss does not fall in 3 epochs"]]
    falls = one("y", loss=[2.3, 2.2, 2.1])
    assert said(one("x", loss=FLAT), falls) == [[], []], "which another check is for"


@pytest.mark.parametrize(
    "known",
    [
        {"loss": [2.3, 2.25, 2.303]},
        {"loss": [0.01, 0.01, 0.01]},  # it has fallen within the first epoch
        {"loss": FLAT, "samples": 1000},  # too few steps
        {"loss": None},
        {"loss": [2.3, 2.0, 1.0], "val_accuracy": [1.0, 1.0, 1.0]},
        {"loss": [2.3, 2.0, 1.0], "val_accuracy": [0.5, 0.5, 0.51]},
    ],
)
def test_of_an_honest_training_nothing_is_said(known: dict[str, Any]) -> None:
    assert said(one("x", **known)) == [[]]


def test_scores_that_never_change_are_noted_too() -> None:
    stuck: dict[str, Any] = {"loss": [2.3, 2.0, 1.0], "val_accuracy": 0.098, "val_loss": 2.5}
    text = "its validation {} does not change in 3 epochs on any backend"
    each = {text.format("loss"), text.format("accuracy")}
    assert [set(row) for row in said(one("x", **stuck), one("y", **stuck))] == [each, each]


def test_a_run_of_several_examples_names_it_once_for_each() -> None:
    cells = [one("x", loss=FLAT), one("y", loss=FLAT)]
    found = at_a_glance.problems(no_progress.add_notes(summarise(cells), cells))
    assert [text for text in found if "does not fall" in text] == [
        "mnist_cnn: its loss does not fall in 3 epochs on any backend, as with dead units, wrong labels or a wrong "
        "learning rate."
    ]
