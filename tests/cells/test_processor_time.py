"""The processor time of a process is that of all that it has started, each second once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from kbench.cells import processor_time, turns

ENOUGH = 0.3  # seconds; the kernel counts in hundredths
# A thread starts a process that starts another, which takes a core until a line is read; then each waits for its own.
PROGRAM = """
import multiprocessing, os, sys, threading

def spin(ended):
    while not ended.is_set():
        pass

def start(ended):
    child = multiprocessing.Process(target=spin, args=(ended,))
    child.start()
    child.join()

ended = multiprocessing.Event()
child = multiprocessing.Process(target=start, args=(ended,))
thread = threading.Thread(target=child.start)
thread.start()
thread.join()
for line in sys.stdin:
    ended.set()
    child.join()
    times = os.times()
    print(times.children_user + times.children_system, flush=True)
"""


@pytest.fixture
def guest() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        yield process
        process.kill()


def until_used(process: psutil.Process, seconds: float) -> float:
    """Wait until it has used so much more; returns what it has used in all."""
    before = sum(process.cpu_times()[:2])
    while (now := sum(process.cpu_times()[:2])) < before + seconds:
        pass
    return now


def spinning(process: subprocess.Popen[str]) -> psutil.Process:
    """The process below that of the program's own child."""
    while not (found := [one for child in psutil.Process(process.pid).children() for one in child.children()]):
        pass
    return found[0]


@pytest.mark.parametrize("tells_children", [True, False])
def test_what_a_child_uses_is_counted_while_it_is_alive_and_once_when_it_has_ended(
    guest: subprocess.Popen[str], tells_children: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor_time, "_tells_children", lambda: tells_children)
    child = spinning(guest)
    until_used(child, ENOUGH)
    looks = [processor_time.used([guest.pid])]
    until_used(child, ENOUGH)
    looks.append(processor_time.used([guest.pid]))
    assert processor_time.between(*looks) >= ENOUGH - 0.02
    assert guest.stdin is not None and guest.stdout is not None
    print(file=guest.stdin, flush=True)
    in_all = float(guest.stdout.readline())
    looks.append(processor_time.used([guest.pid]))
    parts = [processor_time.between(*looks[number : number + 2]) for number in range(2)]
    used_before = sum(sum(times) for times in looks[0].values())
    assert sum(parts) + used_before == pytest.approx(in_all + sum(looks[2][psutil.Process(guest.pid)][:1]), abs=0.05)


def test_what_nobody_waited_for_takes_nothing_from_the_others() -> None:
    parent, child, other = map(psutil.Process, (os.getpid(), os.getppid(), 1))
    before = {parent: (1.0, 0.0), child: (9.0, 0.0)}
    assert processor_time.between(before, {parent: (1.5, 0.0), other: (0.25, 0.0)}) == 0.75
    assert processor_time.between(before, {parent: (1.5, 9.5)}) == 1.0


def test_what_other_programs_used_is_all_but_what_these_did() -> None:
    this = psutil.Process()
    before = turns.Look(10.0, 7.0, {this: (5.0, 1.0)})
    cores = len(os.sched_getaffinity(0))
    after = turns.Look(14.0, 7.0 + 3 * cores, {this: (5.0 + 2 * cores, 1.0)})
    assert turns.share_of_others(before, after) == 0.25
