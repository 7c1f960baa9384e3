"""What lies in the cache folder, what of it no run takes any more, and how to free it without harm.

Known names alone are looked at, in a folder that carries kbench's marker; no link is ever followed; and what a
running kbench needs is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import filelock
import psutil

from kbench.cache import usage as cache_folder
from kbench.cache.usage import Size
from kbench.datasets import prepared, registry
from kbench.environments import folders
from kbench.errors import UserError
from kbench.values import Backend

ENVIRONMENTS, DATA, COMPILED, PYTHONS, OWN = "environments", "data", "compiled", "interpreters", "kbench"
KINDS = (ENVIRONMENTS, DATA, COMPILED, PYTHONS, OWN)
OWN_MARKER = "kbench-lock.sha256"  # of bootstrap.host_environment, which imports nothing and is not imported here

TRASH = re.compile(r"\.trash-[0-9a-f]{16}")
UNFINISHED = re.compile(r"\.(.+)\.(?:unfinished|partial)-\w+")
PREPARED = re.compile(r"[\w.-]+-[0-9a-f]{16}")
COMPILED_NAME = re.compile(rf"{folders.NAME.pattern}|own-[0-9a-f]{{12}}")


@dataclass(frozen=True)
class Item:
    """A file or folder that kbench made in its cache."""

    kind: str  # of KINDS
    path: Path
    unused: str = ""  # why no run takes it any more; empty where one would
    lock: Path | None = None  # held by whoever makes it


@dataclass(frozen=True)
class Cleaned:
    """What came of cleaning."""

    removed: tuple[Item, ...]
    kept: Mapping[Item, str]  # why
    failed: Mapping[Item, str]  # why
    size: Size  # of what was removed


def survey(cache: Path, backends: Iterable[Backend]) -> list[Item]:
    """All that kbench made in the folder `cache`. Raises UserError where that is not its cache folder."""
    if cache.exists() and not cache_folder.is_marked(cache):
        raise UserError(
            f"{cache} does not carry kbench's marker ({cache_folder.TAG}), so nothing in it is touched: `setup` or "
            "`run` puts the marker there"
        )
    return there(cache, backends)


def there(cache: Path, backends: Iterable[Backend]) -> list[Item]:
    """The same for a folder that need not carry the marker: to look at alone."""
    known = list(backends)
    made = list(_environments(cache, known))
    whole = {item.path.name for item in made if not item.unused}
    return [*made, *_data(cache), *_compiled(cache, whole), *_interpreters(cache), *_own(cache)]


def chosen(items: Iterable[Item], what: str) -> list[Item]:
    """The items that `clean WHAT` is about: of one kind, of all, or, where `what` is empty, the unused ones."""
    return [item for item in items if what in (item.kind, "all") or (not what and item.unused)]


def remove(cache: Path, items: Sequence[Item], *, dry_run: bool = False) -> Cleaned:
    """Remove the items, or with `dry_run` find out what that would do."""
    removed: list[Item] = []
    kept: dict[Item, str] = {}
    failed: dict[Item, str] = {}
    trash: list[Path] = []
    with _turn(cache):
        users, commands = cache_folder.users(cache), _commands()
        for item in items:
            needed = _needed(cache, item, users, commands) or _stood_on(cache, item, removed)
            if needed:
                kept[item] = needed
                continue
            try:
                with _quiet(item, dry_run):
                    # Gone in one step, before minutes of deleting: nobody finds half of it.
                    trash += [item.path] if dry_run else [_thrown_away(item.path)]
                    if item.lock is not None and not dry_run:
                        item.lock.unlink(missing_ok=True)  # while it is held: who takes it later makes it anew
                removed.append(item)
            except filelock.Timeout:
                kept[item] = "it is being made"
            except OSError as error:
                failed[item] = error.strerror or str(error)
    size = cache_folder.size(trash)
    if not dry_run:
        for path in trash:
            _delete(path)
        with _turn(cache):
            if not cache_folder.users(cache):
                _sweep(cache)
    return Cleaned(tuple(removed), kept, failed, size)


def _environments(cache: Path, backends: Sequence[Backend]) -> Iterator[Item]:
    for path in _entries(cache / "environments"):
        lock = path.with_name(f"{path.name}.lock")
        if TRASH.fullmatch(path.name):
            yield Item(ENVIRONMENTS, path, "it is left over")
        elif path.is_dir() and folders.NAME.fullmatch(path.name):
            state, why = folders.state(path)
            if state == folders.MADE and not folders.still_taken(path, backends, cache):
                why = "its backend's files have changed"
            yield Item(ENVIRONMENTS, path, why, lock)


def _data(cache: Path) -> Iterator[Item]:
    folder = cache / "data"
    for path in _entries(folder / "prepared"):
        lock = path.with_name(f".{path.name}.lock")
        leftover = UNFINISHED.fullmatch(path.name)
        if TRASH.fullmatch(path.name):
            yield Item(DATA, path, "it is left over")
        elif leftover:
            yield Item(DATA, path, "it was not made to its end", path.with_name(f".{leftover[1]}.lock"))
        elif path.is_dir() and PREPARED.fullmatch(path.name) and (path / prepared.META).is_file():
            yield Item(DATA, path, "" if _current(path) else "an earlier kbench made it", lock)
    for path in _entries(folder / "files"):
        leftover = UNFINISHED.fullmatch(path.name)
        if TRASH.fullmatch(path.name):
            yield Item(DATA, path, "it is left over")
        elif leftover:
            yield Item(DATA, path, "its download did not end", path.with_name(f".{leftover[1]}.lock"))
        elif path.name in _downloads() and path.is_file():
            yield Item(DATA, path, "", path.with_name(f".{path.name}.lock"))


def _compiled(cache: Path, environments: set[str]) -> Iterator[Item]:
    for path in _entries(cache / "compiled"):
        if TRASH.fullmatch(path.name):
            yield Item(COMPILED, path, "it is left over")
        elif path.is_dir() and COMPILED_NAME.fullmatch(path.name):
            there = path.name.startswith("own-") or path.name in environments
            yield Item(COMPILED, path, "" if there else "its environment is gone")


def _interpreters(cache: Path) -> Iterator[Item]:
    for path in _entries(cache / "interpreters"):
        if TRASH.fullmatch(path.name):
            yield Item(PYTHONS, path, "it is left over")
        elif path.is_dir() and re.fullmatch(r"uv|py3\.\d+", path.name):
            yield Item(PYTHONS, path, "", path.with_name(f"{path.name}.lock"))


def _own(cache: Path) -> Iterator[Item]:
    for folder in (cache / "host", cache / "test"):
        for path in _entries(folder):
            if TRASH.fullmatch(path.name):
                yield Item(OWN, path, "it is left over")
            elif path.is_dir() and re.fullmatch(r"[0-9a-f]{16}", path.name) and (path / OWN_MARKER).is_file():
                yield Item(OWN, path, lock=path.with_suffix(".lock"))


def _entries(folder: Path) -> list[Path]:
    """What is in the folder, without links; nothing where the folder is one itself."""
    try:
        return [] if folder.is_symlink() else sorted(path for path in folder.iterdir() if not path.is_symlink())
    except OSError:
        return []


def _current(path: Path) -> bool:
    try:
        meta = json.loads((path / prepared.META).read_bytes())
        return bool(meta["schema"] == prepared.SCHEMA and meta["version"] == prepared.VERSION)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _downloads() -> set[str]:
    """Files that can be had again; what has no address was brought by the user."""
    variants = [files for dataset in registry.REGISTRY.values() for files in dataset.variants]
    return {file.name for files in variants for file in files if file.addresses}


def _sweep(cache: Path) -> None:
    """Remove locks, logs and empty folders of what is gone; to be called in one's turn, where no kbench runs."""
    environments, data = cache / "environments", cache / "data"
    hidden = [path for name in ("prepared", "files") for path in _entries(data / name) if path.name.startswith(".")]
    locks = {path: path.with_suffix("") for path in [*_entries(environments), *_entries(cache / "interpreters")]}
    locks |= {path: path.with_name(path.name[1:]).with_suffix("") for path in hidden}
    for lock, of in locks.items():
        if lock.suffix == ".lock" and lock.is_file() and not os.path.lexists(of):
            with contextlib.suppress(OSError), filelock.FileLock(lock).acquire(timeout=0):
                lock.unlink(missing_ok=True)
    for log in _entries(environments / "logs"):
        if re.fullmatch(rf"(?:{COMPILED_NAME.pattern})\.log", log.name) and not (environments / log.stem).exists():
            with contextlib.suppress(OSError):
                log.unlink()
    kinds = ("environments/logs", "environments", "data/prepared", "data/files", "data", "compiled", "interpreters")
    for name in (*kinds, cache_folder.USES):
        with contextlib.suppress(OSError):  # there is something in it
            (cache / name).rmdir()


