"""Figures from the literature: the file that comes with kbench, and a run's own figures beside them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import call
from fake_runs import UNLIKE, cell, fake_run, summary

from kbench.environments import interpreters
from kbench.errors import UserError
from kbench.features.published import figure_tables
from kbench.features.published import figures as published
from kbench.features.published.figures import PublishedFigure
from kbench.records.values import FAILED, OK, Outcome
from kbench.screen import terminal
from kbench.selection import backends, examples

CHECKOUT = Path(__file__).resolve().parents[3]
README = CHECKOUT / "results" / "published" / "README.md"
FIGURE = PublishedFigure(
    source="paper2017",
    year=2017,
    workload="mnist_cnn",
    framework="Keras(JAX)",
    backend="keras2/jax",
    hardware="Tesla K80",
    cudnn_rnn="",
    gpus=1,
    threads=None,
    batch_size=64,
    epochs=10,
    metric="training_time",
    value=20.0,
    unit="s",
    note="",
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    return tmp_path


def test_every_figure_is_read_and_every_source_is_cited() -> None:
    figures = published.read()
    assert len(figures) == 610
    readme = README.read_text("utf-8")
    assert {one.source for one in figures} == set(re.findall(r"\*\*([\w-]+)\*\*", readme))
    assert {one.backend for one in figures} - {""} <= set(backends.load_all(CHECKOUT / "backends"))
    assert not any(one.backend.startswith("keras3") for one in figures)
    k80 = next(one for one in figures if (one.workload, one.framework) == ("imdb_gru", "Keras(CNTK)"))
    assert (k80.value, k80.seconds, k80.batch_size, k80.cudnn_rnn) == (86.0, 86 / 3, 64, "no")


def test_every_network_that_was_measured_has_an_example() -> None:
    known = examples.load_all(CHECKOUT / "examples_models")
    assert {one.workload for one in published.read() if one.of_network} <= set(known)
    assert {one.workload for one in published.read() if not one.of_network} == {"api_coverage"}


def test_every_framework_that_was_measured_has_a_backend_or_a_reason_and_one_spelling() -> None:
    figures = published.read()
    without = {one.framework for one in figures if not one.backend}
    reasons = README.read_text("utf-8").partition("A framework without a backend:")[2]
    assert without == set(re.findall(r"^\| `([^`]+)` \|", reasons, re.MULTILINE))
    assert not without & {one.framework for one in figures if one.backend}
    spellings: dict[str, set[str]] = {}
    for one in figures:
        spellings.setdefault(one.framework.lower(), set()).add(one.framework)
    assert {tuple(some) for some in spellings.values() if len(some) > 1} == set()


def test_times_of_a_workload_are_all_of_an_epoch_or_all_of_1000_samples() -> None:
    measures: dict[str, set[bool]] = {}
    for one in published.read():
        if one.seconds:
            measures.setdefault(one.workload, set()).add(one.per_1000)
    assert {name: len(some) for name, some in measures.items()} == dict.fromkeys(measures, 1)


def test_a_row_is_held_against_each_figure_of_its_workload_for_the_same_amount_of_work() -> None:
    row = summary("keras3/jax", seconds_per_1000_samples=2.0, samples=1000, available_samples=60000)
    (one,) = published.beside_figures([row], [FIGURE, replace(FIGURE, workload="other")])
    assert (one.seconds, one.published, one.ratio, one.same_backend) == (120.0, 2.0, 60.0, True)
    assert one.differs == (
        "batch size 64 published, 128 here",
        "samples per epoch not published, 60,000 assumed",
        "measured here on 1,000 of 60,000 samples and scaled up",
    )


@pytest.mark.parametrize(
    ("backend", "figures", "same"),
    [
        ("keras3/jax", "keras2/jax", True),
        ("keras3/jax", "native/jax", False),
        ("native/jax", "keras2/jax", False),
        ("native/jax", "native/jax1", True),
        ("native/jax", "native/jax2", False),
        ("native/jax", "", False),
    ],
)
def test_a_native_row_stands_beside_figures_of_its_framework_without_keras(
    backend: str, figures: str, same: bool
) -> None:
    row = summary(backend, seconds_per_1000_samples=2.0)
    (one,) = published.beside_figures([row], [replace(FIGURE, backend=figures)])
    assert one.same_backend is same


def test_of_inference_1000_pictures_are_compared_and_nothing_is_scaled() -> None:
    figure = replace(FIGURE, metric="time_per_1000_images", value=4.0, batch_size=128)
    row = summary("keras3/torch", task="infer", seconds_per_1000_samples=2.0)
    (one,) = published.beside_figures([row], [figure])
    assert (one.ratio, one.same_backend, one.differs) == (0.5, False, ())


def test_a_time_per_minibatch_is_compared_by_1000_samples_and_a_batch_of_another_size_is_said() -> None:
    figure = replace(FIGURE, metric="time_per_minibatch", value=0.5, batch_size=64)
    row = summary("keras3/jax", seconds_per_1000_samples=2.0, samples=1000, available_samples=60000)
    (one,) = published.beside_figures([row], [figure])
    assert (one.seconds, one.published, one.ratio) == (2.0, 7.8125, 0.256)
    assert one.differs == ("batch size 64 published, 128 here",)
    assert published.beside_figures([row], [replace(figure, batch_size=None)]) == []


def test_figures_stand_beside_rows_with_as_many_workers() -> None:
    figures = [replace(FIGURE, gpus=gpus, metric="epoch_time", value=9.0) for gpus in (1, 2, 4)]
    rows = [summary("keras3/jax", workers=count, seconds_per_1000_samples=2.0) for count in (1, 2)]
    found = published.beside_figures(rows, figures)
    pairs = {(one.row.value("workers"), one.figure.gpus): one.differs for one in found}
    assert set(pairs) == {(1, 1), (1, 2), (1, 4), (2, 2)}
    assert [any("GPUs published" in why for why in how) for how in pairs.values()] == [
        gpus != workers_ for workers_, gpus in pairs
    ]
    assert {one["workers"] for one in figure_tables.records(found)} == {1, 2}


def test_minutes_are_times_too() -> None:
    assert replace(FIGURE, value=20.0, unit="min").seconds == 120.0


def test_cudnns_kernel_several_gpus_and_an_unknown_batch_size_are_said() -> None:
    row = summary(seconds_per_1000_samples=1.0, samples=60000, data_source="synthetic")
    (one,) = published.beside_figures([row], [replace(FIGURE, cudnn_rnn="yes", gpus=4, batch_size=None)])
    assert [said.partition(",")[0] for said in one.differs] == [
        "batch size not published",
        "samples per epoch not published",
        "published with cuDNN's recurrent kernel",
        "4 GPUs published",
        "synthetic data here",
    ]


def test_what_is_no_time_and_rows_without_one_are_left_out() -> None:
    accuracy = replace(FIGURE, metric="test_accuracy", value=0.7, unit="fraction")
    of_hours = replace(FIGURE, unit="h")
    without_epochs = replace(FIGURE, epochs=None)
    timed = summary(seconds_per_1000_samples=1.0)
    assert published.beside_figures([timed], [accuracy, of_hours, without_epochs]) == []
    for bad in (summary(), replace(timed, status=FAILED), replace(timed, findings=UNLIKE)):
        assert published.beside_figures([bad], [FIGURE]) == []


@pytest.mark.parametrize("text", ["", "a,b\n", "a,b\n1,2\n", "source,year\nx,y\n"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "figures.csv"
    file.write_text(text)
    with pytest.raises(UserError, match="is damaged"):
        published.read(file)
    with pytest.raises(UserError, match="Cannot read"):
        published.read(tmp_path / "none.csv")


def test_list_published_shows_workloads_and_the_figures_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "list", "published")
    assert said.status == 0
    assert re.search(r"^imdb_gru_cudnn +yes +20 +8 +microsoft2018, microsoft2018-notebooks$", said.out, re.MULTILINE)
    own = examples.load_all(CHECKOUT / "examples_models")
    have = sum(one.workload in own for one in published.read())
    assert f"{have} of 581 figures of networks have an example. 29 count what an API" in " ".join(said.out.split())
    one = call(capsys, "list", "published", "mnist_cnn").out
    assert re.search(r"^Keras\(TF\) +Azure NC6, Tesla K80 / +128 +epoch time +10.3 s", one, re.MULTILINE)
    assert "116 ± 0.9 s" in one and "have an example" not in one
    rows = list(csv.DictReader(io.StringIO(call(capsys, "list", "published", "mnist_cnn", "--format", "csv").out)))
    assert [row["value"] for row in rows] == ["10.3", "14.9", "116.0", "172.0", "0.9909", "0.9904"]
    assert [row["spread"] for row in rows] == ["", "", "0.9", "0.1", "", ""]
    listed = json.loads(call(capsys, "list", "published", "mnist_cnn", "--format", "json").out)
    assert [row["hardware"] for row in listed] == ["Azure NC6, Tesla K80 / CUDA 8"] * 6


def test_list_prints_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    by_json = json.loads(call(capsys, "list", "examples", "--format", "json").out)
    assert "babi_rnn" in {row["example"] for row in by_json["examples"]}
    assert call(capsys, "list", "examples", "--format", "csv").out.startswith("example,does,data,")
    assert call(capsys, "list", "examples", "--format", "markdown").out.startswith("| example ")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("list", "published", "imdb_gr"), "did you mean imdb_gru?"),
        (("list", "examples", "imdb_gru"), "`list published imdb_gru`"),
        (("list", "--format", "csv"), "One CSV holds one table"),
        (("compare", "published", "published"), "Name exactly one run with published"),
        (("compare", "own", "own", "published"), "Name exactly one run with published"),
        (("compare", "own", "published", "--fail-above", "2"), "--fail-above is for runs"),
        (("compare", "none", "published"), "There is no run 'none'"),
        (("compare", "other", "published"), "no published figure for any row of other"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setattr(interpreters, "probe_once", lambda path: None)  # whatever this machine has
    fake_run(here / "results", [(cell(), 1.0, Outcome(OK))], "own")
    fake_run(here / "results", [(cell("my_own"), 1.0, Outcome(OK))], "other")
    said = call(capsys, *argv)
    assert said.status == 2
    assert words in said.err, said.err


def test_compare_published_sets_a_run_beside_print_in_each_format(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_run(here / "results", [(cell(backend="keras2/cntk"), 1.0, Outcome(OK))], "own")
    said = call(capsys, "compare", "own", "published")
    assert said.status == 0
    assert said.out.startswith("here: A processor, 2 cores")
    lines = [line.split() for line in said.out.splitlines()]
    printed = [line for line in lines if line[:1] == ["Keras(CNTK)"]]
    assert ["4.13", "(keras2)", "bhatia2017-notebooks"] in [line[-4:-1] for line in printed]  # then a note's mark
    (own,) = [line for line in lines if line[:2] == ["keras2/cntk", "here"]]
    assert own[2:] == ["(cpu)", "61.5", "-", "this", "run"]
    by_csv = list(csv.DictReader(io.StringIO(call(capsys, "compare", "own", "published", "--format", "csv").out)))
    by_json = json.loads(call(capsys, "compare", "published", "own", "--format", "json").out)["rows"]
    assert [float(row["ratio"]) for row in by_csv] == [row["ratio"] for row in by_json]
    assert "| Keras(CNTK) " in call(capsys, "compare", "own", "published", "--format", "markdown").out


@pytest.mark.parametrize("columns", [80, *(pytest.param(one, marks=pytest.mark.thorough) for one in (100, 120))])
@pytest.mark.parametrize(
    "argv",
    [("list", "published"), ("list", "published", "lstm_ptb"), ("compare", "reference", "published")],
    ids=" ".join,
)
def test_what_is_printed_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], columns: int
) -> None:
    monkeypatch.setattr(terminal, "width", lambda: columns)
    said = call(capsys, *argv)
    assert said.status == 0 and max(map(len, said.out.splitlines())) <= columns
