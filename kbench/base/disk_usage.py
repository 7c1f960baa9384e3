"""How much files take on the disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def size(paths: Iterable[Path]) -> tuple[int, int]:
    """(bytes on the disk, bytes of these that are shared with other folders, such as uv's cache, by hard links)."""
    files = {(about.st_dev, about.st_ino): about for path in paths for about in _files(path)}
    shared = sum(about.st_blocks for about in files.values() if about.st_nlink > 1)
    return 512 * sum(about.st_blocks for about in files.values()), 512 * shared


def _files(path: Path) -> Iterator[os.stat_result]:
    walked = (Path(place, name) for place, _, names in os.walk(path) for name in names)
    for file in walked if path.is_dir() else (path,):
        with contextlib.suppress(OSError):  # removed meanwhile, or not readable
            yield file.lstat()
