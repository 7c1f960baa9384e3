"""Writes files completely or not at all, and reads files of guests, workers and users, which may be anything."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import msgspec

from kbench.errors import Refused, UserError
from kbench.store.guest_files import open_regular

MOST_BYTES = 64 << 20  # of a file that is read whole: a sparse one may seem to hold a terabyte


def replace(path: Path, content: bytes | str, durable: bool = True) -> None:
    """Write `content`: the file is the old one or the new one; `durable` waits for the disk. Raises UserError.

    Text is written as UTF-8; what is no text in it, such as a byte of a file's name, as its escape.
    """
    if isinstance(content, str):
        content = content.encode(errors="backslashreplace")
    # Not with tempfile, whose files only the owner can read: results are shared.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os_errors_as_user_errors("write", path):
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
    replace(path, json.dumps(value, indent=1, default=_as_json) + "\n")


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The contents of a file of anybody's. Raises OSError, also for a folder, pipe or device, or more than `most`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(most + 1) if size <= most else b""  # it may grow meanwhile
    if max(size, len(content)) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most / 2**20:g} MiB", str(path))
    return content


def read_json(path: Path) -> Mapping[str, Any]:
    """The JSON object in the file at `path`. Raises UserError if it is missing or damaged."""
    try:
        with os_errors_as_user_errors("read", path):
            value = loads(read_bytes(path))
    except (ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"{path} is damaged: it is not readable as JSON.") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} is damaged: it holds no JSON object.")
    return value


def remove_others(folder: Path, own: Collection[str], kept: Collection[str]) -> None:
    """Remove the regular files in `folder` that match a pattern of `own` and are not `kept`. Raises UserError."""
    for path in {found for pattern in own for found in folder.glob(pattern)}:
        if path.name not in kept and path.is_file() and not path.is_symlink():
            with os_errors_as_user_errors("remove", path):
                path.unlink(missing_ok=True)


def loads(text: bytes) -> Any:
    """The value that the JSON text holds. Raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(text)  # several times as fast
    except (msgspec.DecodeError, ValueError):
        # Also reads NaN and Infinity, which guests write if a model diverges; and half of a surrogate pair.
        return _encodable(json.loads(text))


def _encodable(value: Any) -> Any:
    """`value` with only texts that can be encoded: half of a surrogate pair is shown as its escape."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, list):
        return [_encodable(one) for one in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(one) for key, one in value.items()}
    return value


def cannot(action: str, path: Path, error: OSError) -> Refused:
    """The error for a file or folder that the system refuses."""
    return Refused(f"Cannot {action} {path}: {error.strerror or error}.")


@contextlib.contextmanager
def os_errors_as_user_errors(action: str, path: Path) -> Iterator[None]:
    """Turns the system's refusal of a file or folder into a UserError, a Refused."""
    try:
        yield
    except OSError as error:
        raise cannot(action, path, error) from error


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
