"""Losses, scores, weights or outputs that are no finite numbers are the first sentence, and take a row's rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fake_bench import EXAMPLE, INFERENCE, Bench

from kbench.analysis.summaries import summarise
from kbench.records.findings import Finding

DIVERGES = EXAMPLE.replace('"learning_rate": 0.5', '"learning_rate": 1e300')
ONE_DIVERGES = (
    EXAMPLE
    + """

import os

_FIT = Sequential.fit


def fit(self, x, *args, **given):
    found = _FIT(self, x, *args, **given)
    if os.environ.get("CHEAT") and given["epochs"] > 1:
        found.history["loss"][-1] = float("inf")
    return found


Sequential.fit = fit
"""
)


def first_paragraph(out: str) -> str:
    """Behind the plan and the progress."""
    start = out.index("The ")
    return " ".join(out[start:].split("\n\n")[0].split())


def findings(run: Path) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads((run / "findings.json").read_text("utf-8"))["findings"]
    return [one for one in kept if one["kind"] == "not finite"]


def test_a_loss_that_is_nan_on_all_backends_is_the_first_sentence_everywhere(bench: Bench) -> None:
    bench.backend("keras9/other")
    bench.example("my_example.py", DIVERGES)
    said = bench.measure(backends="fake,other")
    (run,) = bench.runs()
    expected = "The loss of my_example is nan from epoch 1 on keras9/fake and keras9/other: no time is ranked."
    assert first_paragraph(said.out) == expected
    assert " ok, not finite [" in said.out and "fastest" not in said.out
    assert (run / "summary.md").read_text("utf-8").replace("\\", "").split("\n\n")[1].startswith(expected)
    assert expected in (run / "report.html").read_text("utf-8")
    assert sorted((one["backend"], one["differs"], one["own"], one["sentence"]) for one in findings(run)) == [
        (f"keras9/{name}", True, "nan", "its loss is nan from epoch 1") for name in ("fake", "other")
    ]
    rows = summarise(bench.last().measured)
    assert [row.relative_to_fastest for row in rows] == [None, None]


def test_one_backend_alone_loses_its_rank_and_the_others_keep_theirs(bench: Bench) -> None:
    bench.backend("keras9/honest")
    bench.backend("keras9/odd", more='[variables]\nCHEAT = "1"\n')
    bench.example("my_example.py", ONE_DIVERGES)
    said = bench.measure(backends="fake,honest,odd")
    assert first_paragraph(said.out) == ("The loss of my_example is infinite from epoch 2 on keras9/odd: not ranked.")
    ranked = {row.backend: row.relative_to_fastest is not None for row in summarise(bench.last().measured)}
    assert ranked == {"keras9/fake": True, "keras9/honest": True, "keras9/odd": False}


def test_outputs_that_are_no_numbers_are_told_of_inference(bench: Bench) -> None:
    lost = "Sequential.predict = lambda *args, **given: _PREDICT(*args, **given) / 0\n"
    bench.example("my_example.py", f"{INFERENCE}\n\n_PREDICT = Sequential.predict\n{lost}")
    said = bench.measure()
    assert first_paragraph(said.out) == "The outputs of my_example are nan on keras9/fake: no time is ranked."


def test_weights_that_are_lost_at_a_finite_loss_are_told(bench: Bench) -> None:
    callback = """from keras.callbacks import Callback


class Own(Callback):
    def on_batch_end(self, batch, logs=None):
        if batch == 3:
            self.model.set_weights([one * float("nan") for one in self.model.get_weights()])


def callbacks():
    return [Own()]


BATCH_SIZE"""
    text = EXAMPLE.replace("BATCH_SIZE", callback, 1).replace('"epochs": 2', '"epochs": 1')
    bench.example("my_example.py", text.replace('"validation_samples": 12', '"validation_samples": 0'))
    bench.measure()
    (row,) = summarise(bench.last().measured)
    assert row.final_loss is not None and row.final_loss > 0
    found = row.has("not finite")
    assert isinstance(found, Finding) and found.aspect == "weights" and found.about == {"epoch": 1, "on": True}
