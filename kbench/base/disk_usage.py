"""How much files take on the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path


def size(paths: Iterable[Path], without: Collection[Path] = ()) -> tuple[int, int]:
    """(bytes on the disk, bytes of these that are shared with other folders, such as uv's cache, by hard links).

    `without`: folders below the paths that do not count.
    """
    files = {(about.st_dev, about.st_ino): about for path in paths for about in _files(path, without)}
    shared = sum(about.st_blocks for about in files.values() if about.st_nlink > 1)
    return 512 * sum(about.st_blocks for about in files.values()), 512 * shared


def _files(path: Path, without: Collection[Path]) -> Iterator[os.stat_result]:
    for file in _walked(path, without) if path.is_dir() else (path,):
        with contextlib.suppress(OSError):  # removed meanwhile, or not readable
            yield file.lstat()


def _walked(path: Path, without: Collection[Path]) -> Iterator[Path]:
    for place, folders, names in os.walk(path):
        folders[:] = [one for one in folders if Path(place, one) not in without]
        yield from (Path(place, name) for name in names)
