"""Copies a script's folder for each cell, so that backends do not overwrite each other's files."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kbench import store
from kbench.cells.spec import Here
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.store import CellFolder

LEFT_OUT = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints")
MOST_BYTES = 2 * 2**30  # of a folder that is copied for each cell


@dataclass(frozen=True)
class Work:
    """The file and working directory of a script's process."""

    file: Path
    folder: Path  # its working directory


@contextlib.contextmanager
def work(task: CellTask, here: Here, files: CellFolder) -> Iterator[Work]:
    """The script's file and working directory; removes the copy of its folder afterwards, unless it is to be kept."""
    original = here.examples[task.example]
    root = original.parent
    below = os.path.relpath(here.started_in, root)
    inside = "" if below.startswith(os.pardir) else below
    assert task.script is not None
    if task.script["workdir"] == "same":
        yield Work(original, root / inside)
        return
    copy = files.path / "files"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        root, copy, symlinks=True, ignore=_ignored(store.results_of(here.run)), ignore_dangling_symlinks=True
    )
    folder = copy / inside
    try:
        yield Work(copy / original.name, folder if folder.is_dir() else copy)
    finally:
        if not task.script["keep_files"]:
            shutil.rmtree(copy, ignore_errors=True)


def check(script: Path, results: Path) -> None:
    """Raises UserError if a script's folder is too large to be copied for each cell."""
    total = 0
    ignored = _ignored(results)
    for folder, folders, files in os.walk(script.parent):
        skipped = ignored(folder, [*folders, *files])
        folders[:] = [name for name in folders if name not in skipped]
        for name in files:
            with contextlib.suppress(OSError):
                total += 0 if name in skipped else Path(folder, name).lstat().st_size
        if total > MOST_BYTES:
            raise UserError(
                f"{script.parent} holds more than {MOST_BYTES / 2**30:.0f} GiB, which would be copied for each cell: "
                "run the script there with --workdir same, or give it a folder of its own."
            )


def _ignored(results: Path) -> Callable[[str | os.PathLike[str], list[str]], set[str]]:
    """A filter of what is not copied: results, environments, version control."""
    kept_out = results.resolve()

    def ignored(folder: str | os.PathLike[str], names: list[str]) -> set[str]:
        found = {name for name in names if name in LEFT_OUT}
        return found | {name for name in names if Path(folder, name).resolve() == kept_out}

    return ignored
