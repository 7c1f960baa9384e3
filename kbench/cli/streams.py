"""Makes stdout and stderr take any text, and lets nobody who stops reading them end a run."""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from pathlib import Path
from typing import TextIO


class _Lenient(io.FileIO):
    """A file whose errors of writing are ignored, or only that its reader is gone."""

    def __init__(self, number: int, ignored: frozenset[int] | None) -> None:
        super().__init__(number, "w", closefd=False)
        self._ignored = ignored  # None: all

    def write(self, content: object) -> int:
        try:
            # None: the one who started this process has set it not to block.
            while (written := super().write(content)) is None:  # type: ignore[arg-type]
                select.select([], [self], [])
            return written
        except OSError as error:
            if self._ignored is not None and error.errno not in self._ignored:
                raise
            return len(memoryview(content))  # type: ignore[arg-type]


def prepare() -> None:
    """Replace this process's own stdout and stderr; streams of a test or a notebook are left.

    The reader of stdout may have seen enough, as in `| head`: the run goes on, and the exit status is that of its
    cells. stderr has only progress and warnings: a full disk must not end a run. Characters that a terminal does not
    have, and file names that are no text, are shown as `?` or as an escape.
    """
    if sys.stdout is sys.__stdout__:
        sys.stdout = _stream(sys.stdout, frozenset({errno.EPIPE}), "replace")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(sys.stderr, None, "backslashreplace")


def finish() -> OSError | None:
    """Write what is left for stdout; the error if it cannot be written, which is then lost."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(sys.stdout.buffer.raw, _Lenient):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python would try again at its end
        return error
    return None


def _stream(usual: TextIO | None, ignored: frozenset[int] | None, errors: str) -> TextIO:
    if usual is None:  # it was closed, as by `>&-`
        return Path(os.devnull).open("w")
    usual.flush()
    file = _Lenient(usual.fileno(), ignored)
    lines = ignored is None or file.isatty()
    return io.TextIOWrapper(io.BufferedWriter(file), usual.encoding, errors, line_buffering=lines)
