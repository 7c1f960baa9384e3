"""`compare` from the command line: tables, formats, exit statuses, and what it says of wrong requests."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.test_report_scale import each_is_read_once
from documentation_commands import CHECKOUT
from fake_bench import Said, call, refused
from fake_runs import PROVENANCE, cell, fake_run, learning, write_events

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.analysis.times import levels
from kbench.base import paths
from kbench.cli import arguments
from kbench.records.values import FAILED, OK, Cell, Outcome
from kbench.screen import terminal

ELSEWHERE = {**PROVENANCE, "cpu": {"model": "Another processor", "visible": 2}}
# How much processes differ, as a run says it: by 0.7 %, on any backend.
ALIKE = {**PROVENANCE, "process_spreads": [["", "", [float(place == 3) for place in range(len(levels.SPREADS))]]]}
STEPS = 4  # of a turn


class Compare:
    """Calls `compare` in a folder with these runs: before; after, where one backend is slower; other_machine."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.parent = folder / "results"
        self._capture = capture
        self.run("before", 1.0)
        self.run("after", 2.0)
        self.run("other_machine", 1.0, ELSEWHERE)

    def run(self, name: str, jax: float, provenance: dict[str, object] = PROVENANCE, status: str = OK) -> Path:
        fates = [
            (cell(backend="keras3/jax", repeat=1), jax, Outcome(status, "" if status == OK else "out of memory")),
            (cell(backend="keras3/torch", repeat=1), 2.0, Outcome(OK)),
        ]
        return fake_run(self.parent, fates, name, provenance)

    def run_in_turns(self, name: str, jax: Sequence[float], torch: Sequence[float]) -> Path:
        """A run of a whole process and of short ones, whose steps take so many seconds."""
        cells = [
            (cell(backend=f"keras3/{backend}", repeat=min(number, 2), timing=max(0, number - 1), epochs=7), pace)
            for backend, paces in (("jax", jax), ("torch", torch))
            for number, pace in enumerate(paces, 1)
        ]
        run = fake_run(self.parent, [(one, pace, Outcome(OK)) for one, pace in cells], name, ALIKE)
        for one, pace in cells:
            write_events(run, one, in_turns(one, pace))
        return run

    def __call__(self, *argv: str) -> Said:
        return call(self._capture, "compare", *argv)


def in_turns(one: Cell, pace: float) -> list[dict[str, Any]]:
    """The events of a process that takes a turn in each epoch; a short one has an epoch of six turns."""
    told = learning(one, pace)
    *before, end = (event for event in told if event["event"] != "epoch")
    epochs = [event for event in told if event["event"] == "epoch"]
    for event in epochs:
        event |= {"seconds": STEPS * pace, "step_seconds": [pace] * STEPS, "rounds": [[event["epoch"], 0, STEPS]]}
    if not one.timing:
        return told
    turns = [[number, number * STEPS, (number + 1) * STEPS] for number in range(6)]
    only = epochs[0] | {"seconds": 6 * STEPS * pace, "step_seconds": [pace] * 6 * STEPS, "rounds": turns}
    return [*before, only, end]


def same_as_in_its_table(compare: Compare, run: Path) -> bool:
    """Whether the rows of a run that is compared with itself have the times and intervals of its table."""
    rows = Analysis(store.read(run)).rows
    shown = json.loads(compare(str(run), str(run), "--format", "json").out)["rows"]
    return [
        (one["example"], one["backend"], *(one[f"epoch_seconds{part}_first"] for part in ("", "_low", "_high")))
        for one in shown
    ] == [
        (row.example, row.backend, row.epoch_seconds, ends and ends.low, ends and ends.high)
        for row in rows
        for ends in [row.epoch_interval]
    ]


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Compare:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    return Compare(tmp_path, capsys)


