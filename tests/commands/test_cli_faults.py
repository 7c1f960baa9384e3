"""Cells that crash, hang or print too much: the run continues, reports what happened and leaves no process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fake_bench import EXAMPLE, Bench, dying, events_of

from kbench.cells import launcher
from kbench.environments import ensure

LINE = 1 + EXAMPLE[: EXAMPLE.index("    model =")].count("\n")  # that of dying()
KILL = "import os, signal; os.kill(os.getpid(), signal.%s)"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (KILL % "SIGSEGV", "killed by SIGSEGV (last event: phase data)"),
        ("import sys; sys.exit('enough')", f"line {LINE}: SystemExit: enough"),
        ("raise RuntimeError('first line\\nsecond line')", f"line {LINE}: RuntimeError: first line"),
        ("raise KeyboardInterrupt", f"line {LINE}: KeyboardInterrupt"),
        ("import no_such_module", f"line {LINE}: ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "open('no.csv')",
            f"line {LINE}: FileNotFoundError: [Errno 2] No such file or directory: 'no.csv'; it runs in a folder of "
            "its own: give the whole path, or that of a file beside __file__",
        ),
    ],
)
def test_however_a_guest_dies_its_cell_has_failed_for_a_reason(bench: Bench, how: str, reason: str) -> None:
    bench.example("my_example.py", dying(how))
    said = bench.measure()
    assert said.status == 1
    assert bench.reason() == reason
    assert "failed [1]" in said.out and "Traceback" not in said.out + said.err


def test_a_model_of_another_size_than_its_file_states_is_not_measured(bench: Bench) -> None:
    bench.example("my_example.py", EXAMPLE.replace("PARAMETERS = 51", "PARAMETERS = 52"))
    assert bench.measure().status == 1
    assert bench.reason() == "the model has 51 parameters, but the example states 52"


def test_numbers_that_are_no_classes_are_named_where_memory_does_not_suffice(bench: Bench) -> None:
    arrays = dict(np.load("patterns.npz"))
    np.savez("patterns.npz", **{**arrays, "y_train": arrays["y_train"] + 10**9})
    bench.example("my_example.py", EXAMPLE.replace("PARAMETERS = 51\n", ""))
    assert bench.measure().status == 1
    assert bench.reason().endswith("; the targets are class numbers up to 1,000,000,002: store others as float32")


def test_the_cells_after_a_dying_one_are_measured_all_the_same(bench: Bench) -> None:
    bench.example("a.py", dying(KILL % "SIGSEGV"))
    bench.example("b.py", dying("raise ValueError"))
    bench.example("c.py")
    said = bench.measure(examples="a.py,b.py,c.py")
    assert said.status == 1
    assert [status for status, _ in bench.fates().values()] == ["failed", "failed", "ok"]
    assert [line[:5] for line in said.err.splitlines() if line.startswith("[")] == ["[1/3]", "[2/3]", "[3/3]"]


def test_what_a_dying_guest_had_told_is_kept(bench: Bench) -> None:
    bench.example("my_example.py", dying(KILL % "SIGSEGV"))
    bench.measure()
    told = [event["event"] for event in events_of(bench.runs()[0])]
    assert told[:4] == ["start", "phase", "threads", "memory"] and "end" not in told
    (one,) = bench.last().measured
    assert one.facts.keras_version == "2.99.1"


def test_lines_in_a_guests_output_that_look_like_events_are_none(bench: Bench) -> None:
    forged = """print('{"event": "epoch", "epoch": 9, "seconds": 0.0, "samples": 1}')"""
    bench.example("my_example.py", dying(forged))
    assert bench.measure().status == 0
    (one,) = bench.last().measured
    assert [epoch.epoch for epoch in one.epochs] == [1, 2]


def test_a_cell_that_takes_too_long_is_ended_and_the_run_goes_on(bench: Bench) -> None:
    for name in ("a.py", "b.py"):
        bench.example(name, dying("import signal; signal.pause()"))
    said = bench.measure("--timeout", "0.5", examples="a.py,b.py")
    assert said.status == 1
    reason = "not done after 0.5 s (0 of 2 epochs were done); give it longer with --timeout"
    assert bench.fates() == {"a": ("timeout", reason), "b": ("timeout", reason)}


def test_an_interrupt_keeps_what_is_known_and_prints_the_table(bench: Bench) -> None:
    real = launcher.launch
    launched: list[Path] = []

    def interrupted_at_the_second(command, **asked):
        launched.append(asked["folder"])
        if len(launched) == 2:
            raise KeyboardInterrupt
        return real(command, **asked)

    bench.patch.setattr(launcher, "launch", interrupted_at_the_second)
    for name in ("a.py", "b.py", "c.py"):
        bench.example(name)
    said = bench.measure(examples="a.py,b.py,c.py")
    assert said.status == 130
    assert said.err.splitlines()[-1] == "kbench: interrupted; what was measured is kept."
    assert bench.fates() == {
        "a": ("ok", ""),
        "b": ("interrupted", "interrupted by the user"),
        "c": ("interrupted", "not started"),
    }
    assert said.out.count("keras9/fake") >= 3 and "Tables and raw measurements" in said.out


def test_an_interrupt_before_the_first_cell_leaves_no_run_behind(bench: Bench) -> None:
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    bench.patch.setattr(ensure, "ensure", interrupted)
    said = bench.measure()
    assert (said.status, said.err) == (130, "kbench: interrupted.\n")
    assert bench.runs() == []


def test_a_run_that_was_killed_can_still_be_reported(bench: Bench) -> None:
    assert bench.measure().status == 0
    (outcome,) = bench.runs()[0].glob("cells/*/outcome.json")
    outcome.unlink()
    said = bench("report")
    assert said.status == 0 and "interrupted" in said.out
