"""A run is gone on with: what is missing or has changed is measured, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_bench import EXAMPLE, Bench, dying

from kbench import store
from kbench.cells import launcher, orphans
from kbench.cli import main
from kbench.machine import provenance
from kbench.planning import tasks

NAMES = "a.py,b.py,c.py"


def interrupt_at(bench: Bench, number: int) -> list[str]:
    """From now on the `number`-th launch is an interrupt; returns the examples that are launched, as they come."""
    real = launcher.launch
    launched: list[str] = []

    def launch(command: Any, **asked: Any) -> Any:
        launched.append(asked["folder"].name.partition("__")[0])
        if len(launched) == number:
            raise KeyboardInterrupt
        return real(command, **asked)

    bench.patch.setattr(launcher, "launch", launch)
    return launched


def interrupted(bench: Bench) -> Path:
    """A run of a, b and c whose cell of b was interrupted."""
    for name in NAMES.split(","):
        bench.example(name)
    with pytest.MonkeyPatch.context() as patch:
        before, bench.patch = bench.patch, patch
        interrupt_at(bench, 2)
        assert bench.measure("--name", "mine", examples=NAMES).status == 130
        bench.patch = before
    return bench.results / "mine"


def finished(bench: Bench, *options: str, examples: str = NAMES) -> Path:
    for name in examples.split(","):
        bench.example(name)
    assert bench.measure("--name", "mine", *options, examples=examples).status == 0
    return bench.results / "mine"


def record(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    return found


def statuses(bench: Bench) -> dict[str, str]:
    return {example: status for example, (status, _) in bench.fates().items()}


def test_exactly_the_cells_without_an_outcome_are_measured(bench: Bench) -> None:
    run = interrupted(bench)
    first = next(run.glob("cells/a__*/outcome.json")).read_bytes()
    launched = interrupt_at(bench, 0)
    said = bench("resume", "mine")
    assert said.status == 0, said
    assert launched == ["b", "c"]
    assert "Resuming mine: 2 of 3 cells to measure." in said.out
    assert statuses(bench) == {"a": "ok", "b": "ok", "c": "ok"}
    assert next(run.glob("cells/a__*/outcome.json")).read_bytes() == first


def test_how_to_go_on_is_said_where_a_run_was_interrupted_and_where_cells_failed(bench: Bench) -> None:
    bench.example("a.py", dying("import os; os.abort()"))
    said = bench.measure("--name", "mine", examples="a.py")
    assert "continue with `kbench resume results/mine --retry failed`." in said.out
    bench.example("a.py", dying("raise ValueError"))
    said = bench.measure("--name", "again", examples="a.py")
    assert "resume" not in said.out, "it would raise again"
    bench.example("b.py")
    interrupt_at(bench, 1)
    said = bench.measure("--name", "other", examples="b.py")
    assert "Not measured: 1 of 1 cells; continue with `kbench resume results/other`." in said.out


def test_a_run_that_is_whole_is_left_as_it_is(bench: Bench) -> None:
    run = finished(bench, examples="a.py")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    launched = interrupt_at(bench, 0)
    said = bench("resume", "mine")
    assert (said.status, launched) == (0, [])
    assert "0 of 1 cells" in said.out and "keras9/fake" in said.out
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_what_failed_is_measured_again_where_it_is_asked_for_and_its_first_try_is_kept(bench: Bench) -> None:
    flag = bench.folder / "mended"
    bench.example("a.py", dying(f"assert __import__('os').path.exists({str(flag)!r}), 'not yet'"))
    bench.example("b.py")
    assert bench.measure("--name", "mine", examples="a.py,b.py").status == 1
    run = bench.results / "mine"
    assert bench("resume", "mine").status == 1  # failed is an outcome, too
    assert not (run / "earlier").exists()
    flag.touch()
    launched = interrupt_at(bench, 0)
    assert bench("resume", "mine", "--retry", "timeout").status == 1
    assert launched == []
    assert bench("resume", "mine", "--retry", "failed,timeout").status == 0
    assert launched == ["a"]
    (kept,) = (run / "earlier").iterdir()
    assert kept.name.endswith(".1") and "not yet" in (kept / "log.txt").read_text()
    assert json.loads((kept / "outcome.json").read_text())["status"] == "failed"


def test_a_changed_example_is_measured_again_and_said_so(bench: Bench) -> None:
    run = finished(bench)
    bench.example("b.py", EXAMPLE.replace('"epochs": 2', '"epochs": 4'))
    launched = interrupt_at(bench, 0)
    said = bench("resume", "mine")
    assert said.status == 0, said
    assert launched == ["b"]
    assert "b: its file has changed since: measured again" in said.out
    assert [len(one.epochs) for one in bench.last().measured] == [2, 4, 2]
    assert record(run)["resumed"][0]["changed"] == ["b: its file has changed"]
    launched.clear()
    assert bench("resume", "mine").status == 0 and launched == []


def test_changed_data_and_a_changed_lock_are_measured_again_and_said_so(bench: Bench) -> None:
    from fake_bench import write_patterns

    finished(bench, examples="a.py")
    write_patterns(bench.folder / "patterns.npz", samples=51)
    assert "a: its data have changed since: measured again" in bench("resume", "mine").out
    lock = bench.backends / "keras9" / "fake.cpu.lock"
    lock.write_text(lock.read_text() + "# refreshed\n")
    assert "keras9/fake: its lock file has changed since: measured again" in bench("resume", "mine").out
    bench.backend(more='ordered_updates = false\n[variables]\nFAKE = "1"\n')
    lock.write_text(lock.read_text() + "# refreshed\n")
    assert "a on keras9/fake: its settings have changed since: measured again" in bench("resume", "mine").out
    assert len(list((bench.results / "mine" / "earlier").iterdir())) == 3


def test_it_is_measured_as_the_run_was_asked_for(bench: Bench) -> None:
    bench.example("a.py")
    asked = (
        "--epochs",
        "3",
        "--seed",
        "7",
        "--repeats",
        "2",
        "--threads",
        "1",
        "--timeout",
        "77",
    )
    interrupt_at(bench, 2)
    assert bench.measure("--name", "mine", *asked, "--memory-limit", "2GiB", examples="a.py").status == 130
    asked_for: list[dict[str, Any]] = []
    launch = launcher.launch
    bench.patch.setattr(
        launcher, "launch", lambda command, **with_: asked_for.append(with_) or launch(command, **with_)
    )
    assert bench("resume", "mine").status == 0
    (asked_so,) = asked_for
    assert (asked_so["timeout"], asked_so["memory_limit_mib"]) == (77.0, 2048.0)
    specs = [json.loads(path.read_text()) for path in sorted((bench.results / "mine").glob("cells/*/spec.json"))]
    own = ("events", "identity", "repeat")
    first, second = ({key: spec[key] for key in spec if key not in own} for spec in specs)
    assert first == second and first["epochs"] == 3 and first["seed"] == 7


def test_the_time_and_the_machine_of_each_sitting_are_kept(bench: Bench) -> None:
    run = interrupted(bench)
    assert bench("resume").status == 0
    (sitting,) = record(run)["resumed"]
    assert sitting["cells"] == 2 and sitting["started"] and sitting["cpu"] and sitting["command_line"]
    assert "resumed 1 time" in (run / "summary.md").read_text()


def test_another_machine_is_refused_and_another_kernel_is_said(bench: Bench) -> None:
    interrupted(bench)
    here = provenance.read
    other = {"cpu": {"model": "Another", "visible": 2}}
    bench.patch.setattr(provenance, "read", lambda *asked: {**here(*asked), **other})
    said = bench("resume", "mine")
    assert said.status == 2 and "was measured on another machine (processor Another instead of " in said.err
    bench.patch.setattr(provenance, "read", lambda *asked: {**here(*asked), "memory_mib": 1})
    said = bench("resume", "mine")
    assert said.status == 0 and "  changed: memory (MiB) 1 instead of " in said.out


def test_a_variable_that_its_cells_were_given_has_to_be_there_again(bench: Bench) -> None:
    bench.patch.setenv("MY_LICENCE", "hunter2")
    for name in NAMES.split(","):
        bench.example(name)
    with pytest.MonkeyPatch.context() as patch:
        before, bench.patch = bench.patch, patch
        interrupt_at(bench, 2)
        assert bench.measure("--name", "mine", "--pass-env", "MY_LICENCE", examples=NAMES).status == 130
        bench.patch = before
    bench.patch.delenv("MY_LICENCE")
    said = bench("resume", "mine")
    assert said.status == 2
    assert "The run's cells need the variable MY_LICENCE (--pass-env), which is not set: set it." in said.err
    bench.patch.setenv("MY_LICENCE", "hunter2")
    assert bench("resume", "mine").status == 0


def test_another_value_of_a_passed_variable_is_measured_again_and_said_so(bench: Bench) -> None:
    bench.example("a.py")
    bench.patch.setenv("MY_FLAGS", "fast")
    assert bench.measure("--name", "mine", "--pass-env", "MY_FLAGS", examples="a.py").status == 0
    launched = interrupt_at(bench, 0)
    assert bench("resume", "mine").status == 0 and launched == []
    bench.patch.setenv("MY_FLAGS", "exact")
    said = bench("resume", "mine")
    assert said.status == 0 and launched == ["a"]
    assert "a on keras9/fake: its settings have changed since: measured again" in said.out
    assert not any("fast" in path.read_text() for path in (bench.results / "mine").rglob("*.json"))


def test_cells_of_another_guest_are_measured_again_if_others_are_missing_and_else_left(bench: Bench) -> None:
    run = finished(bench, examples="a.py,b.py")
    launched = interrupt_at(bench, 0)
    bench.patch.setattr(tasks, "guest_sha256", lambda *parts: "another")
    bench.backend(builds='[builds.locked_variables]\nFAKE = "1"\n')  # as an update brings it, too
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    said = bench("resume", "mine")
    assert said.status == 0 and launched == [] and "the run is complete, and is left as it is" in said.out
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    bench.example("b.py", EXAMPLE + "# changed\n")
    assert bench("resume", "mine").status == 0 and launched == ["b"]
    next(run.glob("cells/b__*/outcome.json")).unlink()
    said = bench("resume", "mine")
    assert said.status == 0 and launched == ["b", "a", "b"]
    assert "kbench's own code for backends has changed since: measured again" in said.out


def test_a_changed_locked_variable_is_measured_again_and_said_so(bench: Bench) -> None:
    finished(bench, examples="a.py")
    launched = interrupt_at(bench, 0)
    bench.backend(builds='[builds.locked_variables]\nFAKE = "1"\n')
    said = bench("resume", "mine")
    assert said.status == 0 and launched == ["a"]
    assert "a on keras9/fake: its settings have changed since: measured again" in said.out


def test_a_run_of_parity_is_refused_and_one_that_goes_on_is_not_disturbed(bench: Bench) -> None:
    ended: list[Path] = []
    beside: list[int] = []
    launch = launcher.launch
    bench.patch.setattr(orphans, "end_of_run", ended.append)
    bench.patch.setattr(
        launcher,
        "launch",
        lambda command, **asked: beside.append(main.main(["resume", "same"])) or launch(command, **asked),
    )
    asked = ("--backends", "fake", "--examples", "my_example.py", "--device", "cpu")
    said = bench("parity", *asked, "--name", "same")
    assert said.status == 0 and beside == [2]
    assert "same is being measured by another kbench: wait until that has ended, or end it." in said.err
    said = bench("resume", "same")
    assert said.status == 2 and said.err.count("\n") == 1
    assert "Your only runs in results time nothing" in bench("resume").err
    assert "same is a run of `parity`, which cannot be resumed: start a new one." in said.err
    assert ended == []


def test_two_hosts_do_not_fill_one_run(bench: Bench) -> None:
    run = interrupted(bench)
    with store.filling(run):
        said = bench("resume", "mine")
    assert said.status == 2
    assert "mine is being measured by another kbench: wait until that has ended, or end it." in said.err
    with store.filling(run):
        (run / ".lock").unlink()  # as some do with a lock
        assert "is being measured by another kbench" in bench("resume", "mine").err
    assert bench("resume", "mine").status == 0


def test_a_run_that_does_not_tell_how_it_was_asked_for_is_refused(bench: Bench) -> None:
    run = finished(bench, examples="a.py")
    whole = record(run)
    del whole["request"]["backends"]
    (run / "run.json").write_text(json.dumps(whole))
    said = bench("resume", "mine")
    assert said.status == 2 and "is from an older version, which did not keep its options" in said.err


DAMAGED = "run.json is damaged: what was asked for cannot be read from it"
REQUESTS: list[tuple[dict[str, Any], str]] = [
    ({"backends": ["keras9/gone"]}, "There is no backend keras9/gone any more"),
    ({"backends": ["keras9/gone+jit=on"]}, "There is no backend keras9/gone+jit=on any more"),
    ({"backends": 5}, DAMAGED),
    ({"pythons": []}, DAMAGED),
    ({"profile": "none"}, DAMAGED),
    ({"backends": []}, DAMAGED),
    ({"values": {"image_data_format": ["channels_middle"]}}, DAMAGED),
    ({"epochs": "x"}, DAMAGED),
    ({"epochs": 0}, DAMAGED),
    ({"seed": 3.5}, DAMAGED),
    ({"seed": -1}, DAMAGED),
    ({"repeats": None}, DAMAGED),
    ({"values": {"threads": True}}, DAMAGED),
    ({"values": {"threads": [0]}}, DAMAGED),
    ({"timeout": "x"}, DAMAGED),
    ({"timeout": float("nan")}, DAMAGED),
    ({"memory_limit_mib": -1}, DAMAGED),
    ({"init": "random"}, DAMAGED),
    ({"augment": 1}, DAMAGED),
    ({"pass_env": [1]}, DAMAGED),
    ({"examples": ["gone.py"]}, "The example gone.py cannot be read"),
]


def test_a_request_that_cannot_be_met_any_more_is_one_sentence(bench: Bench) -> None:
    run = finished(bench, examples="a.py")
    whole = record(run)
    asked = whole["request"]
    for change, sentence in REQUESTS:
        whole["request"] = asked | change
        (run / "run.json").write_text(json.dumps(whole))
        said = bench("resume", "mine")
        assert said.status == 2 and sentence in said.err and said.err.count("\n") == 1, change


def test_a_full_disk_ends_the_run_with_a_sentence_and_resume_does_the_rest(bench: Bench) -> None:
    for name in NAMES.split(","):
        bench.example(name)
    with pytest.MonkeyPatch.context() as patch:
        real = store.files.os.fsync
        written: list[int] = []

        def full(descriptor: int) -> None:
            written.append(descriptor)
            if len(written) > 10:  # run.json, then three files a cell: within the second cell
                raise OSError(28, "No space left on device")
            real(descriptor)

        patch.setattr(store.files.os, "fsync", full)
        said = bench.measure("--name", "mine", examples=NAMES)
    assert said.status == 2
    assert "No space left on device; once that is fixed, continue with `kbench resume results/mine`." in said.err
    assert bench("resume", "mine").status == 0
    assert statuses(bench) == {"a": "ok", "b": "ok", "c": "ok"}
