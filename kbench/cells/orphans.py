"""Finds the processes of a run by a mark in their environment and ends them, even if the host was killed.

A process can leave its group and session and outlive its parent, but its children still inherit its environment. So
everything that a guest started is found, unless it was given another environment.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from kbench.base.paths import PACKAGE

MARK = "KBENCH_GUEST_OF"  # the variable; its value is `RUN|HOST`
ROUNDS = 50  # a process that is started during the search is found in the next round
PAUSE = 0.02  # seconds between two of them
LOOKS = 100  # after the host's end: on a busy machine, a new guest has its mark only seconds later


def mark(run: Path) -> str:
    """The value of MARK for all guests that this host starts for the run in the folder `run`."""
    return f"{_of(run)}{secrets.token_hex(8)}"


def find(marked: str) -> list[int]:
    """The ids of the processes whose mark begins with `marked`."""
    processes = psutil.process_iter(["environ"])  # None for another user's
    return [one.pid for one in processes if (one.info["environ"] or {}).get(MARK, "").startswith(marked)]


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def end(marked: str) -> None:
    """Kill the processes that `find` finds."""
    for _ in range(ROUNDS):
        found = find(marked)
        for number in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        if not found:
            break
        time.sleep(PAUSE)


def end_of_run(run: Path) -> None:
    """Kill all processes of the run in the folder `run`, of any host."""
    end(_of(run))


@contextlib.contextmanager
def ended_with_this_process(marked: str) -> Iterator[None]:
    """If this process ends meanwhile, even by SIGKILL, all processes with this mark are ended.

    A watchdog process reads from a pipe, whose other end the system closes when this process ends. So nothing polls,
    and a guest that is stopped or deep in C code is ended, too.
    """
    watchdog = subprocess.Popen(
        [sys.executable, "-m", __name__, marked],
        cwd=PACKAGE.parent,  # so that it can import kbench
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # no signals from the terminal
    )
    with watchdog:
        try:
            yield
        finally:
            end(marked)  # started, but not yet waited for when an interrupt came
            watchdog.kill()


def _of(run: Path) -> str:
    return f"{run.resolve()}|"


def _main(marked: str) -> None:
    """Wait until the host has ended, then end its guests."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a batch system sends them to all processes
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(LOOKS):
        end(marked)
        time.sleep(PAUSE)


if __name__ == "__main__":
    _main(sys.argv[1])
