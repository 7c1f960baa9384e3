"""Reads files that a guest left in its folder, safely.

A guest can do anything there: replace a file by a pipe, which would block the host, or by a link, or write a log
without end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MIB = 2**20
LOG_LIMIT = 16 * MIB  # beyond this, the middle of a log is removed
LOG_KEPT = MIB  # of its beginning, and of its end
LEFT_OUT = b"\n[kbench: the middle of this log is left out]\n"
_KEEP_SIZE_AND_PUNCH_HOLE = 3  # of fallocate(2)

_CAREFULLY = os.O_NONBLOCK | os.O_NOCTTY  # else opening a pipe would wait for its other end


def open_regular(path: Path) -> BinaryIO:
    """The regular file at `path`, open for reading. Raises OSError, also for a folder, pipe or device."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def _opened(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags | _CAREFULLY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def trim(log: Path, ended: bool = False) -> None:
    """Remove the middle of `log` if it takes more than LOG_LIMIT.

    While its writer has not `ended`, only the disk space of the middle is freed, if the file system can do that:
    moving the end could lose a line that is being written, and the last lines say why a cell died.
    """
    with contextlib.suppress(OSError):  # the log is gone, or is not a regular file
        about = log.lstat()
        if about.st_size <= LOG_LIMIT or (not ended and about.st_blocks * 512 <= LOG_LIMIT):
            return
        with os.fdopen(_opened(log, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW), "r+b", buffering=0) as file:
            middle = ctypes.c_int64(LOG_KEPT), ctypes.c_int64(about.st_size - 2 * LOG_KEPT)
            if not ended and ctypes.CDLL(None).fallocate(file.fileno(), _KEEP_SIZE_AND_PUNCH_HOLE, *middle) == 0:
                return
            file.seek(-LOG_KEPT, os.SEEK_END)
            end = file.read(LOG_KEPT)
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
