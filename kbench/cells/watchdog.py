"""A process beside the host that ends the host's guests where the host was killed and could not.

It holds the reading end of a pipe whose other end the host has. The system closes that one with the host, whatever
ended it; so nothing polls, no guest has to listen, and one that is stopped or deep in C code is ended as well.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from kbench.cells import orphans
from kbench.paths import PACKAGE

_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kbench.cells.watchdog import main; main(sys.argv[1])"
LOOKS = 100  # after the host's end: a guest that was just being started gets its mark seconds later on a busy machine
PAUSE = 0.05


@contextlib.contextmanager
def watching(marked: str) -> Iterator[None]:
    """While this lasts, the end of this process is the end of all processes that are marked so."""
    process = subprocess.Popen(
        [sys.executable, "-c", _START, str(PACKAGE.parent), marked],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what the terminal sends to the host is not for it
    )
    try:
        yield
    finally:
        orphans.end(marked)  # also what has the number of a process that there was before its cell
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def main(marked: str) -> None:
    """Wait until the host is gone, then end what it has left."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # a batch system sends them to everybody; the host decides
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(LOOKS):
        orphans.end(marked)
        time.sleep(PAUSE)
