"""Finds the files of a run's examples after its project, or kbench, has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kbench.base import paths
from kbench.errors import UserError
from kbench.records.values import Example
from kbench.selection import examples


def found(path: str, sha256: str, run: Path, load: Callable[[Path], Example]) -> str:
    """The file that is now what `path` was: the same path, or a file with the same content that lies to the run's
    folder as it did, or kbench's own example of that name; `path` itself if there is none. The home folder is `~`.
    """
    given = paths.with_home(path)
    if given.exists():
        return path
    own = [one for one in examples.files() if one.parts[-2:] == given.parts[-2:]]
    same = (one for one in (*own, *_near(given, run)) if one.is_file() and _sha256(one, load) == sha256)
    return next((paths.portable(one) for one in (*same, *own)), path)


def _near(given: Path, run: Path) -> Iterator[Path]:
    """Where it may be if its project has another folder or name: below those that hold the run."""
    for folder in run.parents:
        for first in range(1, len(given.parts)):
            yield folder.joinpath(*given.parts[first:])


def _sha256(path: Path, load: Callable[[Path], Example]) -> str:
    try:
        return load(path).sha256
    except UserError:
        return ""
