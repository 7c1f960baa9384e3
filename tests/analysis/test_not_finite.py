"""What is no finite number is found, with since when, and such a row has no rank."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fake_runs import cell, measured, summary

from kbench.analysis.sameness import not_finite
from kbench.records.findings import Finding
from kbench.records.values import FAILED, Measured
from kbench.tables import answers, at_a_glance, lost
from kbench.words import sentences

NAN, INF = math.nan, math.inf


def said(one: Measured) -> str:
    found = not_finite.finding(one)
    return "" if found is None else sentences.sentence(found)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"loss": [1.0, NAN, NAN], "val_loss": [NAN, NAN, NAN]}, "its loss is nan from epoch 2"),
        ({"loss": [INF, 1.0, 0.5]}, "its loss is infinite in epoch 1"),
        ({"loss": [1.0, 1.0, INF]}, "its loss is infinite from epoch 3"),
        ({"loss": 1.0, "val_accuracy": [0.5, NAN, 0.5]}, "its validation accuracy is nan in epoch 2"),
        ({"loss": 1.0, "metrics": {"val_auc": NAN}}, "its val_auc is nan from epoch 1"),
        ({"loss": 1.0, "val_loss": None}, ""),
    ],
)
def test_the_first_score_and_since_when(scores: dict[str, Any], expected: str) -> None:
    assert said(measured(cell(), 1.0, 1.0, 1.0, **scores)) == expected


def test_weights_and_outputs_are_looked_at_too_and_of_what_failed_nothing_is_said() -> None:
    received = {2: {"event": "received", "epoch": 2, "not_finite": 3}}
    facts: dict[str, Any] = {"probe": [[0.5]], "probe_scales": [0.5], "received": received}
    assert said(measured(cell(), 1.0, 1.0, loss=1.0, facts=facts)) == "its weights are nan from epoch 2"
    for scale in (None, NAN, INF):
        facts = {"probe": [[0.5], [1.0]], "probe_scales": [0.5, scale]}
        assert said(measured(cell(task="infer"), 1.0, 1.0, facts=facts)) == "its outputs are nan"
    assert said(measured(cell(), 1.0, loss=NAN, status=FAILED)) == ""


LOST = Finding(kind="not finite", aspect="loss", own="nan", about={"epoch": 1, "on": True})


def test_one_sentence_names_all_examples_and_it_stands_first() -> None:
    rows = [
        summary(backend, example, findings=findings, relative_to_fastest=None if findings else 1.0)
        for example, nans in (("a", "xy"), ("b", "xy"), ("c", "x"), ("d", ""))
        for backend in ("k/x", "k/y")
        for findings in [(LOST,) if backend[-1] in nans else ()]
    ]
    first = [
        "The loss of a and b is nan from epoch 1 on k/x and k/y: no time is ranked.",
        "The loss of c is nan from epoch 1 on k/x: not ranked.",
    ]
    assert lost.sentences(rows) == first
    assert answers.headline(rows).startswith(" ".join(first))
    assert at_a_glance.text(rows, 200).startswith(" ".join(first))
    assert not any("nan" in one for one in at_a_glance.problems(rows)), "once is enough"
    assert "No backend has a steady epoch" not in answers.headline(rows[:4])
