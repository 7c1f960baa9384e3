"""Where EarlyStopping restored an epoch's weights, evaluate has that epoch's loss, or the first sentence says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from fake_runs import cell, measured
from guest_modules import guest
from test_guest_returned import Framework, Model, Written

from kbench.analysis.summaries import summarise
from kbench.features.script.events import OfLine, Returned
from kbench.features.script.lines import afterwards
from kbench.features.script.lines.units import CALL
from kbench.features.script.told import unlike_calls

FIT, EVALUATE = "fit, line 9", "evaluate, line 10"
X, Y = np.ones((8, 2)), np.ones((8, 1))
HISTORY = SimpleNamespace(epoch=[5, 6, 7], history={"val_loss": [3.0, 1.0, 2.0]})
STOP = {"restore_best_weights": True, "best_weights": [], "best": 1.0, "monitor": "val_loss", "stopped_epoch": 7}


def told(tmp_path: Path, stop: dict[str, Any], fit: dict[str, Any], evaluate: dict[str, Any], **then: float) -> Any:
    """What is written of an evaluate after a fit with these; then: what the program sets the weights to between."""
    model, written = Model(), Written()
    with guest(tmp_path, "kbench_script.watching.restored") as (restored,):
        kept = restored.Restored(Framework(), written)
        given = {"callbacks": [SimpleNamespace(), SimpleNamespace(**{**STOP, **stop})], **fit}
        kept.fit_ended(FIT, model, given, HISTORY)
        for value in then.values():
            model.layers[0].kernel[...] = value
        for _ in range(2):
            kept.evaluate_ended(EVALUATE, model, evaluate, {"loss": 2.0})
    return [one["restored"] for one in written]


ARRAYS = {"validation_data": (X, Y), "batch_size": 4}
EVALUATED = {"x": X.copy(), "y": Y}


@pytest.mark.parametrize("stop", [{}, {"best_epoch": 6}])
def test_evaluate_on_what_fit_validated_with_is_told_once_beside_the_restored_epoch(
    tmp_path: Path, stop: dict[str, Any]
) -> None:
    expected = {"site": FIT, "epoch": 2, "fit": 1.0, "evaluate": 2.0, "sizes": [4, 32]}
    assert told(tmp_path, stop, ARRAYS, EVALUATED) == [expected]


def test_so_it_is_with_a_validation_split_and_with_what_gives_batches(tmp_path: Path) -> None:
    split = {"x": np.arange(16.0).reshape(8, 2), "y": Y, "validation_split": 0.25}
    assert told(tmp_path, {}, split, {"x": split["x"][6:], "y": Y[6:]})[0]["sizes"] == [32, 32]  # type: ignore[index]
    batches = object()
    assert told(tmp_path, {}, {"validation_data": batches}, {"x": batches})[0]["sizes"] == []


@pytest.mark.parametrize(
    ("stop", "fit", "evaluate", "then"),
    [
        ({"restore_best_weights": False}, ARRAYS, EVALUATED, {}),
        ({"stopped_epoch": 0}, ARRAYS, EVALUATED, {}),  # the fake Keras is one of generation 2
        ({"best_weights": None}, ARRAYS, EVALUATED, {}),
        ({"monitor": "val_auc"}, ARRAYS, EVALUATED, {}),
        ({}, {"batch_size": 4}, EVALUATED, {}),
        ({}, {**ARRAYS, "validation_steps": 1}, EVALUATED, {}),
        ({}, {"validation_data": (X, Y, Y)}, EVALUATED, {}),
        ({}, ARRAYS, {"x": X + 1, "y": Y}, {}),
        ({}, ARRAYS, {**EVALUATED, "steps": 1}, {}),
        ({}, ARRAYS, {**EVALUATED, "sample_weight": Y}, {}),
        ({}, ARRAYS, EVALUATED, {"other": 9.0}),
    ],
)
def test_of_other_weights_or_data_nothing_is_told(
    tmp_path: Path, stop: dict[str, Any], fit: dict[str, Any], evaluate: dict[str, Any], then: dict[str, float]
) -> None:
    assert told(tmp_path, stop, fit, evaluate, **then) == []


@pytest.mark.parametrize(
    ("evaluate", "sizes", "said"),
    [
        (1.0005, [32, 32], ""),
        (
            float("nan"),
            [32, 32],
            "has a loss of nan where epoch 2 of fit, line 9, whose weights EarlyStopping restores",
        ),
        (
            2.0,
            [32, 32],
            "has a loss of 2 where epoch 2 of fit, line 9, whose weights EarlyStopping restores, had 1 on ",
        ),
        (2.0, [64, 32], "on the same data, in batches of 64 and not 32."),
    ],
)
def test_only_what_does_not_agree_is_the_first_sentence(evaluate: float, sizes: list[int], said: str) -> None:
    restored = {"site": FIT, "epoch": 2, "fit": 1.0, "evaluate": evaluate, "sizes": sizes}
    returned = msgspec.convert({"restored": restored}, Returned)
    one = measured(cell(f"train.py: {EVALUATE}", "a/x"), 1.0, 1.0, facts={"unit": CALL, "task": "infer"})
    one = replace(one, facts=msgspec.structs.replace(one.facts, of_kind=OfLine(returned)))
    sentences = unlike_calls.sentences(afterwards.add_notes(summarise([one]), [one]))
    assert len(sentences) == bool(said) and said in " ".join(sentences)
