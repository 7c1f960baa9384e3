"""The line that is shown while environments are made: which of how many, and how much is written so far."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import psutil

from kbench.environments import installers
from kbench.session.progress import Live
from kbench.text import size


class Line:
    """A line for these backends, whose environments may have to be made."""

    def __init__(self, backends: Sequence[str], shown: bool = True) -> None:
        self._backends = list(backends)
        self._live = Live(shown)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.close()

    @contextlib.contextmanager
    def of(self, backend: str) -> Iterator[None]:
        """Show it while installers run for this backend."""
        start, written = time.monotonic(), dict[int, int]()
        number, count = self._backends.index(backend) + 1 if backend in self._backends else 0, len(self._backends)
        which = f"{number} of {count}: {backend}" if number and count > 1 else backend

        def look(pid: int) -> None:
            written.update(_written(pid))
            text = f"environment {which}  {size(sum(written.values()))} written  {time.monotonic() - start:.0f} s"
            self._live.show(text)

        with installers.watched(look):
            yield
        self._live.clear()


def _written(pid: int) -> dict[int, int]:
    """The bytes that the process and those below it have written so far, packages and what is unpacked of them."""
    found = {}
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error, AttributeError):
                found[one.pid] = one.io_counters().write_chars
    return found
