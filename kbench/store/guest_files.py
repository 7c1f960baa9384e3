"""Reads what a guest left in its folder: regular files alone, and no more of them than is needed.

A guest can do anything in its folder. A pipe in the place of a file would block the host for ever, a link could
lead anywhere, and a log can grow without end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MIB = 2**20
LOG_LIMIT = 16 * MIB  # from so much on, the middle of a log is left out
LOG_KEPT = MIB  # of its beginning, and of its end
LEFT_OUT = b"\n[kbench: the middle of this log is left out]\n"

_CAREFULLY = os.O_NONBLOCK | os.O_NOCTTY  # else opening a pipe would wait for its other end


def open_regular(path: Path) -> BinaryIO:
    """The file at `path`, to be read; no folder, pipe or device. Raises OSError."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def _opened(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | _CAREFULLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def trim(log: Path) -> None:
    """Leave the middle of `log` out if it takes more than LOG_LIMIT.

    Whoever writes to it meanwhile writes on at its end. What is written in the very moment of the cut is lost.
    """
    with contextlib.suppress(OSError):  # there is no log any more, or nothing that could be trimmed
        if log.lstat().st_size <= LOG_LIMIT:
            return
        with os.fdopen(_opened(log, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW), "r+b", buffering=0) as file:
            file.seek(-LOG_KEPT, os.SEEK_END)
            end = b""
            for _ in range(100):  # until nothing more has come meanwhile: the cut itself then takes microseconds
                more = file.read(LOG_KEPT)
                end = (end + more)[-LOG_KEPT:]
                if not more:
                    break
            file.truncate(LOG_KEPT)
            file.write(LEFT_OUT + end)


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of `log` that are not blank, at most `count`, each cut after 200 characters."""
    try:
        with open_regular(log) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            lines = file.read(16384).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.strip()[:200] for line in lines if line.strip()][-count:]
