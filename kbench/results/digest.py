"""What `compare` asks of a large run, kept beside it: a million epochs are not read again each time.

results/<run>/digest.msgpack is derived like the tables, and written with them. It holds for the raw files that it was
made from, by their sizes and times, and for the kbench that made it; otherwise they are read, as those of a small run
always are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import msgspec

from kbench import paths, side_rows
from kbench.beside import beside
from kbench.cell_files import open_regular
from kbench.results.reading import RunRecord, RunResults, measured_of
from kbench.results.store import cell_folder
from kbench.side_rows import Row

NAME = "digest.msgpack"
_RAW = frozenset({"spec.json", "events.jsonl", "outcome.json", "log.txt"})  # of a cell: what its row is made of
_COMPUTING = ("msgspec", "numpy", "scipy")  # with another version of these a figure may have another last bit


@dataclass(frozen=True)
class Digest:
    """The rows of a run, and what they were made from."""

    stamp: str
    rows: tuple[Row, ...]


def begun(record: RunRecord) -> Callable[[], Sequence[Row]]:
    """Gives the rows of the run as they are compared: from its digest where that holds, or else from its raw files.

    Until they are asked for, a second process looks whether the digest of a large run holds.
    """
    about = partial(_stamp, record)
    stamp = beside(about) if record.large and (record.folder / NAME).is_file() else about

    def finish() -> Sequence[Row]:
        kept = _kept(record.folder)
        if kept is not None and kept.stamp == stamp():
            return kept.rows
        run = measured_of(record)
        return side_rows.rows(run.measured, run.timed)

    return finish


def encoded(run: RunResults) -> bytes | None:
    """The content of a large run's digest; None of a small one, and where a guest has told what cannot be kept so,
    such as a number without end.
    """
    if not run.large:
        return None
    digest = Digest(_stamp(run), tuple(side_rows.rows(run.measured, run.timed)))
    try:
        return msgspec.msgpack.encode(digest)
    except (TypeError, OverflowError, RecursionError, UnicodeEncodeError):
        return None


def _kept(run: Path) -> Digest | None:
    try:
        with open_regular(run / NAME) as file:
            return msgspec.msgpack.decode(file.read(), type=Digest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _stamp(record: RunRecord) -> str:
    """What the rows were made from and by, in short."""
    found = hashlib.sha256(_program() + _about(record.folder, {"run.json"}))
    for cell in record.cells:
        found.update(_about(cell_folder(record.folder, cell).path, _RAW))
    return found.hexdigest()


def _about(folder: Path, names: Collection[str]) -> bytes:
    """Sizes and times of those of these files that are there."""
    try:
        with os.scandir(folder) as entries:
            known = [(entry.name, entry.stat()) for entry in entries if entry.name in names]
    except OSError:  # a cell that never ran
        known = []
    return repr(sorted((name, about.st_size, about.st_mtime_ns) for name, about in known)).encode()


@cache
def _program() -> bytes:
    """A hash of this kbench and of what it computes with."""
    found = hashlib.sha256(" ".join(map(version, _COMPUTING)).encode())
    for path in sorted(paths.PACKAGE.rglob("*.py")):
        found.update(path.read_bytes())
    return found.digest()
