"""Finds the processes of a run by a mark in their environment, and ends them.

A process can leave its group and its session, and outlive its parent; what it starts inherits its environment all the
same. So everything that a guest started is found, however it was started, unless it was given another environment.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Collection
from pathlib import Path

import psutil

MARK = "KBENCH_GUEST_OF"  # the variable; its value is `RUN|HOST`
ROUNDS = 50  # what is being started while it is looked for is found in the next round
PAUSE = 0.02  # seconds between two of them


def mark(run: Path) -> str:
    """A value of MARK for all guests that one host starts for the run in the folder `run`."""
    return f"{_of(run)}{secrets.token_hex(8)}"


def find(marked: str, besides: Collection[int] = ()) -> list[psutil.Process]:
    """The processes whose mark begins with `marked`; those with the numbers `besides` are not looked at."""
    found = []
    for number in psutil.pids():
        if number in besides:
            continue
        with contextlib.suppress(psutil.Error, OSError):  # it is another user's, or has ended
            process = psutil.Process(number)
            if process.environ().get(MARK, "").startswith(marked):
                found.append(process)
    return found


def end(marked: str, besides: Collection[int] = ()) -> int:
    """Kill the processes that `find` finds; returns how many there were."""
    ended = 0
    for _ in range(ROUNDS):
        found = find(marked, besides)
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            break
        ended += len(found)
        time.sleep(PAUSE)
    return ended


def end_of_run(run: Path) -> int:
    """Kill what any host has left of the run in the folder `run`."""
    return end(_of(run))


def _of(run: Path) -> str:
    return f"{run.resolve()}|"
