"""The fixed computation runs in processes of its own, with the variables and threads of a cell, in turns."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import psutil
import pytest

from kbench.machine import reference_work

VARIABLES = {"PATH": os.environ["PATH"]}


def test_it_takes_some_of_a_second_in_processes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_work, "work", None)  # of this process
    monkeypatch.setattr(reference_work, "ROUNDS", 2)
    before = psutil.Process().children()  # of other tests, such as a browser's
    # Two threads that share a core with other tests wait for each other by spinning: one process of them is enough.
    for number, threads in ((3, 1), (1, 2)):
        seconds = reference_work.measure(number, threads, VARIABLES)
        assert len(seconds) == number == len(set(seconds)) and all(0.001 < taken < 30 for taken in seconds)
    assert psutil.Process().children() == before


def test_a_process_is_compared_within_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    paces: dict[int, float] = {}
    turns: list[float] = []

    def turn(process: subprocess.Popen[str]) -> float:
        turns.append(paces.setdefault(process.pid, [1.0, 1.1, 1.2][len(paces) % 3]))
        # The first turn of a process warms it up; of all later rounds the second half are five times as slow.
        return turns[-1] * (5.0 if len(turns) > 3 + 3 * reference_work.ROUNDS / 2 else 1.0)

    monkeypatch.setattr(reference_work, "_turn", turn)
    first, second, third = reference_work.measure(3, 1, VARIABLES)
    assert second / first == pytest.approx(1.1) and third / first == pytest.approx(1.2)


def test_one_turn_follows_another_and_all_others_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    real = reference_work._turn
    before = psutil.Process().children()  # of other tests, such as a browser's

    def turn(process: subprocess.Popen[str]) -> float:
        seconds = real(process)
        end = time.monotonic() + 10
        own = [one for one in psutil.Process().children() if one not in before]
        while {one.status() for one in own} != {psutil.STATUS_STOPPED}:
            assert time.monotonic() < end
        return seconds

    monkeypatch.setattr(reference_work, "_turn", turn)
    monkeypatch.setattr(reference_work, "ROUNDS", 2)
    assert reference_work.measure(3, 1, VARIABLES)


def test_it_computes_the_same_each_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    monkeypatch.setattr(reference_work, "_products", lambda matrix, number: seen.append((matrix.tobytes(), number)))
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n\n"))
        reference_work.work(1)
    assert seen[:3] == seen[3:]
    assert [number for _, number in seen[:3]] == [reference_work.WARMUP, *[reference_work.PRODUCTS] * 2]
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_it_has_as_many_threads_as_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    within = reference_work.threadpoolctl.threadpool_limits

    def watched(limits_of: int, user_api: str) -> object:
        limits.append((limits_of, user_api))
        return within(limits_of, user_api=user_api)

    monkeypatch.setattr(reference_work.threadpoolctl, "threadpool_limits", watched)
    reference_work.work(3)
    assert limits == [(3, "blas")]


@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/echo"])
def test_where_it_cannot_be_timed_there_is_none(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert reference_work.measure(2, 1, VARIABLES) == ()


def test_one_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_work, "TIMEOUT", 0.5)
    monkeypatch.setattr(sys, "executable", "/bin/sleep")
    monkeypatch.setattr(reference_work, "_started", lambda *_: _sleeping(["sleep", "60"]))
    start = time.monotonic()
    assert reference_work.measure(2, 1, VARIABLES) == ()
    assert time.monotonic() - start < 30


def _sleeping(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


HOST = """
import os, sys
from pathlib import Path
from kbench.cells import orphans
from kbench.machine import reference_work
mark = orphans.mark(Path({folder!r}))
real = reference_work._turn

def turn(process):
    real(process)
    os.kill(os.getpid(), 9)

reference_work._turn = turn
with orphans.ended_with_this_process(mark):
    reference_work.measure(1, 1, {{"PATH": os.environ["PATH"], orphans.MARK: mark}})
"""


def test_none_stays_stopped_where_the_host_is_killed(tmp_path: object) -> None:
    before = _stopped()
    host = subprocess.run([sys.executable, "-c", HOST.format(folder=str(tmp_path))], check=False)
    assert host.returncode == -9
    end = time.monotonic() + 30
    while _stopped() - before and time.monotonic() < end:
        time.sleep(0.1)
    assert not _stopped() - before


def _stopped() -> set[int]:
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if reference_work.__name__ in process.cmdline():
                found.add(process.pid)
    return found
