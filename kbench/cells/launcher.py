"""Starts the processes of a cell, each in a session of its own, and watches them. Only this module starts cells."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

from kbench.cells import orphans
from kbench.cells.together import LOGGED, Beside, Streams, Together
from kbench.cells.turns import ProcessTurn
from kbench.machine import host
from kbench.machine.gpu_memory import DeviceMemory
from kbench.store import guest_files

POLL_SECONDS = 0.25  # between two checks: a busy host would disturb the measurement
MEMORY_SECONDS = 1.0  # between two readings of the memory, which take milliseconds
MOST_POINTS = 1200  # of it over time: then every second one is dropped, and they come half as often
GRACE_SECONDS = 5.0  # between SIGTERM and SIGKILL
LINGER_SECONDS = 10.0  # after its last event: then a thread or an exit handler holds it
NEARLY_ALL = 0.8  # of the memory that was available when it started
AWAY_SECONDS = 5.0  # between two checks: this process was stopped, as by Ctrl-Z, or the machine slept

T = TypeVar("T")
# A running process, which is checked whenever the next value is requested; returns something at its end.
Running = Generator[subprocess.Popen[bytes], None, T]


@dataclass(frozen=True)
class Exit:
    """How a process ended."""

    code: int  # negative: the number of the signal that ended it
    seconds: float  # wall clock
    timed_out: bool = False
    peak_memory_mib: float | None = None  # of the process and its descendants; None if it ended too soon
    device_memory_mib: float | None = None  # of the same on the GPU, if one is used
    device_memory_source: str = ""  # whose that is: see kbench.machine.gpu_memory
    over_memory: bool = False  # it exceeded its memory limit
    memory_short: bool = False  # when it was killed: by the kernel's word, or it held nearly all that there was
    memory: tuple[tuple[float, float], ...] = ()  # (seconds, MiB of the process and its descendants) in their order
    lingered: bool = False  # it was ended some time after its last event
    # Of the processes of a cell with several: when each ended by itself (Unix time), and its code; and those that
    # somebody else had stopped when they were ended.
    ends: Mapping[int, tuple[float, int]] = field(default_factory=dict)
    frozen: frozenset[int] = frozenset()


Launcher = Callable[..., Running[Exit]]  # `launch`, or what stands in for it in a test


def launch(
    command: Sequence[str],
    *,
    variables: Mapping[str, str],
    folder: Path,
    log: Path,
    timeout: float,
    watch: Callable[[], object],
    memory_limit_mib: float | None = None,
    turn: ProcessTurn | None = None,
    streams: Streams = LOGGED,
    gpu: int | None = None,
    mark: str = "",
    beside: Sequence[Beside] = (),
) -> Running[Exit]:
    """Run `command` in `folder` with only these environment variables; its output goes to `log`.

    With a file for its stdout, only its stderr goes to `log`. The caller requests the next value a few times a
    second; `watch` is called each time, and returns whether the guest has told its last event. `gpu`: the GPU whose
    memory is measured. `beside`: further processes of the same cell. If one of them ends before that event, but not
    after its own last one, all are ended.

    After `timeout` seconds, not counting those in which it was held between two turns or this process was stopped
    itself, or LINGER_SECONDS after its last event, and if this process is interrupted, the process group gets SIGTERM
    and then SIGKILL; beyond `memory_limit_mib` it gets SIGKILL at once.
    All processes that it started end with it, in any group or session: they have `mark` in their environment. Raises
    OSError if the command cannot be started.
    """
    mark = f"{mark or orphans.mark(folder)}|{log.parent.name}|"  # only of this cell: others may run side by side
    with contextlib.ExitStack() as stack:
        on_device = None if gpu is None else stack.enter_context(contextlib.closing(DeviceMemory(gpu)))
        start = time.monotonic()
        kills, available = host.oom_kills(), host.available_mib()
        together = Together(folder, mark)
        why, over_memory, frozen = "", False, frozenset[int]()
        told_end: float | None = None
        away = 0.0
        written = (log, *filter(None, [streams.stdout]), *(one.log for one in beside))

        def seconds() -> float:
            return time.monotonic() - start - away - (turn.held_seconds if turn else 0.0)

        try:
            process = together.start(Beside(command, variables, log), turn, streams)
            for one in beside:
                together.start(one)
            how_often = MEMORY_SECONDS if memory_limit_mib is None else POLL_SECONDS
            memory = MemoryWatch(together.pids, how_often, on_device)
            if turn:
                turn.started(together.pids)
            while process.poll() is None or (process.returncode == 0 and together.running):
                why = _TIME if seconds() > timeout else ""
                if not why and watch() and told_end is None:
                    told_end = seconds()
                if why := why or _why(together, told_end, seconds()):
                    frozen = together.frozen()
                    together.end(GRACE_SECONDS)
                    break
                memory.sample(seconds())
                if memory_limit_mib is not None and (memory.peak_mib or 0.0) > memory_limit_mib:
                    over_memory = True
                    break
                for file in written:
                    guest_files.trim(file)
                before = seconds()
                yield next(iter(together.running), process)
                if (waited := seconds() - before) > AWAY_SECONDS:
                    away += waited
        except BaseException:
            together.end(GRACE_SECONDS)
            raise
        finally:
            together.kill()
            orphans.end(mark)  # what has left its group
            for file in written:
                guest_files.trim(file, ended=True)
    codes = {process.returncode, *(code for _, code in together.ends.values())}
    killed = -signal.SIGKILL in codes and not over_memory
    return Exit(
        process.returncode,
        seconds(),
        why == _TIME,
        memory.peak_mib,
        None if on_device is None else on_device.peak_mib,
        "" if on_device is None else on_device.source,
        over_memory,
        killed and (host.oom_kills() > kills or (memory.peak_mib or 0.0) > NEARLY_ALL * available),
        tuple(memory.points),
        why == _LINGERS,
        together.ends,
        frozen,
    )


_TIME, _LINGERS, _LOST, _LEFT = "time limit", "lingers", "lost a process", "others linger"


def _why(together: Together, told_end: float | None, seconds: float) -> str:
    """Why a cell's processes are to be ended, if they are. told_end: when the first one had told its last event."""
    if told_end is None:
        return _LOST if together.has_lost_one else ""
    if seconds - told_end <= LINGER_SECONDS:
        return ""
    return _LINGERS if together.is_first_running else _LEFT


