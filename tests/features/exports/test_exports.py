"""A run's data for notebooks and other programs: the same numbers as in the CSV files, with types."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fake_bench import Said, call, refused
from fake_runs import PROVENANCE, cell, fake_run, write_events
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import kbench
from kbench import store
from kbench.analysis.times import spreads
from kbench.analysis.times.processes import Place, Process, RowTime, row_times
from kbench.errors import UserError
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, Cell, Outcome

CHECKOUT = Path(__file__).resolve().parents[3]
DIVERGED = [
    {"event": "start", "schema": 1},
    {"event": "epoch", "epoch": 1, "seconds": 1.0, "samples": 1000, "loss": math.nan},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of two cells and one that failed after an epoch with a loss of NaN."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    failed = cell(backend="keras3/torch")
    run = fake_run(
        tmp_path / "results",
        [
            (cell(backend="keras3/jax", repeat=1), 1.0, Outcome(OK, seconds=9.5, exit_code=0)),
            (cell(backend="keras3/jax", repeat=2), 1.0, Outcome(OK)),
            (failed, 1.0, Outcome(FAILED, "out of memory")),
        ],
        "mine",
    )
    write_events(run, failed, DIVERGED)
    return tmp_path


STEPS = 10  # of a turn


def turns(one: Cell, pace: float) -> list[dict[str, Any]]:
    """The events of a process with steps of `pace` seconds: a short one has seven turns, a whole one two an epoch."""

    def epoch(number: int, *rounds: int) -> dict[str, Any]:
        steps = [pace * (1 + 0.01 * math.sin(place)) for place in rounds for _ in range(STEPS)]
        places = [[place, STEPS * at, STEPS * (at + 1)] for at, place in enumerate(rounds)]
        told = {"step_seconds": steps, "rounds": places, "seconds": sum(steps), "samples": 8 * len(steps)}
        return {"event": "epoch", "epoch": number, **told}

    whole = [epoch(1, 0), *(epoch(number, 2 * number - 3, 2 * number - 2) for number in range(2, one.epochs + 1))]
    epochs = [epoch(1, *range(7))] if one.timing else whole
    return [{"event": "start", "schema": 1}, *epochs, {"event": "end", "seconds": 9.0}]


@pytest.fixture
def timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two backends, each with a whole process and two short ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    return timed_run(tmp_path, {"keras3/jax": (0.1, 0.103, 0.098), "keras3/torch": (0.12, 0.118, 0.131)})


def timed_run(parent: Path, paces: Mapping[str, Sequence[float]]) -> Path:
    """A run whose backends have processes with steps of so many seconds; the first is whole."""
    processes = [
        (cell(backend=name, repeat=1 + (number > 0), timing=number, epochs=6, samples=160), pace)
        for name, its in paces.items()
        for number, pace in enumerate(its)
    ]
    kept = {**PROVENANCE, "process_spreads": spreads.record(spreads.shipped())}
    run = fake_run(parent / "results", [(one, pace, Outcome(OK)) for one, pace in processes], "mine", kept)
    for one, pace in processes:
        write_events(run, one, turns(one, pace))
    return run


def export(capture: pytest.CaptureFixture[str], *argv: str) -> Said:
    return call(capture, "export", *argv)


def test_load_gives_frames_with_the_columns_of_the_csv_files_and_numbers_as_numbers(here: Path) -> None:
    run = kbench.load("mine")
    one_run.rebuild(ToldRun(store.read(here / "results" / "mine")))
    for frame, name in ((run.summary, "summary"), (run.epochs, "epochs")):
        written = pd.read_csv(here / "results" / "mine" / f"{name}.csv")
        assert list(frame.columns) == list(written.columns)
        assert len(frame) == len(written)
    assert run.epochs["seconds"].tolist() == [2.0, 1.02, 1.03, 2.0, 1.02, 1.03, 1.0]
    assert (str(run.epochs["epoch"].dtype), str(run.summary["parameters"].dtype)) == ("Int64", "Int64")
    assert run.summary["epoch_seconds"].dtype == "float64"
    assert run.cells["status"].tolist() == ["ok", "ok", "failed"]
    assert run.cells["seconds"].tolist()[0] == 9.5
    assert run.cells["import_seconds"].tolist()[:2] == [1.5, 1.5]
    assert (run.name, run.provenance["gpus"]) == ("mine", [])


def test_load_takes_the_latest_run_a_folder_and_a_place_and_its_result_is_frozen(here: Path) -> None:
    run = kbench.load()
    assert run.name == "mine"
    assert kbench.load(here / "results" / "mine").summary.equals(run.summary)
    assert kbench.load("mine", results_folder=here / "results").name == "mine"
    with pytest.raises(FrozenInstanceError):
        run.name = "other"  # type: ignore[misc]
    with pytest.raises(UserError, match="did you mean mine"):
        kbench.load("mines")


def test_a_run_is_printed_in_a_few_lines(here: Path) -> None:
    said = repr(kbench.load())
    assert said.startswith("mine in ") and "\nDataFrames, with rows: summary (" in said
    assert len(said.splitlines()) == 3 and max(map(len, said.splitlines()[1:])) < 100


def test_a_notebook_shows_the_answer_and_what_disturbed_the_machine(tmp_path: Path) -> None:
    machine = {**PROVENANCE, "cpu": {"model": "A processor", "visible": 2, "threads": 2}}
    busy = Outcome(OK, others=0.8)
    fates = [(cell(backend=name, epochs=2), seconds, busy) for name, seconds in (("a/x", 1.0), ("a/y", 9.0))]
    shown = kbench.load(fake_run(tmp_path, fates, "busy", machine))._repr_html_()
    assert shown.index("could not be compared: other programs used the processor") < shown.index("<table")
    assert (
        "<b>Note:</b> Other programs used the processor in 2 of 2 processes." in shown
        and "A processor, 2 cores" in shown
    )


def test_importing_kbench_brings_no_package() -> None:
    script = "import sys, kbench; print(sorted({'pandas', 'numpy', 'platformdirs'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_column_is_described(here: Path) -> None:
    run = kbench.load("mine")
    described = pd.read_csv(CHECKOUT / "docs" / "columns.csv")
    of_summary = set(described.column[described.table == "summary"])
    assert of_summary == set(run.summary)
    assert set(described.column[described.table == "epochs"]) == set(run.epochs)
    assert set(run.cells) <= of_summary | set(described.column[described.table == "cells"])


def test_parquet_holds_the_frames(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = export(capsys, "mine", "--to", "parquet")
    assert said.status == 0
    folder = here / "results" / "mine" / "export"
    assert "parquet: results/mine/export/summary.parquet" in said.out
    run = kbench.load("mine")
    for name in ("summary", "epochs", "cells"):
        read = pd.read_parquet(folder / f"{name}.parquet")
        pd.testing.assert_frame_equal(read, getattr(run, name), check_dtype=False)


def test_json_holds_all_of_it_and_nothing_that_is_no_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(capsys, "mine", "--to", "json", "--out", "there").status == 0

    def refuse(text: str) -> None:
        raise AssertionError(text)

    data = json.loads((here / "there" / "data.json").read_text(), parse_constant=refuse)
    assert (data["name"], data["provenance"]["memory_mib"]) == ("mine", 24000)
    assert [row["backend"] for row in data["summary"]] == ["keras3/jax", "keras3/torch"]
    assert data["epochs"][-1]["loss"] is None
    assert data["epochs"][0]["seconds"] == 2.0
    assert [row["status"] for row in data["cells"]] == ["ok", "ok", "failed"]


def times_of(cells: pd.DataFrame, kept: Sequence[object]) -> dict[str, RowTime]:
    """Each row's time by what is exported of its processes, and the run's prior."""
    priors = spreads.from_record(kept)
    assert priors is not None
    table: dict[str, dict[Place, Process]] = {}
    for one in cells.to_dict("records"):
        process = Process(one["steady_seconds"], one["steady_error"])
        table.setdefault(one["backend"], {})[one["repeat"], one["timing"]] = process
    return row_times(table, {name: spreads.prior(priors, name, spreads.OTHER) for name in table})


@pytest.mark.parametrize("target", ["json", "parquet", ""])
def test_the_time_of_a_row_follows_from_what_is_exported_of_its_processes(
    timed: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    run = kbench.load("mine")
    summary, cells, kept = run.summary, run.cells, run.provenance["process_spreads"]
    if target:
        assert export(capsys, "mine", "--to", target, "--out", "there").status == 0
    if target == "json":
        data = json.loads(Path("there", "data.json").read_text())
        summary, cells, kept = (
            pd.DataFrame(data["summary"]),
            pd.DataFrame(data["cells"]),
            data["provenance"]["process_spreads"],
        )
    if target == "parquet":
        summary, cells = (pd.read_parquet(Path("there", f"{name}.parquet")) for name in ("summary", "cells"))
    assert sorted(zip(cells["repeat"], cells["timing"], strict=True)) == [
        (1, 0),
        (1, 0),
        (2, 1),
        (2, 1),
        (2, 2),
        (2, 2),
    ]
    found = times_of(cells, kept)
    for row in summary.to_dict("records"):
        time = found[row["backend"]]
        assert time.interval is not None and row["short_processes"] == 2
        assert time.seconds == pytest.approx(row["epoch_seconds"], rel=1e-9)
        ends = (time.interval.low, time.interval.high)
        assert ends == pytest.approx((row["epoch_seconds_low"], row["epoch_seconds_high"]), rel=1e-9)
        its = cells[cells["backend"] == row["backend"]]["steady_seconds"]
        assert its.min() < row["epoch_seconds"] < its.max()


def test_a_process_that_does_not_count_for_its_row_has_no_steady_time(tmp_path: Path) -> None:
    """As where whole and short processes are of two kinds: then only the short ones count."""
    paces = {"keras3/jax": (0.1, 0.103, 0.098), "keras3/torch": (0.36, 0.118, 0.121)}
    run = kbench.load(timed_run(tmp_path, paces))
    assert run.cells["steady_seconds"].isna().tolist() == [False, True, False, False, False, False]
    found = times_of(run.cells[run.cells["steady_seconds"].notna()], run.provenance["process_spreads"])
    for row in run.summary.to_dict("records"):
        assert found[row["backend"]].seconds == pytest.approx(row["epoch_seconds"], rel=1e-9)


def test_the_turns_of_short_processes_are_in_epochs_csv_and_marked(timed: Path) -> None:
    one_run.rebuild(ToldRun(store.read(timed)))
    epochs = pd.read_csv(timed / "epochs.csv")
    assert epochs["timing"].tolist() == [*[0] * 12, 1, 2, 1, 2]
    short = epochs[epochs["timing"] > 0]
    assert (short["samples"] == 7 * STEPS * 8).all()
    assert (short["seconds"] / short["samples"]).tolist() == pytest.approx(
        [0.1 / 8, 0.1 / 8, 0.12 / 8, 0.12 / 8], rel=0.1
    )


def test_tensorboard_reads_its_files_and_they_name_no_machine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = export(capsys, "mine", "--to", "tensorboard")
    assert said.status == 0
    folder = Path(said.out.partition(": ")[2].strip())
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(files) == 3
    assert {path.name for path in files} == {"events.out.tfevents.0.kbench"}
    one = EventAccumulator(str(folder / cell(backend="keras3/jax").id))
    one.Reload()
    assert [(event.step, round(event.value, 5)) for event in one.Scalars("epoch/seconds")] == [
        (1, 2.0),
        (2, 1.02),
        (3, 1.03),
    ]
    before = [path.read_bytes() for path in files]
    export(capsys, "mine", "--to", "tensorboard")
    assert [path.read_bytes() for path in files] == before


class FakeClient:
    """Notes what MLflow's client is told."""

    told: list[tuple[Any, ...]] = []  # noqa: RUF012
    experiments: set[str] = set()  # noqa: RUF012

    def __init__(self, tracking_uri: str) -> None:
        if tracking_uri.startswith("http"):
            raise RuntimeError("no server\nmore")

    def get_experiment_by_name(self, name: str) -> object:
        return name if name in self.experiments else None

    def create_experiment(self, name: str) -> str:
        self.experiments.add(name)
        return "7"

    def create_run(self, experiment: str, run_name: str) -> Any:
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=run_name))

    def log_metric(self, run: str, name: str, value: float, step: int = 0) -> None:
        self.told.append((run, name, value, step))

    def log_param(self, run: str, name: str, value: object) -> None:
        self.told.append((run, name, value))

    set_tag = log_param

    def set_terminated(self, run: str, status: str) -> None:
        self.told.append((run, status))


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(FakeClient, "told", [])
    monkeypatch.setattr(FakeClient, "experiments", set())
    tracking = types.ModuleType("mlflow.tracking")
    tracking.MlflowClient = FakeClient  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mlflow", types.ModuleType("mlflow"))
    monkeypatch.setitem(sys.modules, "mlflow.tracking", tracking)


