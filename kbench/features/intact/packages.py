"""Compares the files of an environment with the RECORDs of its packages.

uv links them into environments from its cache: what is written into one is changed in all, and in its cache.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path

from kbench.environments.folders import MARKER

UNREADABLE = "="  # a digest that no file has
METADATA = ".dist-info/"  # no code; there are wheels whose RECORD is wrong about theirs


def changed(folder: Path, thorough: bool) -> list[str]:
    """The files in the environment that are missing, or not as their packages brought them, in site-packages.

    It reads those that have another size or were written since the environment was finished; thorough: all.
    """
    finished = folder / MARKER
    since = None if thorough or not finished.is_file() else finished.stat().st_mtime_ns
    return sorted(name for path, name, digest, size in _recorded(folder) if not _is(path, digest, size, since))


def _recorded(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """(path, name, hash, size) of each file that has a hash."""
    for record in folder.glob("lib/python*/site-packages/*.dist-info/RECORD"):
        try:
            rows = list(csv.reader(record.read_text(encoding="utf-8").splitlines()))
        except (OSError, ValueError, csv.Error):
            rows = [[f"{record.parent.name}/RECORD", UNREADABLE, ""]]
        place = record.parents[1]
        for name, digest, size in (row for row in rows if len(row) == 3):
            if digest and (METADATA not in name or digest == UNREADABLE):
                yield f"{place}/{name}", name, digest, size


def _is(path: str, digest: str, size: str, since: int | None) -> bool:
    """Whether the file is that."""
    try:
        about = Path(path).stat()
        if since is not None and about.st_mtime_ns <= since:
            return str(about.st_size) == (size or str(about.st_size))
        algorithm, _, wanted = digest.partition("=")
        with Path(path).open("rb") as file:
            found = hashlib.file_digest(file, algorithm).digest()
        return base64.urlsafe_b64encode(found).decode().rstrip("=") == wanted
    except (OSError, ValueError):  # no such file, or no such algorithm
        return False
