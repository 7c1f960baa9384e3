"""Keeps a run's folder and its run.json as they are while programs run in it."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from kbench.errors import UserError
from kbench.store.files import os_errors_as_user_errors, read_bytes, replace


class WatchedFolder:
    """The folder of a run while programs run in it, which can do anything to it, and the user to its name."""

    def __init__(self, run: Path) -> None:
        """Raises UserError if run.json cannot be read."""
        self._path = run / "run.json"
        self._content = self._read()

    def check(self) -> None:
        """Write run.json again if it was changed. Raises UserError if the folder is gone, or cannot be written."""
        if not self._path.exists() and not self._path.with_name("cells").is_dir():
            raise UserError(
                f"{self._path.parent} was renamed or removed while it was measured, so nothing more is measured: "
                "give it its name again."
            )
        with contextlib.suppress(UserError):
            if self._read() == self._content:
                return
        with os_errors_as_user_errors("replace", self._path):
            if self._path.is_dir() and not self._path.is_symlink():  # which a file cannot replace
                self._path.rename(self._path.with_name(f"run.json.{secrets.token_hex(4)}"))
        replace(self._path, self._content)

    def _read(self) -> bytes:
        with os_errors_as_user_errors("read", self._path):
            return read_bytes(self._path)