@pytest.mark.usefixtures("mlflow")
def test_mlflow_gets_a_run_for_each_process_and_short_ones_are_marked(
    timed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(capsys, "mine", "--to", "mlflow").status == 0
    cells = kbench.load("mine").cells
    told = {(run, name): value for run, name, value, *_ in (one for one in FakeClient.told if len(one) > 2)}
    for one in cells.itertuples():
        assert told[one.cell, "timing"] == one.timing
        assert told[one.cell, "steady_seconds"] == one.steady_seconds
        assert told[one.cell, "epoch_samples"] == (7 if one.timing else 2) * STEPS * 8


@pytest.mark.usefixtures("mlflow")
def test_mlflow_gets_a_run_for_each_cell(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = export(capsys, "mine", "--to", "mlflow", "--out", "there")
    assert said.status == 0
    assert f"sqlite:///{here / 'there' / 'mlflow.db'} (experiment 'kbench mine')" in said.out
    first, failed = cell(backend="keras3/jax").id, cell(backend="keras3/torch").id
    for one in ((first, "backend", "keras3/jax"), (first, "epoch_seconds", 1.02, 2), (first, "FINISHED")):
        assert one in FakeClient.told
    assert (failed, "reason", "out of memory") in FakeClient.told
    assert (failed, "FAILED") in FakeClient.told
    again = export(capsys, "mine", "--to", "mlflow", "--out", "there")
    assert (again.status, "already has an experiment 'kbench mine'" in again.err) == (2, True)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://nowhere")
    unable = export(capsys, "mine", "--to", "mlflow")
    assert unable.err == "kbench: error: MLflow at http://nowhere refuses: no server.\n"


@pytest.mark.parametrize(("target", "package"), [("parquet", "pyarrow"), ("tensorboard", "tensorboard")])
def test_where_a_package_is_missing_it_is_said_what_to_install(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    package: str,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = export(capsys, "mine", "--to", target)
    refused(said, f"-m uv pip install {package}`", f"'kbench[{target}]'")


def test_where_a_package_is_missing_the_other_formats_are_written(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = export(capsys, "mine", "--to", "parquet,json")
    assert said.status == 2 and "--to parquet needs pyarrow" in said.err
    assert said.out == "json: results/mine/export/data.json\n"
    assert json.loads((here / "results" / "mine" / "export" / "data.json").read_text())["name"] == "mine"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("mine",), "required: --to"),
        (("mine", "--to", "excel"), "'excel' is not one of parquet, json, tensorboard, mlflow"),
        (("mine", "--to", ""), "not one of parquet"),
        (("mines", "--to", "json"), "did you mean mine?"),
        (("mine", "--to", "json", "--out", "a_file"), "Cannot make a_file"),
        (("mine", "--to", "json", "--out", "a_file/below"), "Cannot make a_file/below"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    here: Path, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    (here / "a_file").write_text("")
    refused(export(capsys, *argv), words)
