"""Reads published files and members of archives into memory: bounded, verified, and never onto the disk."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from kbench.datasets.registry import File, Member
from kbench.errors import UserError

# What the standard library's readers raise on a truncated or corrupt file.
DAMAGE = (EOFError, OSError, ValueError, KeyError, tarfile.TarError, zlib.error)

T = TypeVar("T")


class Damaged(UserError):
    """A file is there but is not the published one."""


def damaged(path: Path, why: object, file: File | None = None) -> Damaged:
    """The error for a file that is there but is not the published one."""
    origin = f" from {file.addresses[0]}" if file and file.addresses else ""
    return Damaged(
        f"{path} is not the published file ({why}): delete it or put the original{origin} in its place, "
        "or use --data synthetic"
    )


def parse(path: Path, file: File, read: Callable[[], T]) -> T:
    """What `read` returns; a failure while it reads `path` is a UserError that names the file."""
    try:
        return read()
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise UserError(f"{path} cannot be read ({error.strerror}): make it readable or delete it") from error
        raise damaged(path, _reason(error), file) from error


def verified(path: Path, file: File) -> bytes:
    """The bytes of `path`, which are what the file's digest says. Raises UserError where they are not.

    What is returned is what was hashed: the file cannot be exchanged between check and use.
    """

    def read() -> bytes:
        with path.open("rb") as stream:
            content = stream.read(file.size_limit + 1)
        if len(content) > file.size_limit:
            raise ValueError(f"it is larger than {file.size_limit} bytes")
        _check(content, file.digest)
        return content

    return parse(path, file, read)


def gunzipped(path: Path, file: File, content: bytes) -> bytes:
    """`content` (of `path`) decompressed; no more than the file's limit is ever expanded."""

    def read() -> bytes:
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        plain = inflate.decompress(content, file.unpacked_limit)
        if inflate.unconsumed_tail:
            raise ValueError(f"it unpacks to more than {file.unpacked_limit} bytes")
        if not inflate.eof:
            raise EOFError("it ends too early")
        return plain

    return parse(path, file, read)


def members(path: Path, file: File) -> Iterator[tuple[int, bytes]]:
    """Yields (place in `file.members`, content) of each wanted member of a .tar.gz, in the archive's order.

    Only regular files of exactly the expected names and sizes are read, one at a time, each verified before
    it is yielded; whatever else the archive holds is passed over. Raises UserError where the archive cannot
    be read, unpacks to more than its limit, or lacks a member.
    """
    wanted = {member.name: place for place, member in enumerate(file.members)}
    with (
        parse(path, file, partial(_unzip, path, file)) as stream,
        parse(path, file, partial(_untar, stream, file)) as archive,
    ):
        while wanted:
            info = parse(path, file, archive.next)
            if info is None:
                raise damaged(path, f"{next(iter(wanted))} is not in it", file)
            place = wanted.pop(info.name, None)
            if place is None:
                continue
            yield place, _member(path, file, archive, info, file.members[place])


def verify(path: Path, file: File) -> None:
    """Raises UserError unless `path` is the published file: by its own digest or by its members'."""
    if file.digest:
        verified(path, file)
    else:
        for _ in members(path, file):
            pass


def _member(path: Path, file: File, archive: tarfile.TarFile, info: tarfile.TarInfo, member: Member) -> bytes:
    def read() -> bytes:
        if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
            raise ValueError(f"{member.name} in it is not a regular file")
        if info.size != member.size:
            raise ValueError(f"{member.name} in it has {info.size} bytes instead of {member.size}")
        stream = archive.extractfile(info)
        content = stream.read(member.size) if stream else b""
        _check(content, member.digest, f"{member.name} in it")
        return content

    return parse(path, file, read)


class _Bounded:
    """A stream that stops a decompression bomb: tarfile itself reads headers of any length into memory."""

    def __init__(self, stream: gzip.GzipFile, limit: int) -> None:
        self.stream = stream
        self.limit = limit
        self.left = limit

    def read(self, size: int) -> bytes:
        content = self.stream.read(size)
        self.left -= len(content)
        if self.left < 0:
            raise ValueError(f"it unpacks to more than {self.limit} bytes")
        return content


def _unzip(path: Path, file: File) -> gzip.GzipFile:
    if path.stat().st_size > file.size_limit:
        raise ValueError(f"it is larger than {file.size_limit} bytes")
    return gzip.open(path)


def _untar(stream: gzip.GzipFile, file: File) -> tarfile.TarFile:
    bounded = cast(BinaryIO, _Bounded(stream, file.unpacked_limit))
    return tarfile.open(fileobj=bounded, mode="r|")


def _check(content: bytes, digest: str, what: str = "it") -> None:
    algorithm, _, expected = digest.partition(":")
    found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
    if found != expected:
        raise ValueError(f"{what} has {algorithm} {found[:12]}... instead of {expected[:12]}...")


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
