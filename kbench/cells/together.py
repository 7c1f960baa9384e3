"""The processes of a cell: started, each in a session of its own, and ended together."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from kbench.cells import orphans, turns
from kbench.cells.turns import ProcessTurn


@dataclass(frozen=True)
class Beside:
    """A process of a cell, beside others: a worker."""

    command: Sequence[str]
    variables: Mapping[str, str]
    log: Path
    has_told_end: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class Streams:
    """Files that are a process's standard input, if it is there, and its stdout, if that is not in its log."""

    stdin: Path | None = None
    stdout: Path | None = None


LOGGED = Streams()  # no input, and all output in the log


class Together:
    """The processes of a cell, by their numbers: that of the first is 0, and it alone takes turns.

    They run in `folder` and have `mark` in their environment.
    """

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder, mark
        self._processes: list[subprocess.Popen[bytes]] = []
        self._described: list[Beside] = []
        self._are_ended = False  # by `end` or `kill`
        self._times: dict[int, float] = {}

    def start(
        self, one: Beside, turn: ProcessTurn | None = None, streams: Streams = LOGGED
    ) -> subprocess.Popen[bytes]:
        """Start one more. Raises OSError if it cannot be."""
        marked = {**one.variables, orphans.MARK: self._mark}
        process = _started(replace(one, variables=marked), self._folder, turn, streams)
        self._processes.append(process)
        self._described.append(one)
        threading.Thread(target=self._note_end, args=(len(self._processes) - 1, process.pid), daemon=True).start()
        return process

    def _note_end(self, number: int, pid: int) -> None:
        """Note when that process ends: of several the first to do so is why the others do."""
        with contextlib.suppress(ChildProcessError):  # it has just been waited for
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if not self._are_ended:
            self._times.setdefault(number, time.time())

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(one.pid for one in self._processes)

    @property
    def running(self) -> list[subprocess.Popen[bytes]]:
        """Those that have not ended."""
        return [one for one in self._processes if one.poll() is None]

    @property
    def is_first_running(self) -> bool:
        return self._processes[0].poll() is None

    @property
    def ends(self) -> dict[int, tuple[float, int]]:
        """When each that ended by itself did, as Unix time, and its code."""
        return {number: (at, self._processes[number].returncode) for number, at in sorted(self._times.items())}

    @property
    def has_lost_one(self) -> bool:
        """Whether one has ended, but not after its last event; of the first the caller knows that."""
        there = zip(self._processes, self._described, strict=True)
        return any(process.poll() is not None and not one.has_told_end() for process, one in there)

    def frozen(self) -> frozenset[int]:
        """Those that are stopped, as by SIGSTOP."""
        found = set()
        for number, one in enumerate(self._processes):
            with contextlib.suppress(psutil.Error):
                if psutil.Process(one.pid).status() == psutil.STATUS_STOPPED:
                    found.add(number)
        return frozenset(found)

    def end(self, grace: float) -> None:
        """Send SIGTERM to their groups and wait so many seconds at most; the caller kills what is left."""
        self._none_ends_by_itself()
        for one in self._processes:
            orphans.signal_group(one.pid, signal.SIGTERM)
            orphans.signal_group(one.pid, signal.SIGCONT)  # a stopped process takes no other signal
        until = time.monotonic() + grace
        for one in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(max(0.0, until - time.monotonic()))

    def kill(self) -> None:
        """Kill their groups."""
        self._none_ends_by_itself()
        for one in self._processes:
            orphans.signal_group(one.pid, signal.SIGKILL)
        for one in self._processes:
            one.wait()

    def _none_ends_by_itself(self) -> None:
        """From now on."""
        for number, one in enumerate(self._processes):
            if one.poll() is not None and not self._are_ended:
                self._times.setdefault(number, time.time())
        self._are_ended = True


def _started(one: Beside, folder: Path, turn: ProcessTurn | None, streams: Streams) -> subprocess.Popen[bytes]:
    """Its process, in a session of its own. Raises OSError if it cannot be started."""
    guests = () if turn is None else (turn.guests.fileno(),)
    of_turns = {turns.VARIABLE: str(guests[0])} if guests else {}
    with one.log.open("ab") as output, contextlib.ExitStack() as files:
        own = files.enter_context(streams.stdout.open("ab")) if streams.stdout else None
        given = files.enter_context(streams.stdin.open("rb")) if streams.stdin and streams.stdin.is_file() else None
        process = subprocess.Popen(
            list(one.command),
            env={**one.variables, **of_turns},
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
