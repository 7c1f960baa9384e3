"""Rows that do not learn like the others are marked where their verdict stands, with the known cause."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runs import cell, measured, replace, summary

from kbench.analysis.learning import unlike_others
from kbench.summary import Summary

EXPLAINED = {
    "what": ("1 step", "10 steps"),
    "bound": 1.0,
    "layer": "Embedding",
    "optimizer": "Adam",
    "reason": "Its Adam squares otherwise.",
}
FACTS = {"optimizer": {"class_name": "Adam"}, "layers": [["Embedding", {}, []], ["GRU", {}, []]]}
NAMES = ("keras2/cntk", "keras2/theano", "keras3/jax")


def rows(odd: float) -> list[Summary]:
    accuracies = {**dict.fromkeys(NAMES, 0.65), "keras3/tensorflow": odd}
    return [
        summary(name, final_val_accuracy=value, validation_samples=1000, repeats=5, seeds=1, deterministic=True)
        for name, value in accuracies.items()
    ]


def noted(odd: float, facts: dict[str, Any] = FACTS, **changes: Any) -> list[Summary]:
    explained = [{**EXPLAINED, **changes}]
    cells = [measured(cell(backend="keras3/tensorflow"), 1.0, facts={**facts, "explained": explained})]
    return unlike_others.add_notes(rows(odd), cells)


def test_the_note_names_the_known_difference_instead_of_chance() -> None:
    *others, odd = noted(0.5)
    assert odd.notes == (
        "does not learn like the others: validation accuracy 0.5000, median of the others 0.6500; the choice of "
        "validation samples alone explains up to 0.064. A known difference may be why (docs/parity.md): Its Adam "
        "squares otherwise",
    )
    assert odd.learning_cause == "Its Adam squares otherwise."
    assert all(not row.notes for row in others)
    assert all(not row.notes for row in noted(0.64)), "that is chance"


def test_the_cause_is_that_of_its_own_cell_where_an_example_has_several_tasks() -> None:
    explained = [EXPLAINED]
    trains, infers = (
        measured(cell(backend="keras3/tensorflow", axes={"task": task}), 1.0, facts=facts)
        for task, facts in (("train", {**FACTS, "explained": explained}), ("infer", {}))
    )
    its = [replace(row, axes={"task": "train"}) for row in rows(0.5)]
    assert unlike_others.add_notes(its, [trains, infers])[-1].learning_cause == "Its Adam squares otherwise."


@pytest.mark.parametrize(
    ("facts", "changes"),
    [
        ({**FACTS, "optimizer": {"class_name": "SGD"}}, {}),
        ({**FACTS, "layers": [["Dense", {}, []]]}, {}),
        (FACTS, {"unlike": ("keras3/torch", "keras2/mxnet")}),
        (FACTS, {"what": ("loss",)}),
        ({}, {}),
    ],
    ids=["optimizer", "layer", "like the others", "not of training", "unknown"],
)
def test_what_does_not_fit_the_training_is_no_cause(facts: dict[str, Any], changes: dict[str, Any]) -> None:
    odd = noted(0.5, facts, **changes)[-1]
    assert odd.learning_cause == ""
    assert "5 identical trainings: `--repeats 3 --seeds different` shows whether it is chance" in odd.notes[0]


@pytest.mark.parametrize(("accuracy", "unlike"), [(0.58, False), (0.45, True)])
def test_one_training_from_weights_of_its_own_may_be_further_off(accuracy: float, unlike: bool) -> None:
    scores = {"keras2/cntk": 0.66, "keras2/theano": 0.65, "keras3/jax": accuracy}
    its = [
        summary(
            name,
            "train.py: fit, line 9",
            task="train",
            unit="epoch",
            final_val_accuracy=one,
            validation_samples=4000,
        )
        for name, one in scores.items()
    ]
    assert [bool(row.notes) for row in unlike_others.add_notes(its, [])] == [False, False, unlike]
