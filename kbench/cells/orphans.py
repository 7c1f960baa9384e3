"""Finds the processes of a run by a mark in their environment, and ends them: also if the host was killed.

A process can leave its group and its session, and outlive its parent; what it starts inherits its environment all the
same. So everything that a guest started is found, however it was started, unless it was given another environment.
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

from kbench.paths import PACKAGE

MARK = "KBENCH_GUEST_OF"  # the variable; its value is `RUN|HOST`
ROUNDS = 50  # what is being started while it is looked for is found in the next round
PAUSE = 0.02  # seconds between two of them
LOOKS = 100  # after the host's end: a guest that was just being started gets its mark seconds later on a busy machine


def mark(run: Path) -> str:
    """A value of MARK for all guests that one host starts for the run in the folder `run`."""
    return f"{_of(run)}{secrets.token_hex(8)}"


def find(marked: str) -> list[int]:
    """The numbers of the processes whose mark begins with `marked`."""
    variable = os.fsencode(f"{MARK}={marked}")
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it is another user's, or has ended
            variables = (folder / "environ").read_bytes().split(b"\0")
            if any(one.startswith(variable) for one in variables):
                found.append(int(folder.name))
    return found


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
    """Kill what any host has left of the run in the folder `run`."""
    end(_of(run))


@contextlib.contextmanager
def ended_with_this_process(marked: str) -> Iterator[None]:
    """While this lasts, the end of this process, by SIGKILL too, is the end of all processes that are marked so.

    A process beside this one holds the reading end of a pipe, whose other end the system closes with this process. So
    nothing polls, and a guest that is stopped or deep in C code is ended as well.
    """
    watchdog = subprocess.Popen(
        [sys.executable, "-m", __name__, marked],
        cwd=PACKAGE.parent,  # from where it imports kbench
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what the terminal sends to the host is not for it
    )
    with watchdog:
        try:
            yield
        finally:
            end(marked)  # what was started and not yet waited for when an interrupt came
            watchdog.kill()


def _of(run: Path) -> str:
    return f"{run.resolve()}|"


def _main(marked: str) -> None:
    """Wait until the host is gone, then end what it has left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a batch system sends them to everybody
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(LOOKS):
        end(marked)
        time.sleep(PAUSE)


if __name__ == "__main__":
    _main(sys.argv[1])
