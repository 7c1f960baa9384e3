"""A run in one file, NAME.kbench.zip: packs it, and gives its raw files to whoever reads it.

The zip has one stored member, NAME.tar.xz: as any tool unpacks it, and places for attachments take it. The same raw
files give the same bytes: entries are sorted and have no times and no owners. A packed run belongs to the folder NAME
beside it: there stands what is derived from it. The file itself is only read, from a copy in kbench's cache folder.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import secrets
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from kbench.base import paths, trusted
from kbench.base.whole_folders import scratch
from kbench.errors import UserError
from kbench.records.values import OK
from kbench.store.files import MOST_BYTES as MOST_PACKED
from kbench.store.files import os_errors_as_user_errors, read_bytes, read_json, replace

SUFFIX = ".kbench.zip"
MOST_BYTES, MOST_FILES = 1 << 28, 50_000  # of a run's raw files; the packed one has at most MOST_PACKED bytes
CACHE = "data/runs"  # in the cache folder: a folder for each content

_FORM, _NOW = "kbench: a packed run, form ", 1  # together the zip's comment
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time of a zip's members
_HOW = 6 | lzma.PRESET_EXTREME
_MEMORY = 1 << 25  # bytes that decompression may take beside its output: three times what _HOW takes
_NAME = r"(?!\.\.?/)[^/\x00]+"  # an example's file may have any name
_WORKER = r"(\.worker\d+)?"  # of several processes of a cell
_OF_CELL = (
    rf"spec{_WORKER}\.json|events{_WORKER}\.jsonl|outcome\.json|log{_WORKER}\.txt|stdout\.txt|"
    r"(call_\d+/)?(forward|(step|moved)_\d+)\.npz"
)
_OF_RUN = rf"run\.json|stdin|locks/{_NAME}\.lock|(cells|earlier)/{_NAME}/({_OF_CELL})"
_ALLOWED = re.compile(rf"{_OF_RUN}|explain/(imports\.json|{_NAME}/({_OF_RUN}))", re.ASCII)
_LOG = re.compile(rf"log{_WORKER}\.txt|stdout\.txt", re.ASCII)
# What the standard library raises on a file that is damaged, or made to be.
_DAMAGED = (
    *(zipfile.BadZipFile, lzma.LZMAError, tarfile.TarError, struct.error),
    *(ValueError, RuntimeError, EOFError, OSError, OverflowError),
)


def packed_file(run: Path) -> Path:
    """Where the packed form of the run in the folder `run` is, or would be."""
    return run.parent / f"{run.name}{SUFFIX}"


def is_packed(run: Path) -> bool:
    """Whether the run has only its packed form."""
    return not (run / "run.json").is_file() and packed_file(run).is_file()


def run_of(packed: Path) -> Path:
    """The folder of the run in the file `packed`. Raises UserError if the run is there unpacked, too."""
    run = packed.parent / packed.name.removesuffix(SUFFIX)
    if (run / "run.json").is_file():
        raise UserError(f"{packed} is packed from {run}, which is there: name that, or move the file to look at it.")
    return run


def make_folder(run: Path) -> None:
    """Make the folder of a packed run, for what is derived from it; others have theirs. Raises UserError."""
    if is_packed(run):
        with os_errors_as_user_errors("make", run):
            run.mkdir(exist_ok=True)


def make_own_folder(folder: Path) -> None:
    """Make a folder in a run's for derived files. A link in its place goes: it may lead to the files of others.

    Raises UserError.
    """
    with os_errors_as_user_errors("make", folder):
        if folder.is_symlink():
            folder.unlink()
        folder.mkdir(exist_ok=True)


def raw_folder(run: Path) -> Path:
    """The folder with the raw files of a run: its own, or a copy of those of a packed one. Raises UserError."""
    if not is_packed(run):
        return run
    packed, cache = packed_file(run), paths.cache_folder()
    content = _content(packed)
    copy = cache / CACHE / hashlib.sha256(content).hexdigest()
    if copy.is_dir():
        return copy
    files = _files(packed, content)
    with os_errors_as_user_errors(f"unpack {packed} into", copy.parent):
        cache.mkdir(trusted.OWN, parents=True, exist_ok=True)
        with scratch(copy.with_name(f".{secrets.token_hex(8)}")) as filling:
            _write(files, filling)
            try:
                filling.rename(copy)
            except OSError:
                if not copy.is_dir():  # else another kbench was faster
                    raise
    return copy


def pack(run: Path, packed: Path) -> list[str]:
    """Write the run in the folder `run` to the file `packed`; returns the names of the logs in it. Raises UserError.

    Left out are what is derived, copies of a program's files, traces, and the logs of cells that ended ok.
    """
    tar = io.BytesIO()
    with os_errors_as_user_errors("read", run), tarfile.open(fileobj=tar, mode="w") as archive:
        names = sorted(path.relative_to(run).as_posix() for path in run.rglob("*") if _is_kept(path, run))
        if sum((run / name).stat().st_size for name in names) > MOST_BYTES:
            raise _too_large(run)
        for name in names:
            content = read_bytes(run / name, MOST_BYTES)
            entry = tarfile.TarInfo(f"{run.name}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    made, member = io.BytesIO(), f"{run.name.encode(errors='replace').decode()}.tar.xz"
    with zipfile.ZipFile(made, "w") as outer:
        outer.comment = f"{_FORM}{_NOW}".encode()
        outer.writestr(zipfile.ZipInfo(member, _EARLIEST), lzma.compress(tar.getvalue(), preset=_HOW))
    if len(names) > MOST_FILES or tar.tell() > MOST_BYTES or made.tell() > MOST_PACKED:
        raise _too_large(run)
    replace(packed, made.getvalue())
    return [name for name in names if _LOG.fullmatch(name.rpartition("/")[2])]


def unpack(run: Path) -> None:
    """Write the raw files of a packed run into its folder. Raises UserError."""
    files = _files(packed_file(run), _content(packed_file(run)))
    with os_errors_as_user_errors("unpack a run into", run):
        _write(files, run)


def _is_kept(path: Path, run: Path) -> bool:
    if not _ALLOWED.fullmatch(path.relative_to(run).as_posix()) or path.is_symlink() or not path.is_file():
        return False
    return not _LOG.fullmatch(path.name) or not _ended_ok(path.with_name("outcome.json"))


def _ended_ok(outcome: Path) -> bool:
    try:
        return read_json(outcome).get("status") == OK
    except UserError:
        return False


def _too_large(run: Path) -> UserError:
    most = f"{MOST_FILES:,} files, {MOST_BYTES >> 20} MiB, or {MOST_PACKED >> 20} MiB when they are packed"
    return UserError(f"{run} cannot be packed: its files are more than {most}.")


def _content(packed: Path) -> bytes:
    with os_errors_as_user_errors("read", packed):
        return read_bytes(packed)


def _files(packed: Path, content: bytes) -> dict[str, bytes]:
    """The raw files in a packed run, whose content may be anything. Raises UserError."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            form = archive.comment.decode(errors="replace")
            if form == f"{_FORM}{_NOW}":
                return _members(_decompressed(archive))
    except _DAMAGED as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise UserError(f"{packed} is damaged, or no run that kbench packed ({reason}): get it again.") from error
    if form.startswith(_FORM):
        raise UserError(f"{packed} was packed by a newer kbench: update kbench.")
    raise UserError(f"{packed} is no run that kbench packed: name another file.")


def _decompressed(archive: zipfile.ZipFile) -> bytes:
    """The tar file in the zip's only member. Raises any of _DAMAGED."""
    (member,) = archive.infolist()
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("its member is not stored as it is")
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
    found = decoder.decompress(archive.read(member), MOST_BYTES)
    if not decoder.eof:
        raise ValueError(f"its end is missing, or it has more than {MOST_BYTES >> 20} MiB")
    return found


def _members(tar: bytes) -> dict[str, bytes]:
    """The files in a tar file: only such as a run has, each once. Raises any of _DAMAGED."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for entry in archive:
            name = entry.name.partition("/")[2]
            if entry.type != tarfile.REGTYPE or entry.issparse() or not _ALLOWED.fullmatch(name) or name in found:
                raise ValueError(f"{entry.name[:80]!r} in it is no file of a run, or is there twice")
            stream = archive.extractfile(entry)
            found[name] = stream.read() if stream else b""
            if len(found) > MOST_FILES:
                raise ValueError(f"it has more than {MOST_FILES:,} files")
    if "run.json" not in found:
        raise ValueError("it has no run.json")
    return found


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files below `folder`: run.json last, which makes it a run. Raises OSError."""
    for name in sorted(files, key=lambda one: one == "run.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(files[name])