def run_to_completion(running: Running[T]) -> T:
    """Wait for a running process; returns its result."""
    with contextlib.closing(running):
        while True:
            try:
                process = next(running)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            _wait(process, POLL_SECONDS)


class MemoryWatch:
    """The peak of the resident memory of a cell's processes and their descendants, over all calls of `sample`.

    Shared pages count for each process, and a peak between two calls is missed. Also measures `on_device`.
    """

    def __init__(self, started: Sequence[int], between: float, on_device: DeviceMemory | None = None) -> None:
        self._started = started
        self._between = between  # seconds
        self._on_device = on_device
        self._next = time.monotonic()
        self.peak_mib: float | None = None
        self.points: list[tuple[float, float]] = []  # (seconds of the process's own clock, MiB)
        self._apart = MEMORY_SECONDS

    def sample(self, seconds: float) -> None:
        """Measure, if the last measurement is long enough ago. `seconds`: for which the process has run by now."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._between
        total = 0
        pids = {*self._started}
        for pid in self._started:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                for one in (process, *process.children(recursive=True)):
                    pids.add(one.pid)
                    with contextlib.suppress(psutil.Error):
                        total += one.memory_info().rss
        if total:
            self.peak_mib = max(total / 2**20, self.peak_mib or 0.0)
            self._add(seconds, total / 2**20)
        if self._on_device is not None:
            self._on_device.sample(pids)

    def _add(self, seconds: float, mib: float) -> None:
        if self.points and seconds < self.points[-1][0] + self._apart:  # or it is held
            return
        self.points.append((round(seconds, 2), round(mib, 1)))
        if len(self.points) > MOST_POINTS:
            del self.points[1::2]
            self._apart *= 2


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until `process` has ended, at most this long."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
