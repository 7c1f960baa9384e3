"""kbench's cache folder: its marker, which running kbench needs what of it, and how large things in it are."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import filelock

TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/: backups leave it out
OWNER = "# kbench's cache folder: environments, data and compiled code. `clean` frees them."
USES = "in-use"  # a file for each kbench that runs, locked as long as it does
TURNS = "clean.lock"  # held for milliseconds, by whoever takes into use or throws away


@dataclass(frozen=True)
class Size:
    """What files take on the disk, in bytes."""

    there: int
    freed: int  # of these, what removing them would free: the rest is shared with uv's own cache


def mark(cache: Path) -> None:
    """Make the folder known as kbench's; `clean` touches no other. Raises OSError."""
    if not is_marked(cache):
        cache.mkdir(parents=True, exist_ok=True)
        (cache / TAG).write_text(f"{SIGNATURE}\n{OWNER}\n", encoding="ascii")


def is_marked(cache: Path) -> bool:
    """Whether kbench made this folder its cache."""
    try:
        return (cache / TAG).read_bytes().splitlines()[:2] == [SIGNATURE.encode(), OWNER.encode()]
    except OSError:
        return False


@contextlib.contextmanager
def in_use(cache: Path, names: Sequence[str]) -> Iterator[None]:
    """As long as this lasts, no `clean` removes what begins with one of `names`, relative to the cache folder."""
    with contextlib.ExitStack() as held:
        # A cache that cannot be written may still have all that is needed, and nobody can clean it either.
        with contextlib.suppress(OSError):
            mark(cache)
            note = cache / USES / f"{os.getpid()}-{secrets.token_hex(4)}.json"
            with turn(cache):
                (cache / USES).mkdir(exist_ok=True)
                users(cache)  # removes what a killed one left
                lock = filelock.FileLock(note.with_suffix(".lock"))
                lock.acquire(timeout=0)
                held.callback(_forget, lock, note)
                note.write_text(json.dumps({"pid": os.getpid(), "names": list(names)}), encoding="utf-8")
        yield


def turn(cache: Path) -> filelock.BaseFileLock:
    """The lock under which things are taken into use or thrown away; to be entered."""
    return filelock.FileLock(cache / TURNS)


def users(cache: Path) -> list[tuple[int, tuple[str, ...]]]:
    """(process, names) of each kbench that runs; to be called in one's turn. What a killed one left is removed."""
    found = []
    for note in sorted((cache / USES).glob("*.json")):
        lock = filelock.FileLock(note.with_suffix(".lock"))
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            found.append(_read(note))
        else:
            _forget(lock, note)
    return found


def size(paths: Iterable[Path]) -> Size:
    """Of files and of folders with all that is in them, links not followed, a file with two names counted once."""
    there = freed = 0
    seen: dict[tuple[int, int], int] = {}
    for path in paths:
        for entry in _files(path):
            key = (entry.st_dev, entry.st_ino)
            seen[key] = seen.get(key, 0) + 1
            blocks = getattr(entry, "st_blocks", -(-entry.st_size // 512)) * 512
            there += blocks if seen[key] == 1 else 0
            freed += blocks if seen[key] == entry.st_nlink else 0
    return Size(there, freed)


def _files(path: Path) -> Iterator[os.stat_result]:
    pending = [str(path)]
    while pending:
        here = pending.pop()
        try:
            about = os.lstat(here)
            if not os.path.islink(here) and os.path.isdir(here):  # noqa: PTH112, PTH114  # many files: strings are faster
                pending += [entry.path for entry in os.scandir(here)]
            else:
                yield about
        except OSError:  # gone meanwhile, or not ours to read
            continue


def _read(note: Path) -> tuple[int, tuple[str, ...]]:
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        return int(told["pid"]), tuple(map(str, told["names"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ("",)  # whoever it is, it needs everything


def _forget(lock: filelock.BaseFileLock, note: Path) -> None:
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        # While it is still locked: nobody opens it again under a name that is never used twice.
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
