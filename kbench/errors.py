"""Exceptions; the text of each is one sentence for the user."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """The request was wrong. The text says how to correct it; exit status 2."""


class Refused(UserError):
    """The system refuses a file or folder: the disk is full, or it may only be read."""


class Stopped(UserError):
    """A run that was being measured cannot go on. What was measured is kept in the folder `run`, to be resumed."""

    def __init__(self, reason: str, run: Path) -> None:
        super().__init__(reason)
        self.run = run


class Interrupted(KeyboardInterrupt):
    """The user ended a run that was being measured. What was measured is kept in the folder `run`."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.run = run


class Unavailable(Exception):
    """A backend's environment cannot be created on this machine. The text is the cell's reason."""


class Unsupported(Exception):
    """A backend cannot do this on this device. The text is the cell's reason."""
