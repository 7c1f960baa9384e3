"""What commands print: results on stdout, plan and progress on stderr, --verbose, tables that fit."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_bench import Bench, call
from fake_runs import PROVENANCE, cell, fake_run
from fake_runs import task as as_task

from kbench.analysis.growing import GrowingRun
from kbench.analysis.rows import Analysis
from kbench.cells.runner import EpochProgress
from kbench.environments import interpreters
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.records.values import FAILED, OK, UNSUPPORTED, Outcome
from kbench.screen import colors, finish, progress, terminal


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    fates = [
        (cell(backend="keras3/jax"), 1.0, Outcome(OK)),
        (cell(backend="keras3/torch"), 2.0, Outcome(OK)),
        (cell(backend="keras3/openvino"), 2.0, Outcome(UNSUPPORTED, "it only runs models")),
    ]
    return fake_run(tmp_path / "results", fates, "mine")


def test_report_prints_one_format_on_stdout_and_the_folder_beside_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "Tables and raw measurements: results/mine"
    by_csv = call(capsys, "report", "--no-plots", "mine", "--format", "csv")
    assert by_csv.out == (run / "summary.csv").read_text()
    assert where in by_csv.err
    by_json = json.loads(call(capsys, "report", "--no-plots", "mine", "--format", "json").out)
    rows = list(csv.DictReader(io.StringIO(by_csv.out)))
    assert (
        [row["status"] for row in by_json["rows"]] == [row["status"] for row in rows] == ["ok", "ok", "unsupported"]
    )
    assert by_json["name"] == "mine"
    assert list(by_json["rows"][0]) == list(rows[0])
    markdown = call(capsys, "report", "--no-plots", "mine", "--format", "markdown").out
    assert markdown.startswith("**mnist_cnn (quick")
    table = call(capsys, "report", "--no-plots", "mine")
    assert table.out.rstrip().splitlines()[-1].startswith(where)
    assert table.err == ""


def test_a_busy_machine_is_warned_of_in_every_format(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {**PROVENANCE, "cpu": {"model": "A processor", "visible": 2, "threads": 2}}
    fates = [(cell(backend=name), 1.0, Outcome(OK, others=others)) for name, others in (("a/x", 0.8), ("a/y", 0.0))]
    fake_run(tmp_path / "results", fates, "busy", machine)
    warning = "Other programs used the processor in 1 of 2 processes. End them and measure again."
    assert call(capsys, "report", "--no-plots", "busy").out.count("ther programs") == 1
    said = call(capsys, "report", "--no-plots", "busy", "--format", "markdown").out
    assert said.startswith(f"**Note:** {warning}\n\n**mnist_cnn (quick") and "Machine: A processor, 2 cores" in said
    found = json.loads(call(capsys, "report", "--no-plots", "busy", "--format", "json").out)
    assert found["remarks"] == [warning] and found["machine"].startswith("A processor")
    by_csv = call(capsys, "report", "--no-plots", "busy", "--format", "csv")
    assert warning in by_csv.err and warning not in by_csv.out


@pytest.mark.parametrize("columns", [40, 80])
def test_a_plan_is_folded_to_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(terminal, "width", lambda: columns)
    said = call(capsys, "--backends", "keras3", "--examples", "core", "--data", "synthetic", "--dry-run").out
    assert all(len(line) <= columns for line in said.splitlines())
    assert re.search(r"^  data       \S.*\n             \S", said, re.MULTILINE) and "left out" in said


TABLE = """it is fastest  here
backend          x  verdict  status
           fastest
-------  ---------  -------  ---------------
a/x           1.00  fastest  ok
a/y           2.00  slower   ok, differs [1]
a/z              -  -        failed [2]
[1] it was failed

