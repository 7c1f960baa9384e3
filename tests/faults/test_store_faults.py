"""A run's folder that was damaged: what is whole is read, what is not is named, and `resume` mends it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench

from kbench import store
from kbench.errors import UserError

EXAMPLES = "a.py,b.py"


def measured(bench: Bench) -> Path:
    for name in EXAMPLES.split(","):
        bench.example(name)
    assert bench.measure("--name", "mine", examples=EXAMPLES).status == 0
    return bench.results / "mine"


def of_a(run: Path) -> Path:
    (folder,) = run.glob("cells/a__*")
    return folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def without_the_end(run: Path) -> None:
    events = of_a(run) / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(line for line in lines if '"event": "epoch"' not in line or '"epoch": 1' in line))


# How the cell of a is damaged, and what is said of it. Each time b is whole, and a is measured again.
DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "outcome.json cut off": (lambda run: cut(of_a(run) / "outcome.json"), "its outcome.json is damaged"),
    "outcome.json empty": (lambda run: (of_a(run) / "outcome.json").write_text(""), "its outcome.json is damaged"),
    "outcome.json a list": (lambda run: (of_a(run) / "outcome.json").write_text("[]"), "its outcome.json is damaged"),
    "outcome.json deleted": (lambda run: (of_a(run) / "outcome.json").unlink(), "stopped before it ended"),
    "its folder deleted": (lambda run: shutil.rmtree(of_a(run)), "not started"),
    "all cells' folder deleted but one": (lambda run: shutil.rmtree(of_a(run)), "not started"),
    "events.jsonl deleted": (
        lambda run: (of_a(run) / "events.jsonl").unlink(),
        "its events.jsonl is damaged: 0 of 2 epochs are left",
    ),
    "events.jsonl without an epoch": (without_the_end, "its events.jsonl is damaged: 1 of 2 epochs are left"),
    "events.jsonl full of zeros": (
        lambda run: (of_a(run) / "events.jsonl").write_bytes(b"\0" * 4096),
        "its events.jsonl is damaged: 0 of 2 epochs are left",
    ),
    "events.jsonl a pipe": (
        lambda run: ((of_a(run) / "events.jsonl").unlink(), os.mkfifo(of_a(run) / "events.jsonl")),
        "its events.jsonl cannot be read: it is not a regular file",
    ),
}


@pytest.mark.slow("a run is resumed for each kind of damage")
def test_a_damaged_cell_is_named_and_measured_again_and_the_others_are_kept(bench: Bench) -> None:
    run = measured(bench)
    kept = {path: path.read_bytes() for path in run.glob("cells/b__*/*") if path.is_file()}
    for what, (damage, reason) in DAMAGE.items():  # each damages what the one before has left whole
        damage(run)
        said = bench("report", "mine")
        assert said.status == 0 and "Traceback" not in said.err, what
        assert bench.fates() == {"a": ("interrupted", reason), "b": ("ok", "")}, what
        assert bench("resume", "mine").status == 0, what
        assert {status for status, _ in bench.fates().values()} == {"ok"}, what
        assert {path: path.read_bytes() for path in kept} == kept, what


FOREIGN = {
    "{": "is damaged: it is not readable as JSON",
    '{"schema": 99}': "was written by a newer kbench (schema 99; this one reads 3): update kbench",
}


def test_a_damaged_or_foreign_run_json_is_refused_by_name_and_nothing_is_touched(bench: Bench) -> None:
    run = measured(bench)
    for content, sentence in FOREIGN.items():
        (run / "run.json").write_text(content)
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        for command in ("report", "resume"):
            said = bench(command, "mine")
            assert said.status == 2 and sentence in said.err and "mine" in said.err, content
        after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        after.pop(run / ".lock", None)
        before.pop(run / ".lock", None)
        assert after == before, content


def test_a_results_folder_that_became_read_only_is_one_sentence_and_keeps_what_is_there(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = measured(bench)
    before = (of_a(run) / "outcome.json").read_bytes()

    def refused(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refused)
    monkeypatch.setattr(Path, "replace", refused)
    (of_a(run) / "events.jsonl").unlink()
    said = bench("resume", "mine")
    assert said.status == 2 and "Read-only file system" in said.err and "Traceback" not in said.err
    assert (of_a(run) / "outcome.json").read_bytes() == before


def test_two_runs_in_one_folder_do_not_touch_each_other(bench: Bench) -> None:
    run = measured(bench)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert bench.measure("--name", "other", examples=EXAMPLES).status == 0
    with store.filling(bench.results / "other"):  # each has a lock of its own
        assert bench("resume", "mine").status == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_what_is_derived_comes_back_byte_for_byte_after_a_resumption(bench: Bench) -> None:
    run = measured(bench)
    shutil.rmtree(of_a(run))
    assert bench("resume", "mine").status == 0
    derived = {path: path.read_bytes() for path in (run / "summary.csv", run / "epochs.csv", run / "summary.md")}
    for path in derived:
        path.unlink()
    assert bench("report", "mine").status == 0
    assert {path: path.read_bytes() for path in derived} == derived


def test_a_cell_that_is_set_aside_twice_is_kept_twice(tmp_path: Path) -> None:
    for content in ("first", "second"):
        (tmp_path / "cells" / "a").mkdir(parents=True)
        (tmp_path / "cells" / "a" / "log.txt").write_text(content)
        store.set_aside(tmp_path, "a")
        store.set_aside(tmp_path, "a")  # there is nothing more: nothing happens
    assert [(tmp_path / "earlier" / f"a.{n}" / "log.txt").read_text() for n in (1, 2)] == ["first", "second"]
    assert not (tmp_path / "cells" / "a").exists()


def test_a_folder_that_cannot_be_locked_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^Cannot write .*\.lock: "), store.filling(tmp_path / "file"):
        raise AssertionError("unreachable")


def test_run_json_keeps_every_sitting(tmp_path: Path) -> None:
    run = store.create(tmp_path, {"cells": []}, {})
    for number in (1, 2):
        sittings = [*store.read(run).resumed, {"started": str(number)}]
        store.update(run, plan={"cells": [], "number": number}, resumed=sittings)
    assert [one["started"] for one in store.read(run).resumed] == ["1", "2"]
    assert json.loads((run / "run.json").read_text())["plan"]["number"] == 2
