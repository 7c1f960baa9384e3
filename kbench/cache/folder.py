"""kbench's cache folder: its marker, the lock of whoever uses it, what lies in it, and how a kind of it is removed.

Only known names are looked at, in a folder that carries kbench's marker, and no link is followed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from kbench.datasets.registry import REGISTRY
from kbench.environments.folders import MARKER
from kbench.errors import UserError

TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/: backups leave it out
OWNER = "# kbench's cache folder: environments, data and compiled code. `clean` frees them."
LOCK = "in-use.lock"  # shared by each kbench that needs what is there, exclusive while something is removed
OWN_MARKER = "kbench-lock.sha256"  # of bootstrap.host_environment

_KEY = "[0-9a-f]"
# What can be downloaded again; another file was brought by the user and stays.
_DOWNLOADS = (file for one in REGISTRY.values() for files in one.variants for file in files if file.addresses)
MADE = {
    "environments": (
        f"environments/*-py3.*-{_KEY * 12}",
        "environments/*.lock",
        "environments/logs/*.log",
        "locks/*.lock",
        "locks/.making-*",
    ),
    "data": (
        *(f"data/prepared/*-{_KEY * 16}", "data/prepared/.*", "data/files/.*"),
        *(f"data/files/{file.name}" for file in _DOWNLOADS),
    ),
    "compiled": (f"compiled/*-py3.*-{_KEY * 12}", f"compiled/own-{_KEY * 12}"),
    "interpreters": ("interpreters/uv*", "interpreters/py3.*", "interpreters/rattler-*", "interpreters/packages"),
    "kbench": (f"host/{_KEY * 16}", f"test/{_KEY * 16}"),
}


@dataclass
class Removed:
    """What came of removing."""

    paths: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)  # a process runs in it
    failed: dict[Path, str] = field(default_factory=dict)  # why
    freed: int = 0  # bytes
    shared: int = 0  # bytes that uv's own cache has as well: they stay on the disk


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
def in_use(cache: Path) -> Iterator[None]:
    """While this lasts, `clean` removes nothing. It ends with the process, however that ends."""
    with contextlib.ExitStack() as held:
        # A cache that cannot be written may still have all that is needed, and nobody can clean it either.
        with contextlib.suppress(OSError):
            mark(cache)
            fcntl.flock(held.enter_context((cache / LOCK).open("a")), fcntl.LOCK_SH)
        yield


def made(cache: Path, kind: str) -> list[Path]:
    """What kbench made of one kind of MADE, without links and what lies behind them."""
    found = [path for pattern in MADE[kind] for path in sorted(cache.glob(pattern))]
    return [path for path in found if not any(one.is_symlink() for one in _below(cache, path))]


def remove(cache: Path, kinds: Sequence[str]) -> Removed:
    """Remove all that kbench made of these kinds.

    Raises UserError if the folder is not kbench's, or a kbench is using it.
    """
    removed = Removed()
    if not cache.exists():
        return removed
    if not is_marked(cache):
        raise UserError(f"{cache} does not carry kbench's marker ({TAG}), so nothing in it is touched.")
    with (cache / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"another kbench is using {cache}: wait until it has ended.") from None
        running = _running()
        for path in (path for kind in kinds for path in made(cache, kind)):
            if any(word.startswith(f"{path}/") for word in running):
                removed.kept.append(path)
                continue
            there, shared = size([path])
            try:
                _delete(path)
            except OSError as error:
                removed.failed[path] = error.strerror or str(error)
            else:
                removed.paths.append(path)
                removed.freed += there - shared
                removed.shared += shared
    return removed


def size(paths: Iterable[Path]) -> tuple[int, int]:
    """(bytes on the disk, of these the bytes of files that have another name: in uv's own cache)."""
    files = {(about.st_dev, about.st_ino): about for path in paths for about in _files(path)}
    shared = sum(about.st_blocks for about in files.values() if about.st_nlink > 1)
    return 512 * sum(about.st_blocks for about in files.values()), 512 * shared


def _files(path: Path) -> Iterator[os.stat_result]:
    names = (
        [path] if not path.is_dir() else (Path(place, name) for place, _, names in os.walk(path) for name in names)
    )
    for name in names:
        with contextlib.suppress(OSError):  # gone meanwhile, or not ours to read
            yield name.lstat()


def _delete(path: Path) -> None:
    for marker in (MARKER, OWN_MARKER, "complete"):  # first: what is half removed must not count as made
        if (path / marker).is_file():
            (path / marker).unlink()
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _below(cache: Path, path: Path) -> list[Path]:
    """The path and the folders above it, up to the cache folder."""
    return [one for one in (path, *path.parents) if one != cache and one.is_relative_to(cache)]


def _running() -> list[str]:
    """The programs and arguments of all processes that may be looked at."""
    processes = psutil.process_iter(["cmdline", "exe"])
    return [word for one in processes for word in (*(one.info["cmdline"] or ()), one.info["exe"] or "")]
