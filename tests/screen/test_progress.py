"""The line of progress: what it says at which width, how long the run still takes, and what a pipe gets."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_runs import cell, fake_run
from fake_runs import task as as_task

from kbench import store
from kbench.cells.runner import EpochProgress
from kbench.planning.tasks import CellTask
from kbench.records.values import FAILED, OK, Outcome
from kbench.screen import progress, terminal, time_left
from kbench.screen.listener import Screen
from kbench.screen.progress import Progress
from kbench.screen.time_left import TimeLeft, in_words
from kbench.session import making


def task(backend: str, example: str = "mnist_cnn", epochs: int = 8, **more: object) -> CellTask:
    return as_task(cell(example=example, backend=backend, epochs=epochs), **more)


THREE = [task("keras3/jax"), task("keras3/torch"), task("keras3/tensorflow")]
SEVEN = [task(one.backend, f"example{number}") for number in range(6) for one in THREE]


class Terminal:
    """What the line was, at a width."""

    def __init__(self, patch: pytest.MonkeyPatch, columns: int) -> None:
        self.lines: list[str] = []
        patch.setattr(
            sys, "stderr", SimpleNamespace(isatty=lambda: True, write=lambda text: None, flush=lambda: None)
        )
        patch.setattr(progress, "_columns", lambda: columns - 1)
        patch.setattr(
            progress,
            "tqdm",
            lambda **options: SimpleNamespace(
                desc="", close=lambda: None, clear=lambda: None, set_description_str=self.lines.append
            ),
        )


def run_some(shown: Progress, tasks: Sequence[CellTask], *epochs: int, seconds: float = 2.0) -> None:
    for one in tasks:
        shown.listener.started(one)
    for one, done in zip(tasks, epochs, strict=True):
        shown.listener.epoch(one, EpochProgress(done, seconds, 0.25, 0.9) if done else EpochProgress())


def test_at_80_columns_it_has_the_example_each_backends_epoch_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal(monkeypatch, 80)
    run_some(Progress([*THREE, *SEVEN]), THREE, 3, 2, 3)
    assert screen.lines[-1] == "mnist_cnn 1/7  jax 3/8  torch 2/8  tensorflow 3/8  about 5 min left"


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("count", [1, 2, 8, 20])
def test_it_fits_and_says_which_example_and_how_long_at_any_width(
    monkeypatch: pytest.MonkeyPatch, columns: int, count: int
) -> None:
    screen = Terminal(monkeypatch, columns)
    tasks = [task(f"keras3/backend{number}") for number in range(count)]
    run_some(Progress(tasks), tasks, *[2] * count)
    assert len(screen.lines[-1]) < columns
    assert screen.lines[-1].startswith("mnist_cnn  ")
    assert screen.lines[-1].endswith(" left")
    assert "?" not in screen.lines[-1]


def test_eight_backends_at_80_columns_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(monkeypatch, 80)
    tasks = [task(f"keras3/backend{number}") for number in range(8)]
    run_some(Progress(tasks), tasks, *[2] * 8)
    assert screen.lines[-1] == "mnist_cnn  8 backends, 16 of 64 epochs  about 2 min left"


def test_a_cell_alone_shows_its_pace_loss_and_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(monkeypatch, 120)
    run_some(Progress([THREE[0]], clock=lambda: 0.0), [THREE[0]], 2)
    assert screen.lines[-1] == (
        "mnist_cnn  jax: epoch 3/8, 2.00 s/epoch, loss 0.25, accuracy 0.9000, 0 s  about 10 s left"
    )


def test_a_program_whose_epochs_nobody_knows_shows_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(monkeypatch, 80)
    tasks = [task(f"keras3/{name}", "train.py", 0, task="script", input="sequence") for name in ("jax", "torch")]
    run_some(Progress(tasks, clock=lambda: 0.0), tasks, 2, 0)
    assert screen.lines[-1] == "train.py  jax epoch 3  torch epoch 1  0 s"


def test_short_processes_are_counted_together_and_are_none_of_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal(monkeypatch, 80)
    shown = Progress(THREE, clock=lambda: 0.0)
    run_some(shown, THREE, 8, 8, 8)
    for one in THREE:
        shown.listener.ended(one, Outcome(OK, seconds=9.0))
    shorts = [replace(one, repeat=2, timing=1) for one in THREE]
    shown.add(shorts)
    run_some(shown, shorts[:1], 1)
    assert screen.lines[-1].startswith("mnist_cnn  timing 1 more process") and "processes" not in screen.lines[-1]
    run_some(shown, shorts, 1, 1, 1)
    assert screen.lines[-1].startswith("mnist_cnn  timing 3 more processes")


@pytest.mark.parametrize("detail", [terminal.USUAL, terminal.VERBOSE])
def test_a_short_process_has_a_line_of_its_own_if_it_failed_or_if_all_is_asked_for(
    capsys: pytest.CaptureFixture[str], detail: str
) -> None:
    shown = Progress(THREE, detail)
    well, badly = (replace(THREE[0], repeat=2, timing=number) for number in (1, 2))
    shown.add([well, badly])
    for one, outcome in ((well, Outcome(OK, seconds=3.0)), (badly, Outcome(FAILED, "out of memory", 3.0))):
        shown.listener.started(one)
        shown.listener.epoch(one, EpochProgress(1, 2.0))
        shown.listener.ended(one, outcome)
    *said, failed = capsys.readouterr().err.splitlines()
    assert "failed in 3.0 s: out of memory" in failed and "/3]" not in failed
    assert len(said) == (detail == terminal.VERBOSE) and all("ok in 3.0 s" in line for line in said)


def test_names_have_generation_and_layout_only_where_they_are_needed() -> None:
    two = [task("keras2/tensorflow"), task("keras3/tensorflow"), task("native/torch")]
    assert list(progress.labels(two).values()) == ["keras2/tensorflow", "keras3/tensorflow", "native/torch"]
    both = [task("keras3/jax", image_data_format=f"channels_{one}") for one in ("first", "last")]
    assert list(progress.labels(both).values()) == ["jax first", "jax last"]
    apart = [task("keras3/jax"), task("keras3/torch", image_data_format="channels_first")]
    assert list(progress.labels(apart).values()) == ["jax", "torch"]


def test_a_pipe_gets_a_line_every_half_minute_and_one_for_each_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    with Progress(THREE, clock=lambda: now[0]) as shown:
        for one in THREE:
            shown.listener.started(one)
        for second in range(100):
            now[0] = float(second)
            shown.listener.epoch(THREE[0], EpochProgress(second // 20, 20.0) if second > 19 else EpochProgress())
        shown.listener.ended(THREE[0], Outcome(OK, seconds=99.0))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("  about")[0] for line in lines] == [
        "mnist_cnn  jax 1/8  torch 0/8  tensorflow 0/8",
        "mnist_cnn  jax 3/8  torch 0/8  tensorflow 0/8",
        "mnist_cnn  jax 4/8  torch 0/8  tensorflow 0/8",
        "[1/3] mnist_cnn on keras3/jax channels_last: ok in 99.0 s",
    ]
    assert lines[0].endswith("about 8 min left")


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Progress(THREE, progress.QUIET, clock=lambda: now[0]) as shown:
        run_some(shown, THREE, 1, 1, 1)
        now[0] = 40.0
        run_some(shown, THREE, 2, 2, 2)
    assert capsys.readouterr().err == ""


def test_nothing_is_estimated_before_an_epoch_is_done_unless_earlier_runs_know() -> None:
    assert TimeLeft(THREE).in_words(0.0) == ""
    left = TimeLeft(THREE, {THREE[0].id: 100.0})
    assert left.seconds() == pytest.approx(300.0)  # the others as long as the one that is known


def test_what_is_left_is_that_of_running_waiting_and_ended_cells() -> None:
    left = TimeLeft(THREE, {one.id: 10.0 for one in THREE})
    left.ended(THREE[0], Outcome(OK, seconds=20.0))  # twice as long as before
    assert left.seconds() == pytest.approx(40.0)
    left.progress(THREE[1], EpochProgress(1, 9.0))  # with compilation
    assert left.seconds() == pytest.approx(20.0 * 7 / 8 + 20.0)
    left.progress(THREE[1], EpochProgress(6, 3.0))
    assert left.seconds() == pytest.approx(2 * 3.0 + 20.0)
    left.ended(THREE[1], Outcome(FAILED, "it was killed", seconds=1.0))
    left.ended(THREE[2], Outcome(OK, seconds=20.0))
    assert left.seconds() == 0.0


def test_what_takes_longer_than_was_expected_has_no_time_left_that_anybody_knows() -> None:
    script = replace(THREE[0], epochs=0)  # a program's epochs are not known before
    left = TimeLeft([script, *THREE[1:]], {one.id: 20.0 for one in THREE})
    left.progress(script, EpochProgress(1, 9.0, site="fit, line 7"))
    assert left.seconds({script.id: 5.0}) == pytest.approx(3 * 20.0)
    assert left.in_words(0.0, {script.id: 5.0}) == "about 60 s left" and left.in_words(0.0, {script.id: 21.0}) == ""


@pytest.mark.parametrize(
    ("seconds", "most", "words"),
    [
        (3.0, None, "about 10 s left"),
        (52.0, None, "about 50 s left"),
        (240.0, None, "about 4 min left"),
        (9000.0, None, "about 2.5 h left"),
        (240.0, 600.0, "4 to 10 min left"),
        (20.0, 600.0, "up to 10 min left"),
        (240.0, 250.0, "about 4 min left"),
        (240.0, 10.0, "about 4 min left"),
    ],
)
def test_times_are_said_roughly_and_with_what_repeats_may_add(seconds: float, most: float | None, words: str) -> None:
    assert in_words(seconds, most) == words


def test_earlier_runs_tell_what_a_cell_takes_if_it_did_the_same_work(tmp_path: Path) -> None:
    one = task("keras2/cntk", epochs=3)
    run = fake_run(tmp_path, [(one.cell, 1.0, Outcome(OK, seconds=12.5))], "earlier")
    alike = {name: getattr(one, name) for name in ("samples", "validation_samples", "epochs", "batch_size")}
    store.write_spec(run, one.cell, {**alike, "threads": one.threads, "task": "train"}, {})
    assert time_left.earlier([one], tmp_path) == {one.id: 12.5}
    assert time_left.earlier([task("keras2/cntk", epochs=4)], tmp_path) == {}
    store.write_outcome(run, one.cell, Outcome(FAILED, "it broke", seconds=1.0))
    assert time_left.earlier([one], tmp_path) == {}


@pytest.mark.processes
def test_an_environment_shows_which_it_is_and_what_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    screen = Terminal(monkeypatch, 80)
    monkeypatch.setattr(making, "_written", lambda pid: {pid: 312 << 20})
    with making.telling("keras3/torch", ["keras3/jax", "keras3/torch"], Screen()):
        making.installers.run(["sleep", "1.2"], tmp_path / "log", os.environ, tmp_path, 60)
    said = [one for one in screen.lines if one]
    assert said and said[0].startswith("environment 2 of 2: keras3/torch  312 MiB written  ")
