"""What an environment's folder is called, when it is whole, and whether a run would still take it."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.values import Backend, Build

SCHEMA = 1
MARKER = "kbench.json"  # written last: an environment without it is half-made and is made again
NAME = re.compile(r"[\w.-]+-py3\.\d+-[0-9a-f]{12}")

MADE, NOT_MADE, BROKEN = "made", "not made", "broken"


def named(backend: Backend, build: Build, version: str, explicit: Choice | None, cache: Path) -> Path:
    """Named by all that its contents come from, so that a changed lock file or shim gives another one."""
    assert build.lock is not None
    digest = hashlib.sha256(f"{SCHEMA} {lock_text(build.lock)}".encode())
    digest.update(repr(sorted(backend.libraries.items())).encode())
    for name, source in sorted(backend.compiled.items()):
        digest.update(name.encode() + source.read_bytes())
    if explicit is not None:
        digest.update(str(explicit.path).encode())
    return cache / "environments" / f"{prefix(backend, build)}py{version}-{digest.hexdigest()[:12]}"


def prefix(backend: Backend, build: Build) -> str:
    """How the folders of this build begin, whatever it is made from."""
    return f"{backend.name.replace('/', '-')}-{build.name}-"


def lock_text(lock: Path) -> str:
    """What the lock file says. Raises UserError where it is no text."""
    try:
        return lock.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"the lock file {lock} is damaged: it is not text; put the original in its place") from None


def python(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def compiled(cache: Path, name: str) -> Path:
    """Where the backend in the environment called `name` keeps what it compiles."""
    return cache / "compiled" / name


def finished(folder: Path) -> Mapping[str, str] | None:
    """The marker's contents, where the environment was finished in this place and still has its Python."""
    details = _details(folder)
    if details is None or details.get("folder") != str(folder):
        return None
    return details if python(folder).is_file() else None


def state(folder: Path) -> tuple[str, str]:
    """(MADE, NOT_MADE or BROKEN, what is wrong with it)."""
    if finished(folder) is not None:
        return MADE, ""
    if not folder.is_dir():
        return NOT_MADE, ""
    details = _details(folder)
    if details is None:
        return BROKEN, "it was not made to its end"
    if details.get("folder") != str(folder):
        return BROKEN, "it was moved or copied here"
    return BROKEN, f"its Python, {details.get('interpreter', '')}, is gone"


def still_taken(folder: Path, backends: Iterable[Backend], cache: Path) -> bool:
    """Whether a run would take the finished environment in `folder`: its backend's files still say the same.

    True also where its backend is not among these: it may be one of the folder that KBENCH_BACKENDS can name.
    """
    details = finished(folder)
    if details is None:
        return False
    known = {backend.name: backend for backend in backends}
    backend = known.get(str(details.get("backend")))
    if backend is None:
        return True
    version = ".".join(str(details.get("python", "")).split(".")[:2])
    of_python = Choice(Path(str(details.get("interpreter", ""))), as_is=False)
    for build in backend.builds:
        if build.name == details.get("build") and build.lock is not None:
            return any(folder == named(backend, build, version, one, cache) for one in (None, of_python))
    return False


def _details(folder: Path) -> dict[str, str] | None:
    try:
        details = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return details if isinstance(details, dict) and details.get("schema") == SCHEMA else None
