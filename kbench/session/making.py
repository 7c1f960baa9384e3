"""Tells while environments are made: which of how many, and how much is written so far."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import psutil

from kbench.environments import installers
from kbench.session.events import (
    EnvironmentEnded,
    EnvironmentProgress,
    EnvironmentsEnded,
    EnvironmentsStarted,
    OnEvent,
)


class Making:
    """The environments of these backends, which may have to be made."""

    def __init__(self, backends: Sequence[str], on_event: OnEvent) -> None:
        self._backends = list(backends)
        self._on_event = on_event

    def __enter__(self) -> Making:
        self._on_event(EnvironmentsStarted())
        return self

    def __exit__(self, *_: object) -> None:
        self._on_event(EnvironmentsEnded())

    @contextlib.contextmanager
    def of(self, backend: str) -> Iterator[None]:
        """Tell while installers run for this backend."""
        start, written = time.monotonic(), dict[int, int]()
        number, count = self._backends.index(backend) + 1 if backend in self._backends else 0, len(self._backends)

        def look(pid: int) -> None:
            written.update(_written(pid))
            seconds = time.monotonic() - start
            self._on_event(EnvironmentProgress(backend, number, count, sum(written.values()), seconds))

        with installers.watched(look):
            yield
        self._on_event(EnvironmentEnded(backend))


def _written(pid: int) -> dict[int, int]:
    """The bytes that the process and those below it have written so far, packages and what is unpacked of them."""
    found = {}
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error, AttributeError):
                found[one.pid] = one.io_counters().write_chars
    return found
