"""The runner: launch a cell, read what its guest told, record, next; against a launcher that starts nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_runs import PROVENANCE, cell, learning, plan, replace
from fake_runs import task as as_task

from kbench import store
from kbench.base.arrays import Data
from kbench.cells import runner
from kbench.cells.launcher import Exit, Running
from kbench.cells.runner import EpochProgress, Listener
from kbench.cells.spec import RunPaths
from kbench.machine import devices
from kbench.planning.tasks import CellTask
from kbench.records.values import Cell, Environment, Outcome

DATA = Data("mnist", "real", Path("/data"), ("x.npy",), ("y.npy",), (), (), 10, 255.0, ((28, 28, 1),), "ab")
Fate = Callable[[Path, Path], Exit]


def task(example: str = "a") -> CellTask:
    return as_task(cell(example, "keras9/tiny"), parameters=51, keras_backend="tiny", timeout=30.0)


def well(the_cell: Cell) -> Fate:
    return telling(*learning(the_cell, 0.5))


def telling(*events: Mapping[str, Any], code: int = 0, log: bytes = b"") -> Fate:
    """A guest that tells this, says that, and ends so."""

    def fate(events_file: Path, log_file: Path) -> Exit:
        events_file.write_text("".join(json.dumps(event) + "\n" for event in events))
        log_file.write_bytes(log)
        return Exit(code, 1.5, timed_out=False)

    return fate


def raising(error: BaseException) -> Fate:
    def fate(events_file: Path, log_file: Path) -> Exit:
        raise error

    return fate


@dataclass
class FakeLauncher:
    """Gives each cell its fate, and keeps what it was asked."""

    fates: Mapping[str, Fate]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, command: Sequence[str], **asked: Any) -> Running[Exit]:
        self.asked.append({"command": list(command), **asked})
        ended = self.fates[asked["folder"].name.split("__")[0]](asked["folder"] / "events.jsonl", asked["log"])
        asked["watch"]()
        yield from ()
        return ended


@dataclass
class Heard:
    """What a listener heard, in order."""

    lines: list[str] = field(default_factory=list)

    def listener(self) -> Listener:
        return Listener(
            started=lambda task: self.lines.append(f"started {task.example}"),
            epoch=lambda task, progress: self.lines.append(f"{progress.epochs} epochs of {task.example}"),
            ended=lambda task, outcome: self.lines.append(f"ended {task.example} {outcome.status}"),
        )


class Stage:
    """A run's folder, and tasks for it."""

    def __init__(self, folder: Path) -> None:
        self.environment = Environment(
            "keras9/tiny", "cpu", Path("/env/bin/python"), None, {"OMP_NUM_THREADS": "{threads}"}, ""
        )
        self.here = RunPaths(
            run=store.create(folder / "results", plan([cell()]), PROVENANCE),
            devices={"cpu": devices.CPU},
            examples=dict.fromkeys("abc", folder / "mine.py"),
            data={(name, "channels_last"): DATA for name in "abc"},
            published_weights={},
            environments={("keras9/tiny", ""): self.environment},
            passed={},
            guest=Path("/guest"),
        )
        self.heard = Heard()

    def run(
        self,
        fates: Mapping[str, Fate],
        tasks: Sequence[CellTask] = (),
        impossible: Mapping[str, Outcome] | None = None,
        **changes: Any,
    ) -> list[Outcome]:
        self.launcher = FakeLauncher(fates)
        return runner.run(
            tasks or [replace(task(name), **changes) for name in fates],
            impossible or {},
            self.here,
            self.launcher,
            self.heard.listener(),
        )

    def recorded(self, example: str) -> dict[str, Any] | None:
        file = store.cell_folder(self.here.run, task(example)).outcome
        return json.loads(file.read_text()) if file.exists() else None


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(runner, "share_of_others", lambda before, after: 0.25)
    return Stage(tmp_path)


