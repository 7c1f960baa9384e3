"""Starts a guest in a session of its own and watches it. Only this module starts cells."""

from __future__ import annotations

import contextlib
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from kbench.cells import orphans, turns
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
    stdin: Path | None = None,
    stdout: Path | None = None,
    gpu: int | None = None,
    mark: str = "",
) -> Running[Exit]:
    """Run `command` in `folder` with only these environment variables; its output goes to `log`.

    With `stdout`, only its stderr goes to `log`. It reads the file `stdin` if there is one. The caller requests the
    next value a few times a second; `watch` is called each time, and returns whether the guest has told its last
    event. `gpu`: the GPU whose memory is measured.

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
        process = _started(command, {**variables, orphans.MARK: mark}, folder, log, turn, stdin, stdout)
        memory = MemoryWatch(process.pid, MEMORY_SECONDS if memory_limit_mib is None else POLL_SECONDS, on_device)
        timed_out = lingered = over_memory = False
        told_end: float | None = None
        away = 0.0
        written = (log, stdout) if stdout else (log,)

        def seconds() -> float:
            return time.monotonic() - start - away - (turn.held_seconds if turn else 0.0)

        try:
            if turn:
                turn.started(process.pid)
            while process.poll() is None:
                if seconds() > timeout:
                    timed_out = True
                    _end(process)
                    break
                if watch() and told_end is None:
                    told_end = seconds()
                if told_end is not None and seconds() - told_end > LINGER_SECONDS:
                    lingered = True
                    _end(process)
                    break
                memory.sample(seconds())
                if memory_limit_mib is not None and (memory.peak_mib or 0.0) > memory_limit_mib:
                    over_memory = True
                    break
                for one in written:
                    guest_files.trim(one)
                before = seconds()
                yield process
                if (waited := seconds() - before) > AWAY_SECONDS:
                    away += waited
        except BaseException:
            _end(process)
            raise
        finally:
            orphans.signal_group(process.pid, signal.SIGKILL)
            process.wait()
            orphans.end(mark)  # what has left its group
            for one in written:
                guest_files.trim(one, ended=True)
    killed = process.returncode == -signal.SIGKILL and not over_memory
    return Exit(
        process.returncode,
        seconds(),
        timed_out,
        memory.peak_mib,
        None if on_device is None else on_device.peak_mib,
        "" if on_device is None else on_device.source,
        over_memory,
        killed and (host.oom_kills() > kills or (memory.peak_mib or 0.0) > NEARLY_ALL * available),
        tuple(memory.points),
        lingered,
    )


def _started(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    log: Path,
    turn: ProcessTurn | None,
    stdin: Path | None,
    stdout: Path | None,
) -> subprocess.Popen[bytes]:
    """Its process, in a session of its own. Raises OSError if it cannot be started."""
    guests = () if turn is None else (turn.guests.fileno(),)
    of_turns = {turns.VARIABLE: str(guests[0])} if guests else {}
    with log.open("ab") as output, contextlib.ExitStack() as files:
        own = files.enter_context(stdout.open("ab")) if stdout else None
        given = files.enter_context(stdin.open("rb")) if stdin and stdin.is_file() else None
        process = subprocess.Popen(
            list(command),
            env={**variables, **of_turns},
            pass_fds=guests,
            cwd=folder,
            stdin=given or subprocess.DEVNULL,
            stdout=own or output,
            stderr=output,
            start_new_session=True,
        )
    with contextlib.suppress(OSError):  # it has ended
        # A core file would lie among the results, with all that was in memory.
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
    return process


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
    """The peak of the resident memory of a process and its descendants, over all calls of `sample`.

    Shared pages count for each process, and a peak between two calls is missed. Also measures `on_device`.
    """

    def __init__(self, pid: int, between: float, on_device: DeviceMemory | None = None) -> None:
        self._pid = pid
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
        pids = {self._pid}
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self._pid)
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM to the group and wait a while; the caller kills what is left."""
    orphans.signal_group(process.pid, signal.SIGTERM)
    orphans.signal_group(process.pid, signal.SIGCONT)  # a stopped process takes no other signal
    _wait(process, GRACE_SECONDS)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until `process` has ended, at most this long."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
