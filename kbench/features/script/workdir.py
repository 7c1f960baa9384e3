"""Copies a script's folder for each cell, so that backends do not overwrite each other's files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kbench import store
from kbench.base import paths
from kbench.cells.spec import RunPaths
from kbench.errors import UserError
from kbench.features.script import reading
from kbench.planning.tasks import CellTask
from kbench.store import CellFolder

LEFT_OUT = (".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints")
MOST_BYTES, MOST_FILES = 2 * 2**30, 100_000  # of a folder that is copied for each cell


@dataclass(frozen=True)
class Place:
    """Where a cell's program runs."""

    file: Path
    root: Path  # of the program's own files
    folder: Path  # its working directory


def places(task: CellTask, run_paths: RunPaths) -> tuple[Path, str]:
    """The folder of the program's files, and its working directory within that."""
    assert task.script is not None
    root = reading.root(run_paths.examples[task.example], task.script["module"])
    below = os.path.relpath(run_paths.started_in, root)
    return root, "" if below.startswith(os.pardir) else below


@contextlib.contextmanager
def work(task: CellTask, run_paths: RunPaths, files: CellFolder) -> Iterator[Place]:
    """The script's file and working directory; removes the copy of its folder afterwards, unless it is to be kept."""
    original = run_paths.examples[task.example]
    assert task.script is not None
    root, inside = places(task, run_paths)
    if task.script["workdir"] == "same":
        yield Place(original, root, root / inside)
        return
    copy = files.path / "files"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = _ignored(store.results_of(run_paths.run))
    shutil.copytree(root, copy, symlinks=True, ignore=ignored)
    _mend_links(root, copy)
    folder = copy / inside
    try:
        yield Place(copy / original.relative_to(root), copy, folder if folder.is_dir() else copy)
    finally:
        if not task.script["keep_files"]:
            shutil.rmtree(copy, ignore_errors=True)


def where(task: CellTask, run_paths: RunPaths) -> str:
    """Where the program runs, to end a sentence about a file that it did not find."""
    assert task.script is not None
    root, inside = places(task, run_paths)
    folder = paths.portable(root / inside)
    if task.script["workdir"] == "same":
        return f"; it runs in {folder}"
    return f"; it runs in a copy of {folder}: put the file there, or give its whole path"


def check(root: Path, results: Path) -> None:
    """Raises UserError if the folder of a script's files is too large to be copied for each cell."""
    total = count = 0
    ignored = _ignored(results)
    for folder, folders, files in os.walk(root):
        skipped = ignored(folder, [*folders, *files])
        folders[:] = [name for name in folders if name not in skipped]
        for name in files:
            with contextlib.suppress(OSError):
                total += 0 if name in skipped else Path(folder, name).lstat().st_size
        count += len(files)
        if total > MOST_BYTES or count > MOST_FILES:
            much = f"{MOST_BYTES / 2**30:.0f} GiB" if total > MOST_BYTES else f"{MOST_FILES:,} files"
            raise UserError(
                f"{root} holds more than {much}, which would be copied for each cell: "
                "run the script there with --workdir same, or give it a folder of its own."
            )


def _ignored(results: Path) -> Callable[[str | os.PathLike[str], list[str]], set[str]]:
    """A filter of what is not copied: results, environments, version control, pipes, sockets and devices."""
    kept_out = os.path.realpath(results)

    def ignored(folder: str | os.PathLike[str], names: list[str]) -> set[str]:
        found = {name for name in names if name in LEFT_OUT}
        found |= {name for name in names if os.path.realpath(Path(folder, name)) == kept_out}  # there may be loops
        return found | {name for name in names if not _is_copied(Path(folder, name))}

    return ignored


def _is_copied(path: Path) -> bool:
    """Whether it is a file, a folder or a link; what has just gone is not."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _mend_links(root: Path, copy: Path) -> None:
    """Let links in the `copy` lead to what they do in `root`: to its copy, if it was copied. Raises OSError."""
    root, copy = root.resolve(), copy.resolve()
    for folder, folders, files in os.walk(copy):
        for link in (Path(folder, name) for name in (*folders, *files)):
            original = root / link.relative_to(copy)
            if not link.is_symlink() or not original.exists():  # a link to nothing stays one
                continue
            target = original.resolve()
            own = copy / target.relative_to(root) if target.is_relative_to(root) else target
            if link.resolve() != own:
                link.unlink()
                link.symlink_to(own if own.exists() else target)