def test_a_guest_is_started_with_its_python_its_spec_and_its_variables(stage: Stage) -> None:
    stage.run({"a": well(cell())}, timeout=12.0, threads=2)
    (asked,) = stage.launcher.asked
    files = store.cell_folder(stage.here.run, task("a"))
    assert asked["command"] == ["/env/bin/python", "/guest", str(files.spec)]
    assert (asked["folder"], asked["log"], asked["timeout"]) == (files.path, files.log, 12.0)
    assert asked["variables"]["OMP_NUM_THREADS"] == "2"
    assert asked["variables"]["CUDA_VISIBLE_DEVICES"] == "-1"
    assert asked["variables"]["KERAS_HOME"] == str(files.keras_home)
    assert json.loads((files.keras_home / "keras.json").read_text())["backend"] == "tiny"


def test_a_cell_is_ok_once_its_guest_told_of_every_epoch_and_of_its_end(stage: Stage) -> None:
    assert stage.run({"a": well(cell())}) == [Outcome("ok", "", 1.5, 0, others=0.25)], (
        "and what other programs used meanwhile"
    )
    assert stage.heard.lines == ["started a", "3 epochs of a", "ended a ok"]


def test_if_nothing_is_timed_several_run_at_once(stage: Stage) -> None:
    running: list[str] = []
    most: list[list[str]] = []

    def launch(command: Sequence[str], **asked: Any) -> Any:
        name = asked["folder"].name.split("__")[0]
        running.append(name)
        for _ in range(2):
            most.append(sorted(running))
            yield SimpleNamespace(wait=lambda seconds: None)
        running.remove(name)
        return well(cell())(asked["folder"] / "events.jsonl", asked["log"])

    tasks = [*map(task, "abc"), as_task(cell("a", "keras9/second"), parameters=51, keras_backend="tiny")]
    stage.here = replace(stage.here, environments={(one.backend, ""): stage.environment for one in tasks})
    found = runner.run(tasks, {}, stage.here, launch, stage.heard.listener(), at_once=2)
    assert [one.status for one in found] == ["ok", "ok", "ok", "ok"]
    assert ["a", "b"] in most and ["a", "c"] in most, "a task of another backend, too"
    assert max(map(len, most)) == 2


def test_what_was_seen_of_a_guests_memory_is_recorded(stage: Stage) -> None:
    def fate(events_file: Path, log_file: Path) -> Exit:
        return Exit(0, 1.0, False, 120.5, 64.5, "process")

    (outcome,) = stage.run({"a": fate})
    assert (outcome.tree_memory_mib, outcome.device_memory_mib, outcome.device_memory_source) == (
        120.5,
        64.5,
        "process",
    )


START = {"event": "start", "schema": 1}
EPOCH = {"event": "epoch", "epoch": 1, "seconds": 1.0, "samples": 1000}
END = {"event": "end", "seconds": 9.0}
DEVICE = {"event": "error", "kind": "device", "message": "it runs on the cpu"}
RAISED = {"event": "error", "kind": "exception", "message": "ValueError: bad\nvalue"}


@pytest.mark.parametrize(
    ("fate", "status", "reason"),
    [
        (telling(START, EPOCH, END), "failed", "ended without a result (last event: end)"),
        (telling(), "failed", "ended without a result (it reported nothing)"),
        (
            telling(START, log=b"last words\n\n=====\n"),
            "failed",
            "ended without a result (last event: start): last words",
        ),
        (
            telling(code=1, log=b"x\nImportError: no keras\n"),
            "failed",
            "ended with exit status 1 (it reported nothing): ImportError: no keras",
        ),
        (telling(code=-99), "failed", "killed by signal 99 (it reported nothing)"),
        (telling(START, RAISED, code=1), "failed", "ValueError: bad value"),
        (telling(START, RAISED, code=-11), "failed", "ValueError: bad value"),
        (telling(START, DEVICE, code=1), "unsupported", "it runs on the cpu"),
        (telling(*learning(cell(), 0.5), code=-11), "ok", ""),  # it has told all, and a note says so
        (
            telling(code=1, log=b"\x1b[31mred\x1b[0m \xff\n"),
            "failed",
            "ended with exit status 1 (it reported nothing): red \ufffd",
        ),
        (raising(FileNotFoundError(2, "No such file")), "failed", "its Python cannot be started: No such file"),
    ],
)
def test_what_came_of_a_cell_is_one_line(stage: Stage, fate: Fate, status: str, reason: str) -> None:
    (outcome,) = stage.run({"a": fate})
    assert (outcome.status, outcome.reason) == (status, reason)


