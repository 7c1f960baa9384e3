"""Starts a guest in a process group of its own and waits for it: the one place where cells become processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from kbench.device_memory import DeviceMemory

POLL_SECONDS = 0.25  # the host sleeps between two looks: a spinning parent would disturb what it measures
MEMORY_SECONDS = 1.0  # between two looks at the memory, which cost some milliseconds
GRACE_SECONDS = 5.0  # between the request to end and the end


@dataclass(frozen=True)
class Exit:
    """How a process ended."""

    code: int  # negative: the number of the signal that ended it
    seconds: float  # wall clock
    timed_out: bool = False
    peak_memory_mib: float | None = None  # of the process and all below it; None where it ended before a look
    device_memory_mib: float | None = None  # of the same on the GPU, where one was looked at
    device_memory_source: str = ""  # whose that is: see kbench.device_memory


class Launcher(Protocol):
    """Runs a command to its end; tests use another one than the real."""

    def __call__(
        self,
        command: Sequence[str],
        *,
        variables: Mapping[str, str],
        folder: Path,
        log: Path,
        timeout: float,
        watch: Callable[[], None],
    ) -> Exit: ...


def launch(
    command: Sequence[str],
    *,
    variables: Mapping[str, str],
    folder: Path,
    log: Path,
    timeout: float,
    watch: Callable[[], None],
    gpu: int | None = None,
) -> Exit:
    """Run `command` in `folder` with just these environment variables; its output goes to `log`, whole.

    `watch` is called a few times a second. `gpu` is the number of the one whose memory is looked at. After `timeout`
    seconds, and where this process is interrupted, the whole process group is asked to end and then killed. Raises
    OSError where the command cannot be started.
    """
    on_device = None if gpu is None else DeviceMemory(gpu)
    try:
        return _launch(command, variables, folder, log, timeout, watch, on_device)
    finally:
        if on_device is not None:
            on_device.close()


def _launch(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    log: Path,
    timeout: float,
    watch: Callable[[], None],
    on_device: DeviceMemory | None,
) -> Exit:
    start = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            env=dict(variables),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    memory = Memory(process.pid, on_device)
    timed_out = False
    try:
        while process.poll() is None:
            if time.monotonic() - start > timeout:
                timed_out = True
                _end(process)
                break
            watch()
            memory.look()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
    except BaseException:
        _end(process)
        raise
    finally:
        _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # grandchildren that stayed behind
    seconds = time.monotonic() - start
    if on_device is None:
        return Exit(process.returncode, seconds, timed_out, memory.peak_mib)
    return Exit(process.returncode, seconds, timed_out, memory.peak_mib, on_device.peak_mib, on_device.source)


class Memory:
    """The largest sum of resident memory over a process and its descendants, of all looks at it.

    Pages that they share are counted for each, and a peak between two looks is missed. `on_device` looks along.
    """

    def __init__(self, pid: int, on_device: DeviceMemory | None = None) -> None:
        self._pid = pid
        self._on_device = on_device
        self._next = time.monotonic()
        self.peak_mib: float | None = None

    def look(self) -> None:
        """Look, where the last look is long enough ago."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + MEMORY_SECONDS
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
        if self._on_device is not None:
            self._on_device.look(pids)


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the group, then SIGKILL for whoever is still there."""
    _signal(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        _signal(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        process.wait()


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(group, number)
        else:
            os.kill(group, number)
