"""The name of an environment's folder, and whether the environment is complete."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.records.values import Backend, Build, base

SCHEMA = 1
MARKER = "kbench.json"  # written last: an environment without it is half-made and is made again

CACHED = "__pycache__"  # may come and go
ADDED = "with"  # the folder in it of packages that programs have added


class Recorded(msgspec.Struct, frozen=True):
    """What it took to make an environment."""

    seconds: float  # downloads included, without its Python
    mib: float
    packages: int


class Marker(msgspec.Struct, frozen=True):
    """What the marker of an environment says."""

    schema: int
    folder: str
    lock_sha256: str
    interpreter: str
    library_folder: str
    installed: dict[str, int]
    cost: Recorded


def path_of(backend: Backend, build: Build, version: str, explicit: Choice | None, cache: Path) -> Path:
    """The folder is named after everything that decides its contents, such as the lock file."""
    digest = hashlib.sha256(f"{SCHEMA} {lock_text(build)}".encode())
    digest.update(repr(sorted(backend.libraries.items())).encode())
    for name, source in sorted(backend.compiled.items()):
        digest.update(name.encode() + source.read_bytes())
    if explicit is not None:
        digest.update(os.fsencode(explicit.path))
    # Variants that differ only in settings share it.
    name = f"{base(backend.name).replace('/', '-')}-{build.name}-py{version}-{digest.hexdigest()[:12]}"
    return cache / "environments" / name


def lock_text(build: Build) -> str:
    """The text of the build's lock files. Raises UserError if one is no text."""
    texts = []
    for lock in build.locks:
        try:
            texts.append(lock.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise UserError(
                f"the lock file {lock} is damaged: it is not text; put the original in its place"
            ) from None
    return "".join(texts)


def lock_sha256(build: Build) -> str:
    """Of the build's lock files."""
    return hashlib.sha256(b"".join(lock.read_bytes() for lock in build.locks)).hexdigest()


def python(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / "bin" / "python"


def finished(folder: Path) -> Marker | None:
    """The marker, if the environment was finished in this place and still has its Python and packages."""
    try:
        marker = msgspec.json.decode((folder / MARKER).read_bytes(), type=Marker)
        now = installed(folder)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    # Perhaps by another path: the programs of a copy would start the first one.
    is_here = marker.schema == SCHEMA and os.path.realpath(marker.folder) == os.path.realpath(folder)
    starts = python(folder).is_file() and os.path.realpath(python(folder)) == os.path.realpath(marker.interpreter)
    has_all = all(now.get(name, -1) >= count for name, count in marker.installed.items())
    return marker if is_here and starts and has_all else None


def installed(folder: Path) -> dict[str, int]:
    """What the environment's packages are: each module, or folder with the number of things in it."""
    modules = (one for one in folder.glob("lib/python*/site-packages/*") if one.name != CACHED)
    return {
        one.name: sum(below.name != CACHED for below in one.iterdir()) if one.is_dir() else 0
        for one in modules
        if one.suffix != ".dist-info"
    }
