"""What is given back of a run on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_runs import PROVENANCE, cell, fake_run, learning, plan, write_events

from kbench import store
from kbench.errors import UserError
from kbench.records import axes
from kbench.records.values import FAILED, INTERRUPTED, OK, Outcome


def test_a_run_comes_back_as_it_was_measured(tmp_path: Path) -> None:
    first, second = cell(backend="keras2/cntk"), cell(backend="keras3/jax")
    run = fake_run(tmp_path, [(first, 2.0, Outcome(OK, "", 12.5, 0)), (second, 1.0, Outcome(FAILED, "boom"))])
    back = store.read(run)
    assert (back.folder, back.name) == (run, run.name)
    assert back.provenance == PROVENANCE
    assert back.plan["backends"]["keras3/jax"]["color"] == "#cc79a7"
    assert [one.cell for one in back.measured] == [first, second]
    assert back.measured[0].outcome == Outcome(OK, "", 12.5, 0)
    assert back.measured[0].epochs[0].seconds == 4.0
    assert back.measured[0].facts.data_sha256 == "ab" * 32
    assert back.measured[0].facts.task == "train"
    assert back.measured[1].outcome == Outcome(FAILED, "boom")


def test_a_cell_without_an_outcome_is_interrupted_and_keeps_what_it_measured(tmp_path: Path) -> None:
    started, waiting = cell(backend="keras2/cntk"), cell(backend="keras3/jax")
    run = store.create(tmp_path, plan([started, waiting]), PROVENANCE)
    write_events(run, started, learning(started, 1.0)[:8])
    one, other = store.read(run).measured
    assert one.outcome == Outcome(INTERRUPTED, "stopped before it ended")
    assert len(one.epochs) == 2
    assert other.outcome == Outcome(INTERRUPTED, "not started")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"status": "fine"}', '{"status": "ok", "reason": 7}', "\x00"])
def test_a_damaged_outcome_damages_one_cell(tmp_path: Path, content: str) -> None:
    run = fake_run(tmp_path, [(cell(), 1.0, Outcome(OK)), (cell(repeat=2), 1.0, Outcome(OK))])
    store.cell_folder(run, cell()).outcome.write_text(content)
    one, other = store.read(run).measured
    assert one.outcome == Outcome(INTERRUPTED, "its outcome.json is damaged")
    assert other.outcome.status == OK


def test_a_folder_that_is_no_run_is_one_sentence(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match=r"is not a run's folder: it has no run\.json\.$"):
            store.read(folder)


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    for schema, words in ((4, "newer kbench .*: update kbench"), (2, "older kbench .*: read it with that one")):
        (tmp_path / "run.json").write_text(json.dumps({"schema": schema}))
        with pytest.raises(UserError, match=rf"{words}\.$"):
            store.read(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00",
        b'{"schema": 3',
        b"[]",
        b"{}",
        b'{"schema": "1"}',
        b'{"schema": 3, "plan": [], "provenance": {}}',
        b'{"schema": 3, "plan": {}, "provenance": {}}',
        b'{"schema": 3, "plan": {"cells": {}}, "provenance": {}}',
        b'{"schema": 3, "plan": {"cells": [7]}, "provenance": {}}',
        b'{"schema": 3, "plan": {"cells": [{"example": "a"}]}, "provenance": {}}',
        b'{"schema": 3, "plan": {"cells": []}, "provenance": {}}',
        b'{"schema": 3, "request": [], "plan": {"cells": []}, "provenance": {}}',
        b'{"schema": 3, "request": {}, "plan": {"cells": [{"axes": 7}]}, "provenance": {}}',
        b'{"schema": 3, "request": {}, "plan": {"cells": [{"values": {"example": "a"}}]}, "provenance": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_run_json_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json is damaged: [^\n]*\.$"):
        store.read(tmp_path)


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000])
def test_a_name_that_no_file_can_have_is_one_sentence(tmp_path: Path, name: str) -> None:
    run = store.create(tmp_path, plan([cell()]), PROVENANCE)
    record = json.loads((run / "run.json").read_text())
    record["plan"]["cells"][0]["values"]["image_data_format"] = name
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"run\.json is damaged: one of its cells [^\n]*\.$"):
        store.read_record(run)


def test_a_cell_has_a_value_on_each_axis_and_is_the_same_point_whatever_varies_in_its_run() -> None:
    alone, swept = cell(batch_size=32), cell(axes={"batch_size": 32})
    assert {*alone.values} == {axis.name for axis in axes.of_cells()}
    assert alone.key == swept.key and alone.key["batch_size"] == 32
    assert (alone.row_id, swept.row_id) == (alone.row_id, f"{alone.row_id}__batch_size=32")


def test_keys_of_a_later_kbench_are_left_out(tmp_path: Path) -> None:
    run = store.create(tmp_path, plan([cell()]), PROVENANCE)
    record = json.loads((run / "run.json").read_text())
    record["plan"]["cells"][0]["colour"] = 4
    record["plan"]["examples"] = None
    (run / "run.json").write_text(json.dumps(record))
    assert store.read(run).measured[0].cell == cell()


def test_a_cell_cannot_point_outside_its_run(tmp_path: Path) -> None:
    folder = store.cell_folder(tmp_path, cell(example="../../etc", backend="/../x"))
    assert folder.path.resolve().parent == (tmp_path / "cells").resolve()