def test_two_runs_stand_side_by_side_with_ratio_interval_verdict_and_losses(compare: Compare) -> None:
    said = compare("before", "after")
    assert (said.status, said.err) == (0, "")
    rows = {line.split()[0]: line for line in said.out.splitlines() if line.startswith("keras3/")}
    *shown, interval = rows["keras3/jax"].split()[1:5]
    assert shown == ["1.02", "2.05", "2.00"]
    low, high = map(float, interval.split("-"))
    assert 1.2 < low < 1.8 and 2.2 < high < 3.5
    assert rows["keras3/jax"].endswith("slower")
    assert "identical" in rows["keras3/torch"] and rows["keras3/torch"].endswith("no difference shown")
    assert "B against A, 2 rows: 1 slower, 1 no difference shown. " in said.out
    assert "Losses are identical in 2 of 2." in " ".join(said.out.split())


def test_a_run_twice_is_said_to_be_the_same(compare: Compare) -> None:
    told = " ".join(compare("before", "results/before").out.split())
    assert "No row differs by more than its interval. Losses are identical in 2 of 2." in told


def test_what_may_be_chance_is_called_so(compare: Compare) -> None:
    told = " ".join(compare("before", "after").out.split())
    assert "Chance alone makes up to 1 of 2 rows faster or slower. Use more repeats." in told
    assert "Chance alone" not in compare("before:jax", "after:jax").out  # one row differs by chance too seldom


def test_three_runs_have_a_row_each(compare: Compare) -> None:
    said = compare("before", "after", "before")
    assert [line.split()[:2] for line in said.out.splitlines() if line.startswith("keras3/jax")] == [
        ["keras3/jax", "B"],
        ["keras3/jax", "C"],
    ]


def test_two_backends_of_one_run_are_compared(compare: Compare) -> None:
    said = compare("latest:jax", "latest:keras3/torch")
    (row,) = [line for line in said.out.splitlines() if line.startswith("keras3/")]
    assert row.startswith("keras3/torch") and "2.00" in row and row.rstrip(" 0123456789[]").endswith("slower")
    assert "A: other_machine:jax" in said.out


