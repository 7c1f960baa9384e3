"""`coverage` from end to end on fake backends: what ends a process is a row of its own, and the others go on."""

from __future__ import annotations

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench, Said, refused

from kbench import store
from kbench.cells import launcher
from kbench.cli import options
from kbench.features.coverage import cover, events, results
from kbench.features.coverage.values import ProbeCase
from kbench.planning import tasks
from kbench.store import guest_files

BACKENDS = "fake,keras9/second,keras9/third"
BOTH = "losses.hinge,losses.mean_squared_error"


@pytest.fixture
def three(bench: Bench) -> Bench:
    for name in ("keras9/second", "keras9/third"):
        bench.backend(name)
    return bench


def hinge(bench: Bench, how: str) -> None:
    """Let the hinge loss of the second backend do this."""
    bench.backend("keras9/second", more=f'[variables]\nFAKE_KERAS_HINGE = "{how}"\n')


def tried(bench: Bench, *more: str) -> Said:
    said = bench("coverage", "--backends", BACKENDS, "--only", BOTH, "--quick", "--device", "cpu", *more)
    assert "Traceback" not in said.err
    return said


def table(run: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (run / "coverage.csv").open(newline="") as text:
        return {(row["backend"], row["name"]): row for row in csv.DictReader(text)}


def states(bench: Bench) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for (backend, _), row in table(bench.runs()[-1]).items():
        found.setdefault(backend, []).append(row["state"])
    return found


def test_names_that_compute_the_same_work_and_are_counted(three: Bench) -> None:
    said = tried(three)
    assert said.status == 0, said
    assert "keras9/fake: 2 of 2 names work. keras9/second: 2 of 2 names work." in said.out
    assert "The worst" not in said.out
    (run,) = three.runs()
    assert {row["state"] for row in table(run).values()} == {"same"}
    content = json.loads((run / "coverage.json").read_text())
    assert len(content["cases"]) == 6 and content["cases"][0]["settings"] == "losses.hinge()"


def test_a_name_that_computes_something_else_differs_with_a_program_that_shows_it(three: Bench) -> None:
    three.backend("keras9/second", more='[variables]\nFAKE_KERAS_SQUARES_ARE_OFF_BY = "0.5"\n')
    said = tried(three, "--fail-on", "differs")
    assert said.status == 1
    assert "- keras9/second: losses.mean_squared_error() differs from keras9/fake: by 0.0" in said.out
    assert 'import os; os.environ["KERAS_BACKEND"] = "theano"' in said.out
    assert "print(keras.losses.mean_squared_error(y_true=x0, y_pred=x1))" in said.out
    assert states(three) == {
        "keras9/fake": ["same", "same"],
        "keras9/second": ["same", "differs"],
        "keras9/third": ["same", "same"],
    }
    page = (three.runs()[0] / "coverage.html").read_text()
    assert page.count("<pre ") == 1 and "print(keras.losses.mean_squared_error(y_true=x0, y_pred=x1))" in page
    assert '<tr data-name="losses.hinge"><th scope="row">losses.<wbr>hinge</th><td data-state="same"' in page
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src &#39;none&#39;" in page and "base-uri &#39;none&#39;" in page and page.count("<script>") == 2
    assert tried(three, "--fail-on", "crashes").status == 0


@pytest.mark.parametrize(
    ("how", "state", "sentence"),
    [
        ("raises", "raises", "ValueError: there is no hinge"),
        pytest.param("crashes", "crashes", "killed by SIGSEGV", marks=pytest.mark.thorough),
        pytest.param("is killed", "crashes", "killed by SIGKILL", marks=pytest.mark.thorough),
        pytest.param("exits", "crashes", "ended without a result", marks=pytest.mark.thorough),
        ("hangs", "hangs", "not done in its time"),
        pytest.param("grows", "crashes", "more than --memory-limit", marks=pytest.mark.thorough),
    ],
)
def test_a_case_that_fails_is_a_row_and_the_next_one_is_tried(
    three: Bench, how: str, state: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover, "CASE_SECONDS", 1.0 if how == "hangs" else 30.0)
    hinge(three, how)
    said = tried(three, "--memory-limit", "400MiB")
    assert said.status == 0, said
    (run,) = three.runs()
    row = table(run)["keras9/second", "losses.hinge"]
    assert row["state"] == state and sentence in row["sentence"]
    assert "second line" not in row["sentence"]
    assert states(three)["keras9/second"] == [state, "same"]
    assert states(three)["keras9/third"] == ["same", "same"]
    assert f"keras9/second: 1 of 2 names work (1 {state})." in " ".join(said.out.split())


def test_a_case_is_not_blamed_for_what_one_before_it_did_to_the_process(three: Bench) -> None:
    hinge(three, "overwrites")
    said = tried(three)
    assert "trying losses.mean_squared_error: killed by SIGABRT" in said.err
    assert begun(three.runs()[0])["keras9/second"] == [0, 1, 1], "again, in a process of its own"
    assert states(three)["keras9/second"] == ["same", "same"]


@pytest.mark.thorough
@pytest.mark.slow("prints more than a disk should take")
def test_what_a_case_prints_does_not_fill_the_disk(three: Bench) -> None:
    hinge(three, "prints")
    assert tried(three).status == 0
    assert states(three)["keras9/second"] == ["same", "same"]
    logs = list(three.runs()[0].glob("cells/*second*/log.txt"))
    assert logs and all(512 * log.stat().st_blocks <= guest_files.LOG_LIMIT for log in logs)


def test_a_name_that_one_backend_lacks_is_absent_there(three: Bench) -> None:
    hinge(three, "absent")
    assert tried(three).status == 0
    assert states(three) == {
        "keras9/fake": ["same", "same"],
        "keras9/second": ["absent", "same"],
        "keras9/third": ["same", "same"],
    }


def test_one_backend_alone_works_and_is_compared_with_nothing(bench: Bench) -> None:
    said = bench("coverage", "--backends", "fake", "--only", "losses.*", "--device", "cpu")
    assert said.status == 0 and "keras9/fake: 2 of 2 names work (2 compared with nothing)." in said.out
    assert states(bench) == {"keras9/fake": ["works", "works"]}


@pytest.mark.thorough
def test_the_cases_do_not_depend_on_the_order_of_backends(three: Bench) -> None:
    for order in (BACKENDS, ",".join(reversed(BACKENDS.split(",")))):
        assert three("coverage", "--backends", order, "--only", BOTH, "--device", "cpu", "--name", f"of-{order[:4]}")
    first, second = (store.read(run).plan["cases"] for run in three.runs())
    assert first == second


def test_a_backend_that_cannot_start_is_said_and_the_others_go_on(three: Bench) -> None:
    three.backend("keras9/second", more='[variables]\nFAKE_KERAS_VERSION = "1.0"\n')
    said = tried(three)
    assert said.status == 1
    assert "keras9/second was not run" in said.out and "keras9/third: 2 of 2 names work." in said.out


def test_other_commands_know_such_a_run(three: Bench) -> None:
    assert tried(three, "--name", "mine").status == 0
    (three.runs()[0] / "coverage.csv").unlink()
    assert "2 of 2 names work" in three("report", "mine").out
    assert states(three)["keras9/third"] == ["same", "same"]
    assert "coverage: 6 same" in " ".join(three("list", "runs").out.split())
    refused(three("export", "mine", "--to", "json"), "coverage run")
    assert "Resuming mine: 0 of 6 cases to try." in three("resume").out
    refused(three("resume", "mine", "--budget", "1m"), "coverage run", "--budget")


@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.thorough)])
def test_a_run_whose_host_was_ended_is_resumed_and_nothing_is_tried_again(three: Bench, how: str) -> None:
    once = three.folder / "once"
    three.backend("keras9/second", more=f'[variables]\nFAKE_KERAS_HINGE = "{how}"\nFAKE_KERAS_ONCE = "{once}"\n')
    three("setup", "--backends", BACKENDS)
    cases = ("--only", f"{BOTH},losses.nothing", "--quick")
    one_process = ("--device", "cpu", "--threads", str(os.cpu_count()))
    given = ("--backends", BACKENDS, *cases, *one_process, "--name", "mine")
    host = three.start("coverage", *given)
    out, err = host.communicate(timeout=120)
    assert host.returncode == (-signal.SIGKILL if how == "SIGKILL" else 130), err
    (run,) = three.runs()
    before = begun(run)
    assert before == {"keras9/fake": [0, 1], "keras9/second": [0]}
    shown = out if how == "SIGINT" else three("report", "mine").out
    assert "keras9/second was not run. keras9/third was not run." in " ".join(shown.split())
    assert "Not tried: 4 cases; continue with `" in " ".join(shown.split()) and "resume results/mine`" in shown

    said = three("resume")
    assert said.status == 0, said
    assert "Resuming mine: 4 of 6 cases to try." in said.out
    assert begun(run) == {"keras9/fake": [0, 1], "keras9/second": [0, 0, 1], "keras9/third": [0, 1]}
    assert {state for of in states(three).values() for state in of} == {"same"}
    assert store.read(run).plan["only"] == f"{BOTH},losses.nothing"
    assert "Not tried" not in said.out and "0 of 6 cases to try" in three("resume", "mine").out


