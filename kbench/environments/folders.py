"""What an environment's folder is called, and whether it is whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.values import Backend, Build

SCHEMA = 1
MARKER = "kbench.json"  # written last: an environment without it is half-made and is made again

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
    name = f"{backend.name.replace('/', '-')}-{build.name}-py{version}-{digest.hexdigest()[:12]}"
    return cache / "environments" / name


def lock_text(lock: Path) -> str:
    """What the lock file says. Raises UserError where it is no text."""
    try:
        return lock.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"the lock file {lock} is damaged: it is not text; put the original in its place") from None


def python(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / "bin" / "python"


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


def _details(folder: Path) -> dict[str, str] | None:
    try:
        details = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return details if isinstance(details, dict) and details.get("schema") == SCHEMA else None