def _turn(cache: Path) -> contextlib.AbstractContextManager[object]:
    return cache_folder.turn(cache) if cache.is_dir() else contextlib.nullcontext()


def _needed(
    cache: Path, item: Item, users: Sequence[tuple[int, tuple[str, ...]]], commands: Mapping[int, Sequence[str]]
) -> str:
    """Who needs it at the moment; empty where nobody does."""
    name = item.path.relative_to(cache).as_posix()
    for process, names in users:
        # Its own Pythons are none of kbench's environments for backends, but those stand on them.
        if item.kind == PYTHONS or name.startswith(names):
            return f"in use by the kbench that runs as process {process}"
    inside = f"{item.path}/"
    for process, words in commands.items():
        if any(word.startswith(inside) for word in words):
            return f"in use by process {process}"
    return ""


def _stood_on(cache: Path, item: Item, removed: Sequence[Item]) -> str:
    """Why a Python has to stay; empty for all else."""
    if item.kind != PYTHONS:
        return ""
    others = set(_entries(cache / "environments")) - {one.path for one in removed}
    made = [one for one in others if one.is_dir() and folders.finished(one) is not None]
    pythons = [folders.python(one).resolve() for one in made]
    stands = any(python.is_relative_to(item.path.resolve()) for python in pythons)
    return "environments are made from it: `clean environments` frees those" if stands else ""


def _commands() -> dict[int, Sequence[str]]:
    """Process -> its command line, of all that may be looked at."""
    return {process.pid: process.info["cmdline"] or () for process in psutil.process_iter(["cmdline"])}


def _quiet(item: Item, dry_run: bool) -> contextlib.AbstractContextManager[object]:
    """Held while nobody makes the item. Raises filelock.Timeout where somebody does."""
    if item.lock is None or (dry_run and not item.lock.exists()):
        return contextlib.nullcontext()
    return filelock.FileLock(item.lock).acquire(timeout=0)


def _thrown_away(path: Path) -> Path:
    if TRASH.fullmatch(path.name):
        return path
    return path.rename(path.with_name(f".trash-{secrets.token_hex(8)}"))


def _delete(path: Path) -> None:
    """What cannot be deleted stays under a name that the next `clean` knows."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
