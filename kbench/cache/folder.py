"""Marks, locks, lists and frees kbench's cache folder.

Touches only known names, in a folder with kbench's marker, and follows no links.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from kbench.base import trusted
from kbench.base.disk_usage import size
from kbench.datasets.registry import REGISTRY
from kbench.environments.folders import MARKER
from kbench.errors import UserError
from kbench.store import packed

TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/: backups leave it out
OWNER = "# kbench's cache folder: environments, data and compiled code. `clean` frees them."
LOCK = "in-use.lock"  # shared by each running kbench, exclusive while something is removed
OWN_MARKER = "kbench-lock.sha256"  # of bootstrap.host_environment

_KEY = "[0-9a-f]"
# Files that can be downloaded again; others were put there by the user and stay.
_DOWNLOADS = (file for one in REGISTRY.values() for files in one.variants for file in files if file.addresses)
MADE = {
    "environments": (
        f"environments/*-py3.*-{_KEY * 12}",
        "environments/.*",
        "environments/*.lock",
        "environments/logs/*.log",
        "locks/*.lock",
        "locks/*.sha256",
        "locks/.making-*",
    ),
    "data": (
        *(f"data/prepared/*-{_KEY * 16}", "data/prepared/.*", "data/files/.*"),
        *(f"data/files/{file.name}" for file in _DOWNLOADS),
        *(f"{packed.CACHE}/{_KEY * 64}", f"{packed.CACHE}/.*"),
    ),
    "compiled": (f"compiled/*-py3.*-{_KEY * 12}", f"compiled/own-{_KEY * 12}"),
    "interpreters": (
        "interpreters/uv*",
        "interpreters/py3.*",
        "interpreters/rattler-*",
        "interpreters/packages",
        "interpreters/.*",
    ),
    "kbench": (f"host/{_KEY * 16}", f"test/{_KEY * 16}", "host/.*", "test/.*"),
}


@dataclass
class Removed:
    """The result of `remove`."""

    paths: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)  # a process runs in it
    failed: dict[Path, str] = field(default_factory=dict)  # why
    freed: int = 0  # bytes
    shared: int = 0  # bytes that uv's own cache shares: they stay on the disk


def mark(cache: Path) -> None:
    """Mark the folder as kbench's; `clean` touches no other. Raises OSError."""
    if not is_marked(cache):
        cache.mkdir(trusted.OWN, parents=True, exist_ok=True)
        (cache / TAG).write_text(f"{SIGNATURE}\n{OWNER}\n", encoding="ascii")


def is_marked(cache: Path) -> bool:
    """Whether kbench made this folder its cache."""
    try:
        return (cache / TAG).read_bytes().splitlines()[:2] == [SIGNATURE.encode(), OWNER.encode()]
    except OSError:
        return False


@contextlib.contextmanager
def in_use(cache: Path) -> Iterator[None]:
    """Keep `clean` from removing anything; a killed process no longer holds this lock.

    Raises UserError where the folder is a file.
    """
    if cache.is_file():
        raise UserError(f"The cache folder {cache} is a file: name a folder with KBENCH_CACHE, or remove it.")
    with contextlib.ExitStack() as held:
        # A read-only cache may still have everything that is needed, and cannot be cleaned.
        with contextlib.suppress(OSError):
            mark(cache)
            fcntl.flock(held.enter_context((cache / LOCK).open("a")), fcntl.LOCK_SH)
        yield


def made(cache: Path, kind: str) -> list[Path]:
    """The paths of one kind of MADE, without links and what is below one."""
    found = [path for pattern in MADE[kind] for path in sorted(cache.glob(pattern))]
    links = {one for path in found for one in (path, *path.parents) if cache in one.parents and one.is_symlink()}
    return [path for path in found if links.isdisjoint((path, *path.parents))]


def remove(cache: Path, kinds: Sequence[str]) -> Removed:
    """Remove everything of these kinds.

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
        # The programs and arguments of all processes that may be looked at.
        processes = psutil.process_iter(["cmdline", "exe"])
        running = [word for one in processes for word in (*(one.info["cmdline"] or ()), one.info["exe"] or "")]
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


def _delete(path: Path) -> None:
    for marker in (MARKER, OWN_MARKER, "complete"):  # first: a half-removed environment must not count as complete
        if (path / marker).is_file():
            (path / marker).unlink()
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
