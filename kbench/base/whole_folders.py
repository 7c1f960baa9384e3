"""Fills a folder completely or not at all, whatever interrupts it.

Two processes must not fill the same folder at once: the caller holds a lock, or has a name that nobody else has.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """An empty folder to fill, which becomes `folder` when the block has ended well. Raises OSError.

    What was in `folder`, such as a damaged one, is removed first. `mode` is that of the folder to fill.
    """
    remove(folder)
    with scratch(_unfinished(folder), mode) as filling:
        yield filling
        filling.replace(folder)


@contextlib.contextmanager
def whole_in_place(folder: Path) -> Iterator[Path]:
    """The same for what cannot be moved, such as a virtual environment: `folder` itself. Raises OSError.

    A process may be killed meanwhile: readers look for a file that is written last.
    """
    remove(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            remove(folder)
        raise


@contextlib.contextmanager
def scratch(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """`folder`, empty at first, and removed at the end unless it was renamed. Raises OSError."""
    _delete(folder)  # left by a process that was killed
    folder.mkdir(mode, parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove(folder: Path) -> None:
    """Remove `folder`, if there is one: it is renamed first, or half of it could pass for all. Raises OSError."""
    going = _unfinished(folder)
    _delete(going)
    with contextlib.suppress(FileNotFoundError):
        folder.rename(going)
    _delete(going)


def _unfinished(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.unfinished")


def _delete(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)
