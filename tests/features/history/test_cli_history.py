"""`history` from the command line: steps over releases and dates, what is not claimed, machines, wrong requests."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Said, call, refused
from fake_runs import PROVENANCE
from history_runs import backend, run_of

from kbench import store
from kbench.features.coverage.values import CaseResult, NameResult, ProbeCase
from kbench.features.coverage.versions import Side
from kbench.features.history import reading
from kbench.features.history.lines import history
from kbench.features.history.told import answer
from kbench.features.history.values import Reading

TEN = [f"3.{minor}.0" for minor in range(6, 16)]
KERNEL = {**PROVENANCE, "system": {"name": "Linux", "kernel": "6.9.0"}}
ELSEWHERE = {**PROVENANCE, "cpu": {"model": "Another processor", "visible": 2}}


def paces(factor: float = 1.0, since: int = 12, versions: list[str] = TEN) -> dict[str, float]:
    """Seconds of a step of each version: from one on so many times as much."""
    return {one: 0.01 * (factor if int(one.split(".")[1]) >= since else 1.0) for one in versions}


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> Said:
    return call(capsys, "history", *(argv or ("results",)))


def words(said: Said) -> str:
    return " ".join(said.out.split())


def points(said: Said) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(said.out)))


def test_a_planted_slow_release_is_named_in_the_first_line(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(parent, "one", paces(1.4), noise=0.02)
    said = told(capsys)
    first = said.out.splitlines()[0]
    assert first.startswith("Keras 3.12.0 made mnist_mlp on keras3/torch 1.4"), said
    assert " times (1.3" in first and words(said).partition(". over ")[0].endswith(
        "slower than 3.11.0, on A processor, 23 GiB"
    )
    assert "seen (%)" in said.out and "torch 2.9.0" in said.out and said.status == 0


def test_what_became_faster_again_is_two_steps(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = paces(1.5) | {"3.14.0": 0.01, "3.15.0": 0.01}
    run_of(parent, "one", times, noise=0.01)
    steps = json.loads(told(capsys, "results", "--format", "json").out)["steps"]
    assert sorted((one["to"], one["kind"]) for one in steps) == [("3.12.0", "slower"), ("3.14.0", "faster")]
    for one in steps:
        assert one["ratio_low"] < (1.5 if one["kind"] == "slower" else 1 / 1.5) < one["ratio_high"]
        assert 0 < one["chance"] < 0.01 and one["what"] == "time" and one["machine"] == "A processor, 23 GiB"


def test_a_change_of_5_percent_in_noise_of_5_percent_is_not_claimed(
    parent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of(parent, "one", paces(1.05), noise=0.05, processes=1)
    assert told(capsys).out.startswith(
        "No step in 10 releases of Keras (3.6.0 to 3.15.0) of mnist_mlp on keras3/torch"
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.thorough) for one in range(1, 10))])
def test_ten_equal_versions_have_no_step(seed: int, parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(parent, "one", paces(), seed, noise=0.02)
    said = words(told(capsys))
    assert said.startswith("No step in 10 releases of Keras")
    seen = int(said.partition("a change of ")[2].partition(" %")[0])
    assert 2 <= seen <= 20


def test_runs_that_share_a_version_make_one_line(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the second run are all slower by what its machine did: the version that both have tells."""
    times = paces(1.3, 11, TEN[:8])
    run_of(parent, "one", {one: times[one] for one in ("3.6.0", "3.9.0", "3.13.0")})
    later = {one: 1.02 * times[one] for one in ("3.9.0", "3.10.0", "3.11.0")}
    run_of(parent, "two", later, created="2026-05-02T10:00:00")
    (step,) = json.loads(told(capsys, "results", "--format", "json").out)["steps"]
    assert (step["from"], step["to"], step["over"]) == ("3.10.0", "3.11.0", "Keras")


