"""What comes in by this process's standard input, which each cell of a program reads."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

from kbench.errors import UserError
from kbench.session.events import OnEvent, SessionNote

PIPE_SECONDS = 0.5  # in which a pipe must have data
SILENT_SECONDS = 2.0  # without data and end of a pipe, after which that is said
MOST_INPUT = 256 << 20  # bytes, which each cell reads


@contextlib.contextmanager
def kept(on_event: OnEvent) -> Iterator[IO[bytes] | None]:
    """This process's standard input in a temporary file, if it is a file or a pipe with data. Raises UserError."""
    try:
        number = sys.stdin.fileno()
        kind = os.fstat(number).st_mode
    except (OSError, ValueError, AttributeError):  # stdin is closed
        yield None
        return
    # The parent process may keep a pipe open and write nothing.
    if not (stat.S_ISREG(kind) or (stat.S_ISFIFO(kind) and select.select([number], [], [], PIPE_SECONDS)[0])):
        yield None
        return
    with tempfile.TemporaryFile(prefix="kbench-") as file:
        said = False
        while True:
            if not select.select([number], [], [], SILENT_SECONDS)[0] and not said:
                on_event(SessionNote("Waiting for the end of the standard input, which every cell will read."))
                said = True
            if not (part := os.read(number, 1 << 20)):
                break
            file.write(part)
            if file.tell() > MOST_INPUT:
                raise UserError(
                    f"The standard input has more than {MOST_INPUT >> 20} MiB, and each cell would read it: give the "
                    "program a file instead, or no input (`< /dev/null`)."
                )
        file.seek(0)
        yield file
