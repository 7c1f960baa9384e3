"""Test helper: a named pipe that shows when another process starts and ends, without a clock."""

from __future__ import annotations

import os
import select
from pathlib import Path

PATIENCE = 60.0  # seconds, after which a test fails rather than hangs


class Pipe:
    """folder/pipe: read here, held open by whoever is watched."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pipe"
        os.mkfifo(self.path)
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def started(self) -> bool:
        """Whether somebody holds the pipe and has written to it; asks and does not wait."""
        return self._reads(b"x", 0)

    def starts(self) -> bool:
        """Whether somebody comes to hold the pipe and writes to it; waits for it."""
        return self._reads(b"x", PATIENCE)

    def ended(self) -> bool:
        """Whether nobody holds the pipe any more; waits for a dying process to be gone."""
        return self._reads(b"", PATIENCE)

    def _reads(self, expected: bytes, seconds: float) -> bool:
        return bool(select.select([self._reader], [], [], seconds)[0]) and os.read(self._reader, 1) == expected

    def close(self) -> None:
        os.close(self._reader)
