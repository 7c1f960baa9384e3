"""Tells while an environment is made: which of how many, and how much is written so far."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import psutil

from kbench.environments import installers
from kbench.session.events import EnvironmentEnded, EnvironmentProgress, OnEvent


@contextlib.contextmanager
def telling(backend: str, missing: Sequence[str], on_event: OnEvent) -> Iterator[None]:
    """Tell while installers run for this backend; `missing` are all backends whose environments are to be made."""
    start, written = time.monotonic(), dict[int, int]()
    number = missing.index(backend) + 1 if backend in missing else 0

    def look(pid: int) -> None:
        written.update(_written(pid))
        seconds = time.monotonic() - start
        on_event(EnvironmentProgress(backend, number, len(missing), sum(written.values()), seconds))

    try:
        with installers.watched(look):
            yield
    finally:
        on_event(EnvironmentEnded(backend))


def _written(pid: int) -> dict[int, int]:
    """The bytes that the process and those below it have written so far, packages and what is unpacked of them."""
    found = {}
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error, AttributeError):
                found[one.pid] = one.io_counters().write_chars
    return found