def test_what_fails_inside_a_keras_of_another_time_names_the_pair(stage: Stage) -> None:
    stage.here = replace(stage.here, pairs={"keras9/tiny": "use `tiny@1+keras=9.1`"})
    fates = {"a": telling(START, {**RAISED, "in_keras": 1}, code=1), "b": telling(START, {**RAISED, "in_keras": 0})}
    assert [one.reason for one in stage.run(fates)] == [
        "ValueError: bad value; use `tiny@1+keras=9.1`",
        "ValueError: bad value",
    ]


def test_last_words_are_cut_where_they_are_long(stage: Stage) -> None:
    (outcome,) = stage.run({"a": telling(code=1, log=b"start\n" + b"x" * 100_000)})
    assert outcome.reason == "ended with exit status 1 (it reported nothing): " + "x" * 200


def test_an_outcome_is_on_disk_before_the_next_cell_starts(stage: Stage) -> None:
    seen: list[Any] = []

    def second(events_file: Path, log_file: Path) -> Exit:
        seen.extend([stage.recorded("a"), stage.recorded("b")])
        return Exit(0, 1.0)

    stage.run({"a": telling(code=3), "b": second})
    first, not_yet = seen
    assert (first["status"], first["exit_code"], first["seconds"]) == ("failed", 3, 1.5)
    assert not_yet is None
    assert (stage.recorded("b") or {})["status"] == "failed"


def test_an_interrupted_cell_is_recorded_and_the_rest_is_not_started(stage: Stage) -> None:
    with pytest.raises(KeyboardInterrupt):
        stage.run({"a": well(cell()), "b": raising(KeyboardInterrupt()), "c": well(cell())})
    assert (stage.recorded("a") or {})["status"] == "ok"
    assert (stage.recorded("b") or {})["status"] == "interrupted"
    assert (stage.recorded("b") or {})["others"] is not None, "what other programs used until then"
    assert stage.recorded("c") is None
    assert len(stage.launcher.asked) == 2
    assert stage.heard.lines[-1] == "ended b interrupted"


def test_what_is_known_not_to_run_is_recorded_and_not_started(stage: Stage) -> None:
    verdict = Outcome("unsupported", "it cannot train")
    stage.here = replace(stage.here, environments={("keras9/tiny", ""): "there is no such Python"})
    outcomes = stage.run({}, [task("a"), task("b")], {task("a").id: verdict})
    assert outcomes == [verdict, Outcome("unavailable", "there is no such Python")]
    assert stage.launcher.asked == []
    assert (stage.recorded("a") or {})["reason"] == "it cannot train"


def test_batches_larger_than_one_that_does_not_fit_are_not_tried(stage: Stage) -> None:
    told = {"event": "error", "kind": "exception", "message": "MemoryError: Unable to allocate 9 GiB"}

    def of_batch(size: int) -> CellTask:
        return as_task(cell("a", "keras9/tiny", axes={"batch_size": size}), timeout=30.0)

    small, large, larger = stage.run({"a": telling(START, told, code=1)}, [of_batch(size) for size in (8, 16, 32)])
    assert (small.status, small.out_of_memory) == ("failed", True)
    assert large == larger == Outcome("unsupported", "not measured: a batch of 8 does not fit into memory")
    assert len(stage.launcher.asked) == 1


def test_progress_counts_epochs_as_they_are_told(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    progress = runner.EpochReader(file)
    assert progress.sample() == EpochProgress()
    line = json.dumps(dict(EPOCH, event="epoch"), sort_keys=True) + "\n"
    file.write_text(json.dumps(START) + "\n" + line)
    assert progress.sample().epochs == 1
    with file.open("a") as more:
        more.write(line * 2 + line[:20])
    done = progress.sample()
    assert (done.epochs, done.seconds, done.accuracy) == (3, EPOCH["seconds"], EPOCH.get("val_accuracy"))
    with file.open("a") as more:
        more.write(line[20:])
    assert progress.sample().epochs == 4 == progress.sample().epochs
