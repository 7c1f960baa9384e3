"""What the store promises about a run's folder: made once, filled whole or not at all, found again."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fake_runs import PROVENANCE, cell, plan

from kbench import store
from kbench.base import paths
from kbench.base.arrays import Data
from kbench.errors import UserError
from kbench.records.values import FAILED, OK, Backend, Example, Outcome, Profile
from kbench.store import files, runs

NONE = r"^There are no runs of your own in .* yet; start one with --backends\.$"


def create(parent: Path, name: str | None = None) -> Path:
    return store.create(parent, plan([cell()]), PROVENANCE, name)


def test_a_run_is_named_by_local_time_and_keeps_its_plan_and_provenance(tmp_path: Path) -> None:
    run = create(tmp_path / "new" / "results")
    record = json.loads((run / "run.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", run.name)
    assert record["schema"] == 3
    assert record["name"] == run.name
    assert record["created"].endswith("+00:00")
    assert record["plan"]["cells"][0]["values"]["example"] == "mnist_cnn"
    assert record["provenance"] == PROVENANCE


def test_runs_of_the_same_second_get_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = runs.datetime(2026, 11, 20, 22, 58, 3, tzinfo=runs.UTC)

    class Stopped(runs.datetime):
        @classmethod
        def now(cls, tz: object = None) -> Any:
            return now

    monkeypatch.setattr(runs, "datetime", Stopped)
    names = [create(tmp_path).name for _ in range(3)]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]


def test_a_name_of_the_users_own_is_taken_once(tmp_path: Path) -> None:
    assert create(tmp_path, "mine").name == "mine"
    with pytest.raises(UserError, match="mine exists already: choose another name"):
        create(tmp_path, "mine")


def test_a_run_that_ends_while_it_is_made_takes_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(runs, "replace_json", Mock(side_effect=KeyboardInterrupt))
        create(tmp_path, "mine")
    assert list(tmp_path.iterdir()) == []
    assert create(tmp_path, "mine").name == "mine"


def test_of_two_runs_that_start_at_once_with_one_name_the_second_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create(tmp_path, "mine")
    monkeypatch.setattr(runs, "check_name", lambda *_: None)  # it looked before the first was there
    with pytest.raises(UserError, match="mine exists already: choose another name"):
        store.create(tmp_path, {}, {}, "mine")
    assert store.read(first).plan != {} and list(tmp_path.iterdir()) == [first]


def test_what_a_killed_host_has_half_made_is_no_run(tmp_path: Path) -> None:
    first = create(tmp_path, "mine")
    half = tmp_path / f"{runs.MAKING}0"
    half.mkdir()
    (half / "run.json").write_bytes((first / "run.json").read_bytes())
    assert store.latest(tmp_path) == first


def test_what_a_killed_host_has_half_made_is_removed_with_the_next_run_after_an_hour(tmp_path: Path) -> None:
    old, new, own = (tmp_path / f"{runs.MAKING}{name}" for name in ("0" * 16, "1" * 16, "the-users"))
    for folder in (old, new, own):
        folder.mkdir()
        (folder / "run.json").write_text("{}")
    for folder in (old, own):
        os.utime(folder, (0, 0))
    run = create(tmp_path, "mine")
    assert sorted(tmp_path.iterdir()) == sorted([new, own, run])


def test_a_clock_that_goes_ahead_of_the_file_servers_hinders_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / f"{runs.MAKING}{'0' * 16}"  # of a host that is making its run just now
    other.mkdir()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * 3600)
    run = create(tmp_path, "mine")
    assert sorted(tmp_path.iterdir()) == sorted([other, run])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/absolute", "../outside"])
def test_a_name_cannot_leave_the_results_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="plain folder name"):
        create(tmp_path / "results", name)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_results_that_are_a_file_are_one_sentence(tmp_path: Path, below: str) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(UserError, match="is not a folder: choose another place for the results"):
        create(tmp_path / "results" / below)


def test_no_write_permission_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UserError, match=r"^Cannot make a run's folder in .*: Permission denied\.$"):
        create(tmp_path / "results")


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(tmp_path)
    store.write_outcome(run, cell(), Outcome(FAILED, "first"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"outcome\.json: No space left on device\.$"):
        store.write_outcome(run, cell(), Outcome(OK))
    folder = store.cell_folder(run, cell())
    assert json.loads(folder.outcome.read_text())["reason"] == "first"
    assert [path.name for path in folder.path.iterdir()] == ["outcome.json"]


def test_a_replaced_file_is_never_seen_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.replace(path, b"old")
    seen = []
    replace = Path.replace

    def look_first(self: Path, target: Path) -> Path:
        seen.append((self.read_bytes(), Path(target).read_bytes()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", look_first)
    files.replace(path, b"new")
    assert seen == [(b"new", b"old")]
    assert path.read_bytes() == b"new"


def test_spec_and_outcome_lie_in_the_cells_folder(tmp_path: Path) -> None:
    run = create(tmp_path)
    spec = store.write_spec(run, cell(), {"example": Path("/a/b.py")}, {"backend": "fake"})
    kept = Outcome(FAILED, "boom", 1.5, -11, 120.5, (2, 5), 64.5, "process")
    store.write_outcome(run, cell(), kept)
    folder = store.cell_folder(run, cell())
    assert spec == folder.spec
    assert {path.parent for path in (folder.spec, folder.events, folder.log, folder.outcome)} == {folder.path}
    assert folder.path.parent == run / "cells"
    assert json.loads(folder.spec.read_text()) == {"example": "/a/b.py"}
    assert json.loads(folder.outcome.read_text()) == {
        "status": "failed",
        "reason": "boom",
        "seconds": 1.5,
        "exit_code": -11,
        "tree_memory_mib": 120.5,
        "disturbed_rounds": [2, 5],
        "device_memory_mib": 64.5,
        "device_memory_source": "process",
        "compilation_cached": False,
        "out_of_memory": False,
        "after_end": "",
        "last_event": "",
        "last_lines": [],
        "others": None,
        "disturbed_again": [],
        "memory": [],
    }
    assert store.read(run).measured[0].outcome == kept


def test_disturbed_turns_of_runs_of_earlier_versions_are_read(tmp_path: Path) -> None:
    run = create(tmp_path)
    store.write_outcome(run, cell(), Outcome(FAILED, disturbed_rounds=(2, 5, 1_000_002)))
    outcome = store.read(run).measured[0].outcome
    assert (outcome.disturbed_rounds, outcome.disturbed_again) == ((2, 5), (2,))


def test_the_plan_record_holds_all_that_tables_and_plots_need(tmp_path: Path) -> None:
    backend = Backend(
        name="keras2/cntk",
        generation="keras2",
        title="CNTK",
        keras_backend="cntk",
        distribution="cntk",
        python=("3.6",),
        image_data_format="channels_first",
        gpu_image_data_format="channels_first",
        can=frozenset({"train"}),
        cannot="",
        builds=(),
        variables={},
        shared_libpython=True,
        libraries={},
        compiled={},
        programs=(),
        recurrent={},
        fixed_batch=(),
        notes=("a note",),
        color="#56b4e9",
        path=tmp_path,
    )
    example = Example(
        name="mnist_cnn",
        title="A network",
        path=tmp_path,
        task="train",
        data="mnist",
        input="image",
        batch_size=128,
        parameters=1199882,
        profiles={"full": Profile(60000, 12, 10000)},
        sha256="cd" * 32,
    )
    data = Data("mnist", "real", tmp_path, (), (), (), (), 10, 255.0, (), "ab" * 32)
    record = json.loads(json.dumps(store.plan_record([cell()], [backend], [example], {"mnist_cnn": data}, seeds=[0])))
    assert record["seeds"] == [0]
    assert record["backends"]["keras2/cntk"]["color"] == "#56b4e9"
    assert record["backends"]["keras2/cntk"]["title"] == "CNTK"
    assert record["examples"]["mnist_cnn"]["sha256"] == "cd" * 32
    run = store.create(tmp_path / "results", record, {})
    facts = store.read(run).measured[0].facts
    assert facts.data_source == "real"
    assert facts.data_sha256 == "ab" * 32
    assert facts.available_samples == 60000


def test_the_latest_run_is_the_one_started_last_whatever_its_name(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        create(tmp_path, name)
    (tmp_path / "published").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    assert store.latest(tmp_path).name == "a"
    assert store.find("latest", tmp_path).name == "a"


def test_the_latest_run_of_a_command_that_needs_times_is_no_parity_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=NONE):
        store.latest(tmp_path, timed=True)
    store.create(tmp_path, {"kind": "parity", "cells": []}, {}, "before")
    with pytest.raises(UserError, match=r"^Your only runs in .* time nothing"):
        store.latest(tmp_path, timed=True)
    timed = create(tmp_path, "timed")
    store.create(tmp_path, {"kind": "parity", "cells": []}, {}, "parity")
    assert store.latest(tmp_path).name == "parity"
    assert store.latest(tmp_path, timed=True) == store.find("latest", tmp_path, timed=True) == timed
    assert store.find("latest", tmp_path, timed=True, kinds=("parity",)).name == "parity"


def test_without_a_run_there_is_no_latest(tmp_path: Path) -> None:
    for parent in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UserError, match=NONE):
            store.latest(parent)


def test_what_comes_with_kbench_is_never_the_latest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "project_folder", tmp_path.joinpath)
    results = tmp_path / "results"
    for name in ("reference", "reference-native"):
        create(results, name)
    with pytest.raises(UserError, match=NONE):
        store.find("latest", results)
    assert store.find("reference", results) == results / "reference"
    own = create(results, "mine")
    create(results, "reference-more")
    assert store.find("latest", results) == own
    elsewhere = create(tmp_path / "elsewhere", "reference")
    assert store.latest(elsewhere.parent) == elsewhere


def test_a_run_is_found_by_name_by_path_and_by_its_run_json(tmp_path: Path) -> None:
    run = create(tmp_path / "results")
    for named in (run.name, str(run), str(run / "run.json")):
        assert store.find(named, tmp_path / "results") == run


def test_an_unknown_run_is_one_sentence_with_the_nearest_name(tmp_path: Path) -> None:
    create(tmp_path, "nightly")
    with pytest.raises(UserError, match=r"^There is no run 'nigthly': did you mean nightly\?$"):
        store.find("nigthly", tmp_path)
    with pytest.raises(UserError, match=r"^There is no run 'x': there are no runs in .*empty\.$"):
        store.find("x", tmp_path / "empty")


def test_what_looks_like_a_half_made_run_and_has_more_in_it_is_left(tmp_path: Path) -> None:
    kept, gone = tmp_path / f".new-{'a' * 16}", tmp_path / f".new-{'b' * 16}"
    for folder in (kept, gone):
        folder.mkdir()
        (folder / "run.json").write_text("{}")
    (kept / "cells").mkdir()
    for folder in (kept, gone):
        os.utime(folder, (0, 0))
    store.create(tmp_path, {"cells": []}, {})
    assert (kept / "run.json").is_file() and not gone.exists()


def test_a_run_has_no_name_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is text in UTF-8"):
        store.create(tmp_path, {"cells": []}, {}, os.fsdecode(b"bad\xff"))


def test_an_unknown_run_that_is_like_no_other_is_answered_with_all_the_newest_first(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        create(tmp_path, name)
    with pytest.raises(UserError, match=r"^There is no run 'nosuchrun'; the runs in .*, newest first: a, c, b\.$"):
        store.find("nosuchrun", tmp_path)
    for number in range(10):
        create(tmp_path, f"more{number}")
    with pytest.raises(UserError, match=r"newest first: more9, .*, more0, \.\.\.$"):
        store.find("nosuchrun", tmp_path)


def test_a_folder_that_is_no_run_is_said_to_have_no_run_json(tmp_path: Path) -> None:
    create(tmp_path, "nightly")
    (tmp_path / "published").mkdir()
    for named in ("published", str(tmp_path / "published")):
        with pytest.raises(UserError, match=r"published has no run\.json, so it is not a run's folder\.$"):
            store.find(named, tmp_path)


@pytest.mark.parametrize("name", ["latest", "published", ".new-0123456789abcdef"])
def test_a_name_that_means_something_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="has a meaning of its own"):
        store.check_name(tmp_path, name)