def test_the_processes_of_a_backend_share_a_folder_for_what_they_compile(three: Bench) -> None:
    hinge(three, "{compiled}")
    tried(three)
    (run,) = three.runs()
    sentence = table(run)["keras9/second", "losses.hinge"]["sentence"]
    assert f"compiled code is in {run}/compiled/" in sentence and not (run / "compiled").exists()


def begun(run: Path) -> dict[str, list[int]]:
    """Backend -> the cases that were begun on it, once for each time."""
    found: dict[str, list[int]] = {}
    for file in sorted(run.glob("cells/*/events.jsonl")):
        told = [json.loads(line) for line in file.read_text().splitlines()]
        backend = json.loads(file.with_name("spec.json").read_text())["backend"]
        for one in told:
            if one["event"] == "begun":
                found.setdefault(backend, []).append(one["case"])
    return found


def test_a_run_that_was_stopped_while_names_were_listed_is_resumed(three: Bench) -> None:
    with pytest.MonkeyPatch.context() as patch:
        real, launched = launcher.launch, []

        def launch(command: Any, **asked: Any) -> Any:
            launched.append(asked["folder"].name)
            if len(launched) == 2:
                raise KeyboardInterrupt
            return real(command, **asked)

        patch.setattr(launcher, "launch", launch)
        assert tried(three, "--name", "mine").status == 130
    said = three("resume", "mine")
    assert said.status == 0
    assert "the names of keras9/second and keras9/third to list" in said.out
    assert begun(three.runs()[0]) == {name: [0, 1] for name in ("keras9/fake", "keras9/second", "keras9/third")}
    assert {state for of in states(three).values() for state in of} == {"same"}


