"""What the user chooses to see of a run: columns, order, files beside the screen, the list of runs, its plots."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from fake_bench import Bench, call, refused
from fake_runs import PROVENANCE, cell, fake_run

from kbench.records.values import INTERRUPTED, OK, UNSUPPORTED, Outcome


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    fates = [
        (cell(backend="keras3/torch"), 2.0, Outcome(OK)),
        (cell(backend="keras3/jax"), 1.0, Outcome(OK)),
        (cell(backend="keras3/openvino"), 2.0, Outcome(UNSUPPORTED, "it only runs models")),
    ]
    busy = {**PROVENANCE, "cpu": {"model": "A processor", "visible": 2, "threads": 2, "busy": 1.6}}
    return fake_run(tmp_path / "results", fates, "mine", busy)


def test_columns_hold_for_the_screen_and_for_csv(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("report", "--no-plots", "mine", "--columns", "backend,s/epoch,status")
    said = call(capsys, *asked)
    lines = said.out.splitlines()
    rows = [line.split() for line in lines if line.startswith(("backend", "keras3/")) and "takes" not in line]
    assert [row[0] for row in rows] == ["backend", "keras3/jax", "keras3/torch", "keras3/openvino"]
    assert rows[0] == ["backend", "s/epoch", "status"]
    found = list(csv.reader(call(capsys, *asked, "--format", "csv").out.splitlines()))
    assert found[0] == ["backend", "epoch_seconds", "status"]
    assert [row[0] for row in found[1:]] == ["keras3/jax", "keras3/torch", "keras3/openvino"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--columns", "backend,nosuch"), "--columns: there is no column 'nosuch'"),
        (("--columns", ","), "the list is empty"),
        (("--columns", "s/epok"), "did you mean s/epoch?"),
    ],
)
def test_what_cannot_be_shown_is_said_before_anything_is_done(
    run: Path, bench: Bench, options: tuple[str, ...], words: str
) -> None:
    for said in (bench.measure(*options), bench("resume", str(run), *options)):
        refused(said, words)
        assert said.out == ""
    assert not bench.results.exists()


def test_the_runs_are_listed_with_what_they_are_and_what_came_out(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_run(run.parent, [(cell("imdb_gru"), 1.0, Outcome(INTERRUPTED, "interrupted by the user"))], "stopped")
    (run.parent / "broken").mkdir()
    (run.parent / "broken" / "run.json").write_text('{"created": "2020-01-01T00:00", "schema": 3}')
    found = json.loads(call(capsys, "list", "runs", "--format", "json").out)["runs"]
    rows = {row["name"]: row for row in found}
    assert list(rows)[-1] == "broken" and "is damaged" in rows["broken"]["verdicts"]
    assert rows["mine"]["machine"] == "A processor, 2 cores"
    assert rows["mine"]["backends"] == "keras3/torch, keras3/jax, keras3/openvino"
    assert rows["mine"]["examples"] == "mnist_cnn"
    assert rows["mine"]["verdicts"].endswith("; 1 unsupported")
    assert rows["stopped"]["verdicts"] == "1 interrupted"
    by_csv = list(csv.DictReader(call(capsys, "list", "runs", "--format", "csv").out.splitlines()))
    assert by_csv == found
    table = call(capsys, "list", "runs").out
    assert table.splitlines()[0].split() == ["name", "when", "machine", "backends", "examples", "verdicts"]


def test_without_runs_the_list_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = call(capsys, "list", "runs")
    refused(said, "There are no runs in results")
    assert said.out == ""


def test_report_without_plots_keeps_those_that_are_there(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plots = run / "plots"
    plots.mkdir()
    for name in ("overview.png", "mnist_cnn-seconds.png", "gone-seconds.png", "mine.txt"):
        (plots / name).write_bytes(b"there")
    said = call(capsys, "report", "--no-plots", "mine")
    assert len(list(plots.iterdir())) == 4
    assert "plots/ is as it was" in " ".join(said.out.split())
    page = (run / "summary.md").read_text()
    assert "(plots/overview.png)" in page and "(plots/mnist_cnn-seconds.png)" in page and "gone" not in page


def test_after_an_interruption_the_epochs_that_were_done_are_shown(bench: Bench) -> None:
    assert bench.measure("--name", "mine").status == 0
    next((bench.results / "mine").glob("cells/*/outcome.json")).unlink()  # as if it was stopped before the cell ended
    said = bench("report", "mine")
    assert "Epochs that were done when the run was stopped" in said.out and "2 of 2" in said.out
    page = bench("report", "mine", "--format", "markdown").out
    assert "**Epochs that were done when the run was stopped**" in page
