"""A packed run that is submitted, unpacked into a folder of its own, with all that its checks look at."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.errors import UserError
from kbench.features.coverage.values import KIND as COVERAGE
from kbench.machine import provenance
from kbench.records.epochs import Epoch
from kbench.records.values import OK, Cell, Measured
from kbench.store import RunResults
from kbench.store.files import loads, os_errors_as_user_errors, read_bytes
from kbench.store.packed import SUFFIX
from kbench.summary import Summary


class NotChecked(Exception):
    """A check has nothing to look at; the text says why."""


_PLAIN = re.compile(r"[\w.+=@:,/~ ()\[\]%-]{1,200}")


@dataclass(frozen=True)
class Submitted:
    """A run, with the folder of its raw files and the file that it is packed in."""

    pack: Path
    sha256: str
    run: RunResults

    @property
    def name(self) -> str:
        """Of the file, without its ending."""
        return self.pack.name.removesuffix(SUFFIX)

    @property
    def tries_names(self) -> bool:
        """Whether it is a run of `coverage`, which times nothing."""
        return self.run.plan.get("kind") == COVERAGE

    @property
    def machine(self) -> str:
        """The kind of machine."""
        return provenance.kind(self.run.provenance)

    @cached_property
    def rows(self) -> Sequence[Summary]:
        """The rows of its tables, made from the raw events."""
        return Analysis(self.run).rows

    @property
    def cells(self) -> Sequence[Measured]:
        """All processes, short ones, too."""
        return (*self.run.measured, *self.run.short)

    @property
    def ok(self) -> Sequence[Measured]:
        """Those that ended so."""
        return [one for one in self.cells if one.outcome.status == OK]

    def spec(self, cell: Cell) -> Mapping[str, Any]:
        """What its guest was given; empty if none was started."""
        return store.spec(self.run.folder, cell)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """All its files by name; of JSON what it says, however that is written."""
        files = sorted(path for path in self.run.folder.rglob("*") if path.is_file() and path.suffix != ".npz")
        return {path.relative_to(self.run.folder).as_posix(): _text(path) for path in files}


def _text(path: Path) -> str:
    text = read_bytes(path).decode(errors="replace")
    parts = text.splitlines() if path.suffix == ".jsonl" else [text] if path.suffix == ".json" else []
    with contextlib.suppress(ValueError, RecursionError):
        return "\n".join(json.dumps(loads(part.encode()), ensure_ascii=False) for part in parts) or text
    return text


@contextlib.contextmanager
def opened(pack: Path) -> Iterator[Submitted]:
    """The run in that file. Raises UserError if it is none that kbench packed and can read."""
    with os_errors_as_user_errors("read", pack):
        content = read_bytes(pack)
    with tempfile.TemporaryDirectory(prefix="kbench-admit-") as folder:
        run = Path(folder, pack.name.removesuffix(SUFFIX))
        with os_errors_as_user_errors("write", run):
            run.with_name(pack.name).write_bytes(content)
        store.unpack(run)
        run.with_name(pack.name).unlink()
        read = store.read(run)
        if (kind := read.plan.get("kind")) not in (None, COVERAGE):
            raise UserError(f"it is a run of `{kind}`: a collection takes runs of `run`, `script` and `{COVERAGE}`")
        yield Submitted(pack, hashlib.sha256(content).hexdigest(), read)


def label(cell: Cell) -> str:
    """A cell, as an answer names it."""
    short = f", short process {cell.timing}" if cell.timing else ""
    return f"{cell.example} on {cell.backend}, repeat {cell.repeat}{short}"


def is_plain(name: str) -> bool:
    """Whether a name has only what names have, and no markup."""
    return _PLAIN.fullmatch(name) is not None


def steady_seconds(epochs: Sequence[Epoch]) -> list[float]:
    """Seconds of all epochs but the first."""
    return [one.seconds for one in epochs if one.epoch > 1]
