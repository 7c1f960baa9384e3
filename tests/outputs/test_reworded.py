"""No code asks a sentence what it is: with other words all verdicts, statuses, ratios and causes are as before."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import get_args

import pytest
from msgspec import structs

from kbench import store
from kbench.analysis.rows import summarised
from kbench.outputs.told import ToldRun
from kbench.records.findings import Kind
from kbench.records.values import Measured
from kbench.store.reading import RunResults
from kbench.summary import Summary
from kbench.tables import at_a_glance, content
from kbench.words import sentences

REFERENCE = Path(__file__).resolve().parents[2] / "results" / "reference"


def altered(one: Measured) -> Measured:
    """The cell with something wrong on some backends, of another kind in each example."""
    facts, epochs = one.facts, one.epochs
    if one.cell.backend == "keras3/torch" and facts.optimizer and epochs:
        match one.cell.example:
            case "mnist_mlp":
                facts = structs.replace(facts, optimizer={**facts.optimizer, "learning_rate": 0.5})
            case "mnist_cnn":
                facts = structs.replace(facts, probe=[[7.0 for _ in numbers] for numbers in facts.probe or ()])
            case "cifar10_cnn":
                epochs = tuple(structs.replace(epoch, val_accuracy=0.01, val_loss=9.0) for epoch in epochs)
            case _:
                epochs = tuple(structs.replace(epoch, loss=99.0) for epoch in epochs)
    return dataclasses.replace(one, facts=facts, epochs=epochs)


@pytest.fixture(scope="module")
def run() -> RunResults:
    read = store.read(REFERENCE)
    return dataclasses.replace(read, measured=tuple(map(altered, read.measured)))


OLD = "not steady: does not learn like the others, unlike a/x in its dtype and in its model"  # what words once meant


def told(run: RunResults) -> tuple[list[dict[str, str]], list[list[list[str]]], list[str]]:
    """The rows without their words, the tables without marks of notes, and the causes that were found."""
    rows = summarised(run)
    fields = [one.name for one in dataclasses.fields(Summary) if one.name not in ("differs", "notes")]
    tables = [[[entry.partition(" [")[0] for entry in line] for line in one.rows] for one in content.tables(rows)]
    return [{name: repr(getattr(row, name)) for name in fields} for row in rows], tables, [*ToldRun(run).remarks]


def test_other_words_change_nothing_but_words(run: RunResults, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, before = summarised(run), told(run)
    found = {one.kind for row in rows for one in row.findings}
    assert {"aspect", "outputs", "epoch", "learning", "first step"} <= found
    for name in ("words.sentences.sentence", "tables.at_a_glance.sentence"):
        monkeypatch.setattr(f"kbench.{name}", lambda found: f"{OLD}: {found}")
    again = summarised(run)
    assert [row.notes for row in rows] != [row.notes for row in again], "or nothing is shown"
    assert [bool(row.differs) for row in rows] == [bool(row.differs) for row in again]
    assert told(run) == before
    assert len(at_a_glance.problems(rows)) == len(at_a_glance.problems(again))


def test_every_kind_has_its_words() -> None:
    """And no sentence is made anywhere else."""
    kinds = {kind for of in get_args(Kind) for kind in (get_args(of) or (of,))}
    assert set(sentences.KINDS) == kinds