def test_tables_fit_80_columns(compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("kbench.screen.terminal.width", lambda: 80)
    said = compare("before", "after", "other_machine", "--allow", "machine")
    assert max(map(len, said.out.splitlines())) <= 80
    assert "Not shown for lack of width" in said.out


def test_each_format_says_the_same_and_nothing_else(compare: Compare) -> None:
    by_csv = list(csv.DictReader(io.StringIO(compare("before", "after", "--format", "csv").out)))
    by_json = json.loads(compare("before", "after", "--format", "json").out)
    assert [run["name"] for run in by_json["runs"]] == ["before", "after"]
    assert [row["verdict"] for row in by_csv] == [row["verdict"] for row in by_json["rows"]]
    assert [float(row["ratio"]) for row in by_csv] == [row["ratio"] for row in by_json["rows"]]
    assert list(by_csv[0]) == list(by_json["rows"][0])
    assert by_json["rows"][0]["largest_loss_difference"] == 0.0
    markdown = compare("before", "after", "--format", "markdown").out
    assert "| keras3/jax " in markdown and markdown.startswith("- A: before")


def test_fail_above_gives_status_1_and_names_the_row(compare: Compare) -> None:
    said = compare("before", "after", "--fail-above", "1.10")
    assert said.status == 1
    assert said.err == "kbench: mnist_cnn on keras3/jax, B against A: 2.000 x.\n"
    assert compare("before", "after", "--fail-above", "2.5").status == 0
    assert compare("after", "before", "--fail-above", "1.10").status == 0


@pytest.mark.parametrize("name", ["reference-full", "reference-full-mnist_cnn", "reference-native"])
def test_rows_of_a_run_have_the_times_and_intervals_of_its_table(compare: Compare, name: str) -> None:
    assert same_as_in_its_table(compare, paths.project_folder("results") / name)


def test_short_processes_count_and_so_does_what_the_run_knew_of_spreads(compare: Compare) -> None:
    run = compare.run_in_turns("in_turns", jax=(1.1, 1.0, 1.01), torch=(2.0, 2.2, 2.21))
    assert same_as_in_its_table(compare, run)
    (shown, _) = json.loads(compare("in_turns", "in_turns", "--format", "json").out)["rows"]
    assert shown["epoch_seconds_first"] == pytest.approx(STEPS * 1.01, rel=0.01), "of a usual process"
    assert shown["epoch_seconds_high_first"] < 1.05 * shown["epoch_seconds_low_first"]


def test_a_regression_that_the_whole_processes_hide_is_found_by_the_short_ones(compare: Compare) -> None:
    compare.run_in_turns("good", jax=(1.2, 1.0, 1.01), torch=(2.0, 2.0, 2.01))
    compare.run_in_turns("bad", jax=(1.25, 1.3, 1.31), torch=(2.0, 2.01, 2.0))
    said = compare("good", "bad", "--fail-above", "1.1")
    (row,) = [line for line in said.out.splitlines() if line.startswith("keras3/jax")]
    assert said.status == 1 and row.endswith("slower")
    assert said.err.startswith("kbench: mnist_cnn on keras3/jax, B against A: 1.29") and said.err.count("\n") == 1


def test_fail_above_fails_for_a_row_that_was_ok_and_is_no_longer(compare: Compare) -> None:
    compare.run("broken", 1.0, status=FAILED)
    said = compare("before", "broken", "--fail-above", "1.10")
    assert (said.status, said.err) == (
        1,
        "kbench: mnist_cnn on keras3/jax, B against A: failed in B: out of memory.\n",
    )
    assert compare("broken", "before", "--fail-above", "1.10").status == 0


def test_another_profile_is_said_with_the_command_to_measure_with_the_same(compare: Compare) -> None:
    small = [(cell(backend="keras3/jax", profile="smoke", samples=256, repeat=1), 1.0, Outcome(OK))]
    fake_run(compare.parent, small, "small")
    said = compare("latest", "before")
    assert (said.status, said.err) == (
        2,
        "kbench: error: latest is a smoke run and before a quick one: measure with the same profile: "
        "`kbench --backends keras3/jax --examples mnist_cnn --profile quick`.\n",
    )


def test_of_another_machine_what_is_learnt_is_compared_and_times_on_request(compare: Compare) -> None:
    said = compare("before", "other_machine")
    assert (said.status, said.err) == (0, "")
    assert "[1] machine: processor Another processor instead of A processor" in said.out
    assert " ".join(said.out.split()).endswith(
        "B against A, 2 rows: 2 not compared. Losses are identical in 2 of 2. Times of different machines are not "
        "compared, or only with `--allow machine`."
    )
    assert compare("before", "other_machine", "--fail-above", "9").status == 1
    allowed = compare("before", "other_machine", "--allow", "machine")
    assert (allowed.status, allowed.err) == (0, "")
    assert "[1] machine: processor Another processor instead of A processor" in allowed.out
    assert "not compared" not in allowed.out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "required: RUN[:BACKEND]"),
        (("before",), "Name two runs to compare"),
        (("before", "aftr"), "There is no run 'aftr': did you mean after?"),
        (("before", "after:jx"), "after: 'jx' is not one of the run's backends: did you mean jax?"),
        (("before", "aftr:jax"), "There is no run 'aftr'"),
        (("before", ":jax"), "':jax' is neither a run nor RUN:BACKEND"),
        (("before", "after:"), "'after:' is neither a run nor RUN:BACKEND"),
        (("before:jax", "after"), ""),
        (("before", "after", "--fail-above", "x"), "'x' is not a ratio above 0"),
        (("before", "after", "--fail-above", "0"), "'0' is not a ratio above 0"),
        (("before", "after", "--fail-above", "nan"), "'nan' is not a ratio above 0"),
        (("before", "after", "--allow", "speed"), "'speed' is not one of machine, fingerprint"),
        (("before", "after", "--allow", ","), "not one of machine, fingerprint"),
        (("before", "after", "--format", "xml"), "there is no 'xml'"),
        (("before", "after", "--results", "nowhere"), "There is no run 'before'"),
    ],
)
def test_a_wrong_request_is_one_sentence(compare: Compare, argv: tuple[str, ...], words: str) -> None:
    said = compare(*argv)
    if not words:
        assert said.status == 0
        return
    refused(said, words)


