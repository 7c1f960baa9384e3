"""Reads published files and members of archives into memory, verified by their digests."""

from __future__ import annotations

import contextlib
import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from kbench.datasets.registry import RemoteFile
from kbench.errors import UserError
from kbench.store.files import read_bytes

MOST_BYTES = 1 << 30  # of a published file


class Damaged(UserError):
    """The file exists but is not the published one."""


def verified(path: Path, file: RemoteFile) -> bytes:
    """The bytes of `path`, verified by the file's digest. Raises UserError if they are not the published ones.

    What is returned is what was hashed: the file cannot be exchanged between check and use.
    """
    with _reading(path, file):
        content = read_bytes(path, MOST_BYTES)
        _check(content, file.digest, "it")
        return content


def members(path: Path, file: RemoteFile) -> Iterator[tuple[int, bytes]]:
    """Yields (place in `file.members`, content) of each wanted member of a .tar.gz, in the archive's order.

    Only regular files of the expected names and sizes are read, one at a time, each verified before it is yielded.
    Raises UserError if the archive cannot be read or lacks a member.
    """
    wanted = {member.name: place for place, member in enumerate(file.members)}
    with _reading(path, file), tarfile.open(path, "r:gz") as archive:
        for info in archive:
            place = wanted.pop(info.name, None)
            if place is None:
                continue
            member = file.members[place]
            stream = archive.extractfile(info) if info.isreg() and info.size == member.size else None
            if stream is None:
                raise ValueError(f"{member.name} in it is not a file of {member.size} bytes")
            content = stream.read()
            _check(content, member.digest, f"{member.name} in it")
            yield place, content
            if not wanted:
                return
        raise ValueError(f"{next(iter(wanted))} is not in it")


def verify(path: Path, file: RemoteFile) -> None:
    """Raises UserError unless `path` is the published file: by its own digest or by its members'."""
    if file.digest:
        verified(path, file)
    else:
        for _ in members(path, file):
            pass


@contextlib.contextmanager
def _reading(path: Path, file: RemoteFile) -> Iterator[None]:
    """Turns what the standard library raises on an unreadable or corrupt file into a UserError that names it."""
    try:
        yield
    except (EOFError, OSError, ValueError, tarfile.TarError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"{path} cannot be read ({error.strerror}): make it readable or delete it") from error
        origin = f" from {file.addresses[0]}" if file.addresses else ""
        raise Damaged(
            f"{path} is not the published file ({str(error).rstrip('.') or type(error).__name__}): delete it or put "
            f"the original{origin} in its place, or use --data synthetic"
        ) from error


def _check(content: bytes, digest: str, what: str) -> None:
    algorithm, _, expected = digest.partition(":")
    found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
    if found != expected:
        raise ValueError(f"{what} has {algorithm} {found[:12]}... instead of {expected[:12]}...")
