"""Writes files of the store completely or not at all, and reads them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import msgspec

from kbench.errors import UserError
from kbench.store.guest_files import open_regular


def replace(path: Path, content: bytes, durable: bool = True) -> None:
    """Write `content`: the file is the old one or the new one; `durable` waits for the disk. Raises UserError."""
    # Not with tempfile, whose files only the owner can read: results are shared.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with may_be_refused("write", path):
            with temporary.open("xb") as file:
                file.write(content)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
            if durable:
                _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):  # it was renamed, or never created
            temporary.unlink()


def replace_json(path: Path, value: object) -> None:
    """Write `value` to `path` as JSON; dataclasses become objects, paths become text. Raises UserError."""
    replace(path, (json.dumps(value, indent=1, default=_as_json) + "\n").encode())


def read_json(path: Path) -> Mapping[str, Any]:
    """The JSON object in the file at `path`. Raises UserError if it is missing or damaged."""
    try:
        with may_be_refused("read", path), open_regular(path) as file:
            value = loads(file.read())
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: it is not readable as JSON.") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} is damaged: it holds no JSON object.")
    return value


def remove_others(folder: Path, own: Collection[str], kept: Collection[str]) -> None:
    """Remove the regular files in `folder` that match a pattern of `own` and are not `kept`. Raises UserError."""
    for path in {found for pattern in own for found in folder.glob(pattern)}:
        if path.name not in kept and path.is_file() and not path.is_symlink():
            with may_be_refused("remove", path):
                path.unlink(missing_ok=True)


def loads(text: bytes) -> Any:
    """The value that the JSON text holds. Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(text)  # several times as fast
    except (msgspec.DecodeError, ValueError):
        return json.loads(text)  # also reads NaN and Infinity, which guests write if a model diverges


def cannot(do: str, path: Path, error: OSError) -> UserError:
    """The error for a file or folder that the system refuses."""
    return UserError(f"Cannot {do} {path}: {error.strerror or error}.")


@contextlib.contextmanager
def may_be_refused(do: str, path: Path) -> Iterator[None]:
    """Turns the system's refusal of a file or folder into a UserError."""
    try:
        yield
    except OSError as error:
        raise cannot(do, path, error) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name in `folder` survive a power cut, if the file system supports it."""
    with contextlib.suppress(OSError):  # some network file systems refuse; the content itself is safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _as_json(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
