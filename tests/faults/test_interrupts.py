"""Signals to a run: the first one ends it in order, the second one at once, and neither leaves a guest behind."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench, dying
from named_pipe import Pipe

from kbench import store
from kbench.session import interrupts

OPTIONS = ["--backends", "fake", "--profile", "smoke", "--device", "cpu", "--name", "mine"]
DEAF = "signal.signal(15, lambda *_: os.write(held, b'x'))"  # says that it was asked to end, and does not


@pytest.fixture
def pipe(bench: Bench) -> Iterator[Pipe]:
    made = Pipe(bench.folder)
    yield made
    made.close()


def holding(pipe: Pipe, before: str = "pass") -> str:
    """An example that holds the pipe and writes to it, and then waits for ever."""
    held = f"import os, signal; held = os.open({str(pipe.path)!r}, os.O_WRONLY); {before}; os.write(held, b'x')"
    return dying(f"{held}\n    while True: signal.pause()")


@pytest.mark.parametrize(
    ("how", "count"),
    [
        pytest.param(signal.SIGINT, 1, id="SIGINT"),
        pytest.param(signal.SIGTERM, 1, id="SIGTERM", marks=pytest.mark.thorough),
        pytest.param(signal.SIGTERM, 2, id="two SIGTERM as of timeout"),
        pytest.param(signal.SIGHUP, 1, id="SIGHUP", marks=pytest.mark.thorough),
    ],
)
def test_one_signal_keeps_what_was_measured_and_prints_the_tables(
    bench: Bench, pipe: Pipe, how: signal.Signals, count: int
) -> None:
    bench.example("waits.py", holding(pipe))
    process = bench.start(*OPTIONS, "--examples", "my_example.py,waits.py,my_example.py")
    assert pipe.starts()
    for number in range(count):
        time.sleep(0.1 * number)
        process.send_signal(how)
    out, err = process.communicate()
    assert pipe.ended()
    assert process.returncode == 130, err
    assert "Not measured: 1 of 2 cells; continue with `" in out and "resume results/mine`." in out
    assert err.splitlines()[-1] == "kbench: interrupted; what was measured is kept."
    measured = store.read(bench.results / "mine").measured
    assert [(one.outcome.status, one.outcome.reason) for one in measured] == [
        ("ok", ""),
        ("interrupted", "interrupted by the user"),
    ]


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)], ids=lambda how: how.name
)
def test_a_second_signal_ends_the_run_at_once_and_its_guest_with_it(
    bench: Bench, pipe: Pipe, how: signal.Signals
) -> None:
    bench.example("waits.py", holding(pipe, DEAF))
    process = bench.start(*OPTIONS, "--examples", "my_example.py,waits.py")
    assert pipe.starts()
    process.send_signal(how)
    assert pipe.starts()  # the guest was asked to end, and does not: the host waits for it
    time.sleep(1.2 * interrupts.ONE_REQUEST)
    process.send_signal(how)
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "kbench: stopped at once."
    assert pipe.ended()
    first, second = store.read(bench.results / "mine").measured
    assert (first.outcome.status, second.outcome.status) == ("ok", "interrupted")


@pytest.mark.thorough
def test_a_terminal_that_closes_sends_twice_and_the_run_still_ends_in_order(bench: Bench, pipe: Pipe) -> None:
    bench.example("waits.py", holding(pipe, DEAF))
    process = bench.start(*OPTIONS, "--examples", "waits.py")
    assert pipe.starts()
    process.send_signal(signal.SIGHUP)
    assert pipe.starts()
    process.send_signal(signal.SIGHUP)
    process.communicate()
    assert process.returncode == 130
    assert (bench.results / "mine" / "summary.md").is_file()


def test_an_interrupt_while_an_outcome_is_written_does_not_lose_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.write_outcome
    interrupts = iter([KeyboardInterrupt()])

    def interrupted(*asked: Any) -> None:
        for error in interrupts:
            raise error
        write(*asked)

    monkeypatch.setattr(store, "write_outcome", interrupted)
    bench.example("other.py")
    assert bench.measure("--name", "mine", examples="my_example.py,other.py").status == 130
    assert [status for status, _ in bench.fates().values()] == ["ok", "interrupted"]


def test_nothing_is_left_half_written_by_a_run_that_ends_at_once(bench: Bench, tmp_path: Path) -> None:
    assert bench.measure("--name", "mine").status == 0
    (cell,) = (bench.results / "mine" / "cells").iterdir()
    # As a host that was killed while it replaced the file: the old one is whole, the new one has another name.
    (cell / ".outcome.json.0123abcd").write_text('{"status": "fai')
    assert bench("resume", "mine").status == 0
    assert json.loads((cell / "outcome.json").read_text())["status"] == "ok"
