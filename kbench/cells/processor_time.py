"""The processor time that processes and all that they have started use, as far as Linux counts it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import psutil

MOST_BYTES = 1 << 16  # of the ids of a thread's children
# (seconds of the process itself, those of its children that have ended and that it waited for)
Times = Mapping[psutil.Process, tuple[float, float]]


def used(pids: Iterable[int]) -> Times:
    """What these processes and all below them have used so far, of those that have not ended."""
    found, waiting = {}, [*pids]
    while waiting:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(waiting.pop())
            times = process.cpu_times()
            found[process] = times.user + times.system, times.children_user + times.children_system
            waiting += _children(process)
    return found


def between(before: Times, after: Times) -> float:
    """The seconds that were used from one look to the other.

    What has ended meanwhile is in the time of the process that waited for it, with what it had used before; of what
    nobody waited for that is not known.
    """
    nothing = (0.0, 0.0)
    own = sum(times[0] - before.get(process, nothing)[0] for process, times in after.items())
    of_ended = sum(times[1] - before.get(process, nothing)[1] for process, times in after.items())
    return own + max(0.0, of_ended - sum(sum(times) for process, times in before.items() if process not in after))


def _children(process: psutil.Process) -> list[int]:
    """Of all its threads. psutil looks for them among all processes of the machine, which takes ten times as long."""
    if not _tells_children():
        return [child.pid for child in process.children()]
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in os.scandir(f"/proc/{process.pid}/task"):
            with contextlib.suppress(OSError):
                file = os.open(f"{thread.path}/children", os.O_RDONLY)  # in half the time of a Path
                found += map(int, os.read(file, MOST_BYTES).split())
                os.close(file)
    return found


@cache
def _tells_children() -> bool:
    """Whether this kernel has the file, CONFIG_PROC_CHILDREN, as that of all large distributions."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()
