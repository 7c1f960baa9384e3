"""Errors that are sentences for the person at the keyboard."""

from __future__ import annotations


class UserError(Exception):
    """The request was wrong. Its text is one sentence that says how to right it; exit status 2."""


class Unavailable(Exception):
    """A backend's environment cannot be made on this machine. Its text is the cell's one-line reason."""


class Unsupported(Exception):
    """A backend cannot do this on this device. Its text is the cell's one-line reason."""
