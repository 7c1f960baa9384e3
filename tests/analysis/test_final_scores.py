"""Final scores of several seeds are compared seed by seed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fake_runs import cell, measured, summary

from kbench.analysis.learning import final_scores
from kbench.analysis.summaries import summarise
from kbench.records.values import BesideBest, Interval, Measured
from kbench.summary import Summary
from kbench.tables import scores


def trainings(seeds: int, off: float, **names: float) -> list[Measured]:
    """Of two backends: the second's score is off by this in the mean, and both vary with the seed."""
    drawn, found = random.Random(1), []
    for seed in range(seeds):
        of_seed = drawn.gauss(0, 0.03)
        for backend, less in (("keras3/jax", 0.0), ("keras3/torch", off)):
            values: dict[str, Any] = {
                name: value + of_seed - less + drawn.gauss(0, 0.002) for name, value in names.items()
            }
            found.append(measured(cell(backend=backend, repeat=seed + 1, seed=seed), 2.0, 1.0, 1.0, **values))
    return found


def noted(found: list[Measured]) -> dict[str, Summary]:
    return {row.backend: row for row in final_scores.add_notes(summarise(found), found)}


def test_a_score_that_is_lower_with_each_seed_is_lower() -> None:
    rows = noted(trainings(5, 0.04, val_accuracy=0.9, loss=0.3))
    one = rows["keras3/torch"].score
    assert one is not None and one.name == "val_accuracy" and one.best == "keras3/jax" and one.seeds == 5
    assert -0.05 < one.difference.low < one.difference.high < -0.03
    (sentence,) = scores.sentences(list(rows.values()))
    assert sentence.startswith("Over 5 seeds val_accuracy is best on keras3/jax: 0.9")
    assert "keras3/torch is lower by 4" in sentence and "points (3." in sentence


def test_scores_that_vary_together_are_no_lower() -> None:
    rows = noted(trainings(5, 0.0, val_accuracy=0.9))
    (sentence,) = scores.sentences(list(rows.values()))
    assert " is no lower (-0." in sentence and " to +0." in sentence and sentence.endswith(" points).")


def test_a_loss_is_better_if_it_is_lower() -> None:
    rows = noted(trainings(6, -0.1, loss=0.3))
    assert {row.score.best for row in rows.values() if row.score} == {"keras3/jax"}
    (sentence,) = scores.sentences(list(rows.values()))
    assert "keras3/torch is higher by 0.1" in sentence


@pytest.mark.parametrize("seeds", [1, 2])
def test_nothing_is_said_of_few_seeds(seeds: int) -> None:
    rows = noted(trainings(seeds, 0.1, val_accuracy=0.9))
    assert all(row.score is None for row in rows.values())
    assert scores.sentences(list(rows.values())) == []


def test_scores_that_vary_widely_are_not_shown_to_be_lower() -> None:
    drawn = random.Random(2)
    found = [
        measured(cell(backend=name, repeat=seed + 1, seed=seed), 2, 1, 1, val_accuracy=0.8 + drawn.gauss(0, 0.1))
        for seed in range(4)
        for name in ("keras3/jax", "keras3/torch")
    ]
    (sentence,) = scores.sentences(list(noted(found).values()))
    assert "is not shown to be lower (" in sentence and "more seeds tell" in sentence


def test_no_accuracy_is_said_to_be_off_by_more_than_it_can_be() -> None:
    rows = [
        summary(name, score=BesideBest("val_accuracy", mean, "keras3/jax", 3, Interval(*ends)))
        for name, mean, ends in (
            ("keras3/jax", 0.57, (0.0, 0.0)),
            ("keras3/torch", 0.41, (-1.32, 1.0)),
            ("keras3/tensorflow", 0.55, (-0.1, 0.6)),
        )
    ]
    (sentence,) = scores.sentences(rows)
    assert "keras3/torch is at 0.4100, but 3 seeds are too few to tell" in sentence
    assert "keras3/tensorflow is not shown to be lower (-10 to +43 points; more seeds tell)" in sentence
