"""The counts in docs/coverage.md are those of the packed runs, and every backend of Keras has some."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kbench import store
from kbench.base import paths
from kbench.features.coverage import known
from kbench.features.coverage.values import ABSENT, CRASHES, DIFFERS, GOOD, HANGS, NOT_RUN, RAISES
from kbench.records.values import EXPORT, NATIVE
from kbench.selection.known import known_backends

CHECKOUT = Path(__file__).parents[3]
RUNS = [CHECKOUT / "results" / f"reference-coverage-{generation}" for generation in ("keras2", "keras3")]
DOCS = (paths.project_folder("docs") / "coverage.md").read_text("utf-8")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_counts_of_docs_are_those_of_the_packed_run(run: Path) -> None:
    found: dict[str, Counter[str]] = {}
    for row in known.names(store.read(run)):
        found.setdefault(row.backend, Counter())[row.state] += 1
    for backend, states in found.items():
        assert not states[NOT_RUN], "it is complete"
        good = sum(states[state] for state in GOOD)
        cells = [good, *(states[state] for state in (DIFFERS, RAISES, CRASHES, HANGS, ABSENT))]
        assert f"| {backend} | {' | '.join(map(str, cells))} |" in DOCS


def test_each_backend_of_keras_has_been_tried() -> None:
    of_keras = {one.name for one in known_backends().values() if one.kind not in (NATIVE, EXPORT)}
    assert {*re.findall(r"^\| (keras\d/\w+) \| \d", DOCS, re.MULTILINE)} == of_keras


# What was known of backends before anybody tried all names, by a word of what their files declare.
FAULTS = {
    ("keras2/cntk", "layers.LSTM"): "returns the cell state",
    ("keras2/mxnet", "layers.GRU"): "unless they are made with unroll=True",
    ("keras2/theano", "layers.Conv1D"): "pads both sides alike",
    ("keras3/tensorflow", "optimizers.Adam"): "sums the squares",
}


@pytest.mark.slow("it reads every case of two whole runs")
def test_the_packed_runs_have_found_again_what_was_known() -> None:
    rows = {(row.backend, row.name): row for run in RUNS for row in known.names(store.read(run))}
    for one, word in FAULTS.items():
        assert any(word in case.known for case in rows[one].cases), one