fastest  slower"""


def test_verdicts_and_statuses_are_in_colour_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen, pipe = SimpleNamespace(isatty=lambda: True), SimpleNamespace(isatty=lambda: False)
    found = colors.colored(TABLE, screen)  # type: ignore[arg-type]
    assert found == (
        TABLE.replace("fastest  ok", "\x1b[32mfastest\x1b[0m  ok")
        .replace("slower   ok, differs", "\x1b[33mslower\x1b[0m   ok, \x1b[31mdiffers\x1b[0m")
        .replace("failed [2]", "\x1b[31mfailed\x1b[0m [2]")
    )
    assert colors.colored(TABLE, pipe) == TABLE  # type: ignore[arg-type]
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert colors.colored(TABLE, screen) == TABLE  # type: ignore[arg-type]


def test_run_prints_one_format_on_stdout_and_the_plan_on_stderr(bench: Bench) -> None:
    said = bench.measure("--format", "json")
    assert said.status == 0, said
    assert json.loads(said.out)["rows"][0]["backend"] == "keras9/fake"
    assert said.err.splitlines()[0].startswith("Plan: 1 cell")
    assert "[1/1] my_example on keras9/fake" in said.err
    assert said.err.rstrip().splitlines()[-1].startswith("Tables and raw measurements: results")


def test_verbose_adds_a_line_for_each_epoch(bench: Bench) -> None:
    usual, verbose = bench.measure(), bench.measure("--verbose")
    assert "Plan:" in verbose.out and verbose.err.count("epoch 2/2") == 1 > usual.err.count("epoch 2/2")


def task(epochs: int = 3, task: str = "train") -> CellTask:
    return as_task(cell(epochs=epochs), task=task)


def test_the_progress_of_a_cell_that_runs_alone_has_epoch_pace_loss_and_accuracy() -> None:
    assert progress.one_cell(task(), EpochProgress(), 2.4) == "epoch 1/3, 2 s"
    assert (
        progress.one_cell(task(), EpochProgress(1, 10.25, 0.5, 0.9375), 13.0)
        == "epoch 2/3, 10.2 s/epoch, loss 0.5, accuracy 0.9375, 13 s"
    )
    assert progress.one_cell(task(), EpochProgress(3, 10.25, 0.5, 0.9375), 33.0) == "ending, 33 s"
    assert progress.one_cell(task(task="infer"), EpochProgress(1, 2.0), 3.0) == "pass 2/3, 2.00 s/pass, 3 s"
    assert progress.one_cell(task(epochs=0), EpochProgress(), 3.0) == "computing, 3 s"


def test_verbose_says_each_epoch_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress([task()], terminal.VERBOSE) as shown:
        shown.listener.started(task())
        for done in (
            EpochProgress(),
            EpochProgress(1, 2.0, 0.5, 0.75),
            EpochProgress(1, 2.0, 0.5, 0.75),
            EpochProgress(2, 1.0, 0.25, 0.875),
        ):
            shown.listener.epoch(task(), done)
        shown.listener.ended(task(), Outcome(OK, seconds=4.0))
    assert capsys.readouterr().err.splitlines() == [
        "  mnist_cnn on keras2/cntk channels_last: epoch 1/3, 2.00 s, loss 0.5, accuracy 0.7500",
        "  mnist_cnn on keras2/cntk channels_last: epoch 2/3, 1.00 s, loss 0.25, accuracy 0.8750",
        "[1/1] mnist_cnn on keras2/cntk channels_last: ok in 4.0 s",
    ]


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize(
    "argv",
    [
        ("list",),
        ("report", "--no-plots", "mine"),
    ],
)
def test_what_is_printed_fits_the_terminal_and_has_no_colour(
    run: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: tuple[str, ...],
    columns: int,
) -> None:
    monkeypatch.setattr(terminal, "width", lambda: columns)
    monkeypatch.setattr(interpreters, "probe_once", lambda path: None)  # whatever this machine has
    said = call(capsys, *argv)
    assert said.status == 0
    lines = [line for line in said.out.splitlines() if not line.startswith("Tables and")]
    assert max(map(len, lines)) <= columns, max(lines, key=len)
    assert "\x1b" not in said.out + said.err


def test_the_width_is_the_terminals_and_100_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal.width() == 100
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    assert terminal.width() == 77


@pytest.mark.parametrize("command", [("report", "--no-plots", "mine"), ("list",)])
def test_an_unknown_format_is_one_sentence(
    run: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    said = call(capsys, *command, "--format", "xml")
    assert (said.status, said.out) == (2, "")
    assert "there is no 'xml'" in said.err


def test_each_example_is_answered_as_soon_as_it_is_measured_and_in_full_with_verbose(bench: Bench) -> None:
    for name in ("first.py", "second.py"):
        bench.example(name)
    answer = "first trains on keras9/fake in "
    lines = bench.measure("--epochs", "2", examples="first.py,second.py").err.splitlines()
    assert [line[:9] for line in lines if line.startswith(("[", answer))] == ["[1/2] fir", answer[:9], "[2/2] sec"]
    shown = bench.measure("--epochs", "2", "--verbose", examples="first.py,second.py").err
    assert shown.index(answer) < shown.index("\nbackend ") and "second trains" not in shown  # the table's first line


def test_three_examples_end_with_the_answer_a_heat_map_and_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fates = [
        (cell(example, backend, repeat=repeat), seconds * (1 + repeat / 1000), Outcome(OK))
        for example in ("one", "two", "three")
        for backend, seconds in (("keras3/jax", 1.0), ("keras3/torch", 2.0))
        for repeat in (1, 2, 3)
    ]
    fates += [(cell("broken", name), 1.0, Outcome(FAILED, "it said no")) for name in ("keras3/jax", "keras3/torch")]
    fake_run(tmp_path / "results", fates, "mine")
    said = call(capsys, "report", "--no-plots", "mine").out.strip().splitlines()
    answer = " ".join(said[:2])
    assert answer.startswith(
        "Take keras3/jax: over these 3 examples it takes the least time (geometric means, 95 % intervals). "
        "keras3/torch takes 2.00 times as long ("
    )
    first = said.index("Times slower than the fastest:")
    assert [line.split() for line in said[first + 1 : first + 7]] == [
        ["example", "keras3/", "keras3/"],
        ["jax", "torch"],
        ["one", "1.00", "2.00"],
        ["two", "1.00", "2.00"],
        ["three", "1.00", "2.00"],
        ["broken", "failed", "failed"],
    ]
    assert said[first + 8 : first + 10] == [
        "keras3/jax in broken: failed: it said no.",
        "keras3/torch in broken: failed: it said no.",
    ]
    assert not any("s/epoch" in line for line in said) and len(said) <= 30
    for more in (("--verbose",), ("--columns", "s/epoch")):
        assert "s/epoch" in call(capsys, "report", "--no-plots", "mine", *more).out
    page = (tmp_path / "results" / "mine" / "summary.md").read_text("utf-8")
    assert page.splitlines()[2].startswith("Take keras3/jax: ") and page.splitlines()[4] == "```text"


def test_an_example_whose_run_cannot_be_read_meanwhile_does_not_stop_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    can_be_read = iter([True, False])  # before the first cell, and when the first example has ended
    read = GrowingRun.now

    def now(run: GrowingRun) -> Analysis:
        if next(can_be_read, True):
            return read(run)
        raise UserError("nothing there")

    bench.example("other.py")
    with monkeypatch.context() as patch:
        patch.setattr(GrowingRun, "now", now)
        patch.setattr(finish, "finish", lambda *asked: 0)
        assert bench.measure(examples="my_example.py,other.py").status == 0
    assert [status for status, _ in bench.fates().values()] == ["ok", "ok"] and not [*can_be_read]
