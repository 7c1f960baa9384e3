"""`--suite` and `--task` on the command line: a run of one's own file, its tables and pages, and resume."""

from __future__ import annotations

import csv

import pytest
from fake_bench import Bench, refused

import kbench
from kbench.store import cell_folder

SUITE = """
title = "Mine"
[examples."my_example.py"]
task = ["train", "infer"]
batch_size = [4, 8]
infer = { batch_size = [1, 2] }
[[tables]]
title = "by batch"
columns = "batch_size"
unit = "samples/s"
[[tables]]
title = "alone, by batch"
columns = "batch_size"
unit = "s/1,000 samples"
task = "infer"
"""


@pytest.fixture
def suite(bench: Bench) -> str:
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "mine.toml").write_text(SUITE.replace("my_example.py", "../my_example.py"))
    return "./sub/mine.toml"


def test_a_suite_of_ones_own_is_measured_laid_out_and_resumed_without_its_file(bench: Bench, suite: str) -> None:
    said = bench("--suite", suite, "--backends", "fake", "--repeats", "1", "--name", "own")
    assert said.status == 0, said.err
    assert "suite      mine: Mine" in said.out
    results = bench.last()
    found = {(one.cell.task, one.cell.batch_size) for one in results.measured}
    assert found == {("train", 4), ("train", 8), ("infer", 1), ("infer", 2)}
    text = (results.folder / "summary.md").read_text()
    assert "## Suite mine: Mine" in text and "**my_example: by batch (samples/s)**" in text
    page = (results.folder / "report.html").read_text()
    assert page.count("alone, by batch") >= 1 and "Suite mine: Mine" in page
    rows = list(csv.DictReader((results.folder / "summary.csv").open()))
    alone = [row for row in rows if row["task"] == "infer" and row["batch_size"] == "1"]
    assert all(float(row["latency_p99_seconds"]) >= float(row["latency_p50_seconds"]) > 0 for row in alone) and alone
    assert not any(row["latency_p50_seconds"] for row in rows if row not in alone)
    (bench.folder / "sub" / "mine.toml").unlink()
    lost = results.measured[-1].cell
    cell_folder(results.folder, lost).outcome.unlink()
    again = bench("resume", "own")
    assert again.status == 0, again.err
    assert "1 of 4 cells to measure" in again.out and lost.id in {one.cell.id for one in bench.last().measured}


def test_what_is_typed_counts_and_smoke_takes_the_first_values(bench: Bench, suite: str) -> None:
    smoke = ("--suite", suite, "--backends", "fake", "--profile", "smoke", "--dry-run")
    assert "Plan: 2 cells" in bench(*smoke).out
    assert "Plan: 1 cell," in bench(*smoke, "--task", "infer").out
    assert "Plan: 3 cells" in bench(*smoke, "--task", "infer", "--batch-size", "1,2,4").out


def test_a_suite_from_python(bench: Bench, suite: str) -> None:
    found = kbench.run("fake", suite=suite, profile="smoke", no_plots=True)
    assert found.status == 0 and set(found.summary["task"]) == {"train", "infer"}


def test_inference_of_what_trains_starts_from_the_same_weights_and_learns_nothing(bench: Bench) -> None:
    said = bench.measure("--task", "train,infer")
    assert said.status == 0, said.err
    assert "inference" in said.out
    one, other = sorted(bench.last().measured, key=lambda one: str(one.cell.task))
    assert (one.facts.task, other.facts.task) == ("infer", "train")
    assert one.facts.weights_sha256 == other.facts.weights_sha256 != ""
    assert one.facts.optimizer is None and all(epoch.loss is None for epoch in one.epochs)
    assert one.facts.target == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--suite", "dlbensh"), "did you mean dlbench"),
        (("--suite", "no.toml"), "no suite file no.toml"),
        (("--suite", "dlbench", "--examples", "mnist_mlp"), "The suite dlbench has no example 'mnist_mlp'"),
        (
            ("--suite", "dlbench", "--on", "tcp://127.0.0.1:9"),
            "--suite is for a run on one machine",
        ),
        (("--task", "learn"), "'learn' is not one of train, infer"),
    ],
)
def test_a_wrong_suite_or_task_is_one_sentence(bench: Bench, arguments: tuple[str, ...], words: str) -> None:
    refused(bench("--backends", "fake", *arguments), words)


def test_suites_are_listed(bench: Bench) -> None:
    said = bench("list", "suites", "--format", "csv").out
    assert said.startswith("suite,examples,varies,what it is\ndlbench,")
    assert bench("list", "suites", "--variables").status == 2