@pytest.mark.thorough
@pytest.mark.slow("several coverage runs, one after the other")
def test_a_backend_that_was_missing_or_cases_that_crashed_are_tried_again_if_that_is_asked_for(three: Bench) -> None:
    hinge(three, "crashes")
    three.backend("keras9/third", python="3.99")
    said = tried(three, "--name", "mine")
    assert said.status == 1 and "keras9/third was not run" in said.out
    assert "`kbench resume results/mine --retry unavailable`" in " ".join(said.out.split())
    three.backend("keras9/second")
    three.backend("keras9/third")
    said = three("resume", "mine", "--retry", "unavailable,failed")
    assert said.status == 0, said
    assert {state for of in states(three).values() for state in of} == {"same"}
    assert begun(three.runs()[0])["keras9/fake"] == [0, 1]
    assert list(three.runs()[0].glob("earlier/*second*"))


def test_what_has_changed_is_tried_again_but_a_complete_run_is_left_as_it_is(
    three: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hinge(three, "crashes")
    assert tried(three, "--name", "mine").status == 0
    monkeypatch.setattr(tasks, "guest_sha256", lambda *parts: "another")
    said = three("resume", "mine")
    assert "0 of 6 cases to try" in said.out and "is left as it is" in said.out
    said = three("resume", "mine", "--retry", "failed")
    assert said.status == 0
    assert "kbench's own code for backends has changed since" in said.out
    assert begun(three.runs()[0])["keras9/third"] == [0, 1]
    assert len(list(three.runs()[0].glob("earlier/*third*"))) == 2


@pytest.mark.thorough
def test_a_process_whose_time_is_over_blames_no_case_that_came_after_others(three: Bench) -> None:
    hinge(three, "hangs")
    said = tried(three, "--timeout", "3")
    assert said.status == 0
    assert states(three)["keras9/second"] == ["hangs", "same"]
    cells = store.read(three.runs()[0]).measured
    blamed = [results.ended_by(one) for one in cells if one.outcome.status == "timeout"]
    assert blamed == [0]


def test_the_cases_of_a_backend_are_shared_among_processes_and_each_crash_is_attributed(
    three: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cover, "LEAST_CASES", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    hinge(three, "crashes")
    assert tried(three).status == 0
    cells = store.read(three.runs()[0]).measured
    cases = {
        name: sorted(tuple(events.cases(one.facts)) for one in cells if one.cell.backend == name)
        for name in states(three)
    }
    made = [ProbeCase(number, f"layers.L{number // 5:02}", {}, ()) for number in range(100)]
    names = [f"layers.L{number:02}" for number in range(20)]
    shares = cover._shares(made, 2, names, {57})
    assert sorted(one.id for share in shares for one in share) == list(range(100))
    assert shares[0][0].id == 57, "what ended a process is the first of another one"
    assert not {one.name for one in shares[0][1:]} & {one.name for one in shares[1]} - {"layers.L11"}
    assert cases["keras9/third"] == [(), (0,), (1,)]
    assert cases["keras9/second"] == [(), (), (1,)] and states(three)["keras9/second"] == ["crashes", "same"]


def test_a_dry_run_tries_nothing(three: Bench) -> None:
    said = tried(three, "--dry-run")
    assert said.status == 0 and "Plan: 3 cells, coverage" in said.out
    assert three.runs() == []


def test_wrong_options_are_one_sentence(bench: Bench) -> None:
    for only, words in (("losses.hing", "losses.hinge?"), ("Dense", "'layers.Conv*'")):
        said = bench("coverage", "--backends", "fake", "--only", only, "--device", "cpu")
        assert said.status == 2 and words in said.err.splitlines()[-1]
    assert bench.runs() == [], "there is nothing to go on with"
    refused(bench("coverage", "--backends", "fake", "--spread"), "--spread is an option of `run`")
    refused(bench("coverage", "--backends", "fake", "--fail-on", "slow"), "slow", "differs")
    refused(bench("coverage", "--backends", "nothing"), "nothing")


def test_it_has_its_own_help_of_an_axis() -> None:
    found = {command: options.how("--threads", command)["help"] for command in ("run", "coverage")}
    assert "one per available core" in found["run"] and "default: 1;" in found["coverage"]


def test_optimizers_are_not_tried_where_nothing_can_be_trained(three: Bench) -> None:
    three.backend("keras9/second", can='["infer"]')
    said = three("coverage", "--backends", BACKENDS, "--only", "losses.hinge,optimizers.*", "--device", "cpu")
    assert said.status == 0 and "continue with" not in said.out
    (run,) = three.runs()
    found = {(row["backend"], row["name"]): row["state"] for row in table(run).values()}
    assert found["keras9/second", "optimizers.SGD"] == "untried"
    assert names_tried(run, "second") == {"losses.hinge"}
    assert names_tried(run, "fake") >= {"losses.hinge", "optimizers.SGD"}


def names_tried(run: Path, backend: str) -> set[str]:
    specs = [json.loads(one.read_text()) for one in run.glob(f"cells/*{backend}*/spec.json")]
    return {case["name"] for spec in specs for case in spec["part"]["cases"]}