def test_runs_with_nothing_in_common_are_not_compared(compare: Compare) -> None:
    fake_run(compare.parent, [(cell("mnist_mlp"), 1.0, Outcome(OK))], "mlp")
    said = compare("before", "mlp")
    assert said.status == 2
    assert "no example and backend in common" in said.err


def test_an_example_that_one_side_lacks_is_said_in_a_sentence(compare: Compare) -> None:
    both = [(cell("mnist_mlp", "keras3/jax"), 1.0, Outcome(OK)), (cell(backend="keras3/jax"), 1.0, Outcome(OK))]
    fake_run(compare.parent, both, "both")
    assert "A has no mnist_mlp." in compare("before", "both").out
    assert "Only A has mnist_mlp." in compare("both", "before").out
    (row,) = [line for line in compare("before", "both").out.splitlines() if line.startswith("keras3/torch")]
    assert row.endswith("not in B")


def test_the_reference_run_is_found_from_anywhere_and_needs_a_checkout(
    compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = compare("reference", "reference")
    assert said.status == 0
    assert "slower" not in said.out and "faster" not in said.out
    monkeypatch.setattr("kbench.base.paths.project_folder", lambda name: compare.parent / "nothing")
    assert "only in a checkout" in compare("before", "reference").err


def test_compare_shows_what_differs_in_the_setup_in_every_format_but_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    other = {**PROVENANCE, "memory_mib": 12000}
    fake_run(tmp_path / "results", [(cell(backend="keras3/jax"), 1.0, Outcome(OK))], "mine")
    fake_run(tmp_path / "results", [(cell(backend="keras3/jax"), 1.0, Outcome(OK))], "other", other)
    said = call(capsys, "compare", "mine", "other")
    page = call(capsys, "compare", "mine", "other", "--format", "markdown").out
    lines = [line.split() for line in said.out.splitlines()]
    assert ["machine", "memory", "(MiB)", "24000", "12000"] in lines
    assert "| machine memory (MiB) | 24000 | 12000 |" in " ".join(page.split())
    found = json.loads(call(capsys, "compare", "mine", "other", "--format", "json").out)["configuration"]
    assert {"kind": "machine", "name": "memory (MiB)", "backends": "", "values": ["24000", "12000"]} in found
    same = call(capsys, "compare", "mine", "mine").out
    assert "Settings, machine, packages and environment variables are the same." in same


@pytest.mark.parametrize("columns", [80, *(pytest.param(one, marks=pytest.mark.thorough) for one in (100, 120))])
def test_what_is_printed_fits_the_terminal_and_has_no_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setattr(terminal, "width", lambda: columns)
    said = call(capsys, "compare", "reference", "reference")
    assert said.status == 0 and max(map(len, said.out.splitlines())) <= columns
    assert "\x1b" not in said.out + said.err


def test_an_unknown_format_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said = call(capsys, "compare", "mine", "mine", "--format", "xml")
    assert (said.status, said.out) == (2, "") and "there is no 'xml'" in said.err


def typed(text: str) -> list[list[str]]:
    """The commands of kbench in a shell's script, without its redirections."""
    found = re.findall(r"python run\.py (.+?)(?: [2]?>.*)?$", text, re.MULTILINE)
    return [
        line.replace('"', "").replace("$BACKENDS", "jax,torch").replace("$PROGRAM", "train.py").split()
        for line in found
    ]


def test_the_workflow_measures_both_sides_and_fails_above_its_limit() -> None:
    text = (CHECKOUT / "docs" / "ci" / "kbench.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert workflow[True] == "pull_request"  # YAML 1.1 takes `on` for true
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    measured, compared = (arguments.parse(words) for words in typed(text))
    assert (measured.command, measured.repeats, measured.backends) == ("script", 5, "jax,torch")
    assert (compared.command, compared.fail_above, compared.format) == ("compare", 1.1, "markdown")
    comment = next(step for step in job["steps"] if step.get("name") == "Comment")
    assert "always()" in comment["if"] and "head.repo.full_name == github.repository" in comment["if"]
    assert text.count("# yours") == 3


def test_no_raw_file_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each_is_read_once(tmp_path, monkeypatch, ["compare", "a", "b"])
