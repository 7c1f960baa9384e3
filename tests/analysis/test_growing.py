"""A run that is analysed while it is measured: what has not changed is neither read nor analysed again."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_runs import cell, fake_run, learning, write_events

from kbench import store
from kbench.analysis.growing import GrowingRun
from kbench.analysis.rows import Analysis
from kbench.records.values import INTERRUPTED, OK, Cell, Outcome
from kbench.store import files, guest_files

FIRST = [cell("a", name) for name in ("keras2/cntk", "keras3/jax")]
LATER = [cell("b", name) for name in ("keras2/cntk", "keras3/jax")]


def end(run: Path, one: Cell, seconds: float) -> None:
    write_events(run, one, learning(one, seconds))
    store.write_outcome(run, one, Outcome(OK))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The run, of which the first example has ended."""
    folder = fake_run(tmp_path, [(one, 1.0, Outcome(INTERRUPTED)) for one in (*FIRST, *LATER)])
    for one in LATER:
        store.cell_folder(folder, one).outcome.unlink()
    for number, one in enumerate(FIRST, 1):
        end(folder, one, float(number))
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    found: list[Path] = []

    def counted(path: Path) -> object:
        found.append(path)
        return open_regular(path)

    open_regular = guest_files.open_regular
    monkeypatch.setattr(files, "open_regular", counted)
    return found


def same_as_read_anew(analysis: Analysis, run: Path) -> bool:
    anew = Analysis(store.read(run))
    return analysis.run == anew.run and list(analysis.rows) == list(anew.rows)


def test_a_cell_that_ends_is_read_alone_and_its_example_analysed_alone(run: Path, opened: list[Path]) -> None:
    growing = GrowingRun(run)
    before = growing.now()
    assert [row.status for row in before.rows] == [OK, OK, INTERRUPTED, INTERRUPTED]
    end(run, LATER[0], 3.0)
    opened.clear()
    after = growing.now()
    assert {path.parent.name for path in opened if path.name != "run.json"} == {LATER[0].id}
    assert after.examples["a"] is before.examples["a"] and after.examples["b"] is not before.examples["b"]
    assert same_as_read_anew(after, run)


def test_a_run_that_has_not_changed_is_only_looked_at(run: Path, opened: list[Path]) -> None:
    growing = GrowingRun(run)
    before = growing.now()
    opened.clear()
    after = growing.now()
    assert {path.name for path in opened} == {"run.json"}
    assert after.examples == before.examples and after.rows[0] is before.rows[0]


def test_a_cell_that_is_measured_again_is_read_again(run: Path) -> None:
    growing = GrowingRun(run)
    before = growing.now()
    store.set_aside(run, FIRST[1].id)
    end(run, FIRST[1], 0.5)
    after = growing.now()
    assert [row.backend for row in before.rows[:2]] == ["keras2/cntk", "keras3/jax"]
    assert [row.backend for row in after.rows[:2]] == ["keras3/jax", "keras2/cntk"] and same_as_read_anew(after, run)


def test_further_processes_of_an_example_are_added_to_it(run: Path) -> None:
    growing = GrowingRun(run)
    before, further = growing.now(), cell("a", "keras3/jax", repeat=2)
    plan = store.read_record(run).plan
    store.update(run, plan={**plan, "cells": [*plan["cells"], vars(further)]})
    end(run, further, 1.0)
    after = growing.now()
    assert [row.repeats for row in after.rows[:2]] == [2, 1] or [row.repeats for row in after.rows[:2]] == [1, 2]
    assert after.examples["b"] is before.examples["b"] and same_as_read_anew(after, run)


def test_what_is_found_of_the_machine_at_the_end_is_in_all_rows(run: Path) -> None:
    growing = GrowingRun(run)
    before = growing.now()
    store.record_end(run, {"limits": {"operations_per_second": 1e9, "bytes_per_second": 1e9}})
    after = growing.now()
    assert not {*map(id, after.examples.values())} & {*map(id, before.examples.values())}
    assert same_as_read_anew(after, run)
