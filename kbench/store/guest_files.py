"""Reads what a guest left in its folder: regular files alone, and no more of them than is needed.

A guest can do anything in its folder. A pipe in the place of a file would hold the host up for ever, a link could
lead anywhere, and a log can be without end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

MIB = 2**20
LOG_LIMIT = 16 * MIB  # from so much on, the middle of a log is left out
LOG_KEPT = MIB  # of its beginning, and of its end
LEFT_OUT = b"\n[kbench: the middle of this log is left out]\n"

# Opening a pipe waits for its other end unless it is told not to. Windows has none of these.
_CAREFULLY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_TO_TRIM = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


def open_regular(path: Path) -> BinaryIO:
    """The file at `path`, to be read; no folder, pipe or device. Raises OSError."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def _opened(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | _CAREFULLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def trim(log: Path, ended: bool = False) -> None:
    """Leave the middle of `log` out where it takes more than LOG_LIMIT.

    Until who writes to it has `ended`, its room alone is given back where the file system can do that: what would be
    written while the end is put in its new place would be lost, and those are the words that tell why a cell died.
    """
    with contextlib.suppress(OSError):  # there is no log any more, or nothing that could be trimmed
        about = log.lstat()
        if about.st_size <= LOG_LIMIT or (not ended and getattr(about, "st_blocks", MIB) * 512 <= LOG_LIMIT):
            return
        with os.fdopen(_opened(log, _TO_TRIM), "r+b", buffering=0) as file:
            if not ended and _punched(file.fileno(), LOG_KEPT, about.st_size - 2 * LOG_KEPT):
                return
            file.seek(-LOG_KEPT, os.SEEK_END)
            end = file.read(LOG_KEPT)
            file.truncate(LOG_KEPT)
            file.write(LEFT_OUT + end)


def _punched(descriptor: int, start: int, length: int) -> bool:
    """Whether the system gave back the room of these bytes of a file, which read as zeros now: Linux alone can."""
    if sys.platform != "linux":
        return False
    keep_size_and_punch_hole = 3
    fallocate = ctypes.CDLL(None).fallocate
    return bool(fallocate(descriptor, keep_size_and_punch_hole, ctypes.c_int64(start), ctypes.c_int64(length)) == 0)


def last_lines(log: Path, count: int) -> list[str]:
    """The last lines of `log` that say something, at most `count`, each cut after 200 characters."""
    try:
        with open_regular(log) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 16384))
            lines = file.read(16384).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.strip()[:200] for line in lines if line.strip()][-count:]