def test_two_machines_are_not_mixed_and_a_changed_one_begins_a_new_line(
    parent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three = paces(versions=TEN[:3])
    run_of(parent, "one", three)
    run_of(parent, "two", paces(2.0, 0, TEN[2:4]), provenance=ELSEWHERE, created="2026-05-02T10:00:00")
    run_of(parent, "three", paces(2.0, 0, TEN[3:6]), provenance=KERNEL, created="2026-05-03T10:00:00")
    said = told(capsys, "results", "--format", "csv")
    lines: dict[str, list[tuple[str, str]]] = {}
    for one in points(said):
        lines.setdefault(one["line"], []).append((one["machine"], one["at"]))
    assert [[at for _, at in line] for line in lines.values()] == [TEN[:3], TEN[2:4], TEN[3:6]]
    assert not any(one["step"] for one in points(said))
    noted = "New lines begin on 2026-05-03, as A processor, 23 GiB changed: kernel 6.1.0 to 6.9.0."
    assert noted in words(told(capsys))


def test_over_dates_a_step_says_which_run(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in range(1, 9):
        pace = {"3.12.0": 0.02 if day >= 5 else 0.01}
        run_of(parent, f"day{day}", pace, asked=False, noise=0.01, created=f"2026-05-0{day}T10:00:00")
    said = words(told(capsys))
    assert said.startswith("Between 2026-05-04 10:00 and 2026-05-05 10:00, mnist_mlp on keras3/torch ")
    assert "slower, on A processor" in said


def test_an_upgrade_is_told_once_by_its_version(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in range(1, 7):
        pace = {"3.12.0": 0.02} if day >= 4 else {"3.11.0": 0.01}
        run_of(parent, f"day{day}", pace, asked=False, noise=0.01, created=f"2026-05-0{day}T10:00:00")
    (step,) = json.loads(told(capsys, "results", "--format", "json").out)["steps"]
    assert (step["over"], step["to"], step["kind"]) == ("Keras", "3.12.0", "slower")


def test_loss_and_memory_have_steps(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = ["3.14.0", "3.15.0"]
    loss, memory = dict.fromkeys(later, 1.2), {one: 400.0 + 100 * (one in later) for one in TEN}
    run_of(parent, "one", paces(), loss=loss, memory=memory)
    said = words(told(capsys, "results", "--fail-on", "loss"))
    assert "Keras 3.14.0 changed the memory of mnist_mlp on keras3/torch (400 MiB to 500 MiB) from 3.13.0 on" in said
    assert "Keras 3.14.0 changed the loss of mnist_mlp on keras3/torch (" in said
    assert "No step in time in 10 releases of Keras (3.6.0 to 3.15.0) of mnist_mlp on keras3/torch" in said


def test_a_version_that_did_not_run_is_named_with_its_reason(
    parent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(parent, "one", paces(versions=TEN[:3]))
    for file in run.glob("cells/*3.6.0*/outcome.json"):
        failed = {"status": "failed", "reason": "AttributeError: no spmd_mode", "exit_code": 1}
        file.write_text(json.dumps({**json.loads(file.read_text()), **failed}))
    said = words(told(capsys))
    assert said.startswith("No step in 2 releases of Keras (3.7.0 to 3.8.0) of mnist_mlp on")
    assert "Did not run (AttributeError: no spmd_mode): mnist_mlp on keras3/torch+keras=3.6.0." in said


def test_where_no_time_counts_it_says_so(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(parent, "one", paces(versions=TEN[:3]))
    for file in run.glob("cells/*/outcome.json"):
        disturbed = {"disturbed_rounds": list(range(1, 20)), "others": 0.9}
        file.write_text(json.dumps({**json.loads(file.read_text()), **disturbed}))
    said = words(told(capsys))
    assert said.startswith("No step in losses and memory in 3 releases of Keras (3.6.0 to 3.8.0) of mnist_mlp on")
    assert "on A processor, 23 GiB; no times could be compared." in said
    assert "Left out (other programs used the processor): mnist_mlp on" in said


def test_a_check_fails_by_its_kind_only(parent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_of(parent, "one", paces(1.5), noise=0.01)
    assert told(capsys, "results", "--fail-on", "slower").status == 1
    assert told(capsys, "results", "--fail-on", "memory,loss,broke").status == 0


def test_a_packed_run_and_its_folder_count_once_and_other_work_is_left_out(
    parent: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = run_of(parent, "one", paces(1.4), noise=0.01)
    (tmp_path / "packed").mkdir()
    store.pack(run, store.packed_file(tmp_path / "packed" / "one"))
    other = run_of(parent, "other", {"3.5.0": 0.01})
    for file in other.glob("cells/*/events.jsonl"):
        file.write_text(file.read_text().replace('"units": 10', '"units": 20'))
    said = told(capsys, "results", "packed")
    assert "Keras 3.12.0 made" in said.out and "Left out (" in said.out
    assert f"mnist_mlp on {backend('3.5.0')} in other" in words(said)
    assert " 10 " in said.out


def test_the_page_has_a_chart_of_each_line_and_loads_nothing(
    parent: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_of(parent, "<b>one", paces(1.4), noise=0.01)
    said = told(capsys, "results", "--page", "history.html", "--format", "markdown")
    page = (tmp_path / "history.html").read_text()
    assert "| over" in said.out and page.count("<svg") == 1 and page.count('class="step"') == 1
    assert "<h1>Keras 3.12.0 made" in page and "http" not in page.replace("http-equiv", "") and "<b>one" not in page


def with_states(keras: str, state: str) -> Reading:
    """What a coverage run says of a backend with this Keras, of whose names one came to this state."""
    case = CaseResult(ProbeCase(0, "layers.GRU", {"units": 1}, ("image",)), "keras3/torch", state, "how")
    name = NameResult("layers.GRU", "keras3/torch", state, (case,))
    side = Side("keras3/torch", "", {name.name: name}, {}, frozenset(), "", frozenset())
    machine = reading.machine(PROVENANCE, PROVENANCE)
    about: dict[str, Any] = {
        "run": keras,
        "created": f"2026-05-0{keras[2]}T10:00",
        "machine": machine,
        "example": "public names",
    }
    return Reading(
        **about, backend=backend(keras), plain="keras3/torch", key="", keras=keras, framework="2.9.0", states=side
    )


def test_of_coverage_runs_it_says_what_broke_and_what_was_mended() -> None:
    states = {"3.1.0": "same", "3.2.0": "same", "3.3.0": "raises", "3.4.0": "same"}
    found = history([with_states(keras, state) for keras, state in states.items()])
    assert sorted(answer(found)) == [
        "Keras 3.3.0, after 3.2.0: on keras3/torch 1 broke (layers.GRU).",
        "Keras 3.4.0, after 3.3.0: on keras3/torch 1 mended (layers.GRU).",
    ]
    assert [step.kind for step in found.steps if step.after.label == "3.3.0"] == ["broke"]


def test_a_machine_that_is_described_wrongly_is_another_one() -> None:
    wrong: dict[str, Any] = {"memory_mib": "much", "system": 7, "cpu": [], "gpus": "none", "microcode": {}}
    assert reading.machine(wrong, PROVENANCE).kind == "unknown processor"
    assert reading.machine({**wrong, "gpus": [3, {"driver": None}]}, wrong).words == ""


def test_microcode_is_part_of_a_machine() -> None:
    assert set(reading.microcode()) <= {"microcode"}
    one: dict[str, Any] = {**PROVENANCE, "microcode": "0x1"}
    assert reading.same_machine(one, one) and not reading.same_machine({**one, "microcode": "0x2"}, one)
    assert reading.same_machine(PROVENANCE, one)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["empty"], "There are no runs in empty"),
        (["nothing"], "There is no run 'nothing'"),
        (["results/single"], "no row was measured with two versions or on two dates"),
        (["damaged"], "damaged"),
        (["results", "--fail-on", "best"], "'best' is not one of slower, memory, loss, broke"),
        (["broken.kbench.zip"], "broken.kbench.zip"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    argv: list[str], said: str, parent: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.kbench.zip").write_bytes(b"no zip")
    run = run_of(parent, "single", {"3.5.0": 0.01})
    shutil.copytree(run, tmp_path / "damaged" / "one")
    (tmp_path / "damaged" / "one" / "run.json").write_text("{")
    refused(told(capsys, *argv), said)


def test_the_packed_releases_are_ten_on_one_backend_and_what_did_not_run_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = words(told(capsys, str(Path(__file__).parents[3] / "results" / "releases")))
    assert (
        "No step in time in 10 releases of Keras (3.6.0 to 3.15.1) of mnist_cnn and mnist_mlp on keras3/torch" in said
    )
    assert "Did not run (AttributeError: module 'jax' has no attribute 'spmd_mode'; keras 3.6" in said
