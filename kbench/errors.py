"""Exceptions whose text is one sentence for the user."""

from __future__ import annotations


class UserError(Exception):
    """The request was wrong. The text says how to correct it; exit status 2."""


class Refused(UserError):
    """The system refuses a file or folder: the disk is full, or it may only be read."""


class Unavailable(Exception):
    """A backend's environment cannot be created on this machine. The text is the cell's reason."""


class Unsupported(Exception):
    """A backend cannot do this on this device. The text is the cell's reason."""
