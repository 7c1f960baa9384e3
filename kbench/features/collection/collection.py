"""A collection: a folder with collection.toml, what it asks of runs, and packed runs below runs/."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from kbench.errors import UserError
from kbench.records.values import Example
from kbench.selection.examples import load_all
from kbench.selection.known import known_examples
from kbench.store.files import os_errors_as_user_errors, read_bytes
from kbench.store.packed import SUFFIX

FILE, RUNS, EXAMPLES, ADMITTED = "collection.toml", "runs", "examples", ".admitted.json"


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of a row, for it to count; `rows`: which share of a run's rows has to be so."""

    processes: Annotated[int, Meta(ge=1)] = 3
    disturbed: Annotated[float, Meta(ge=0, le=1)] = 0.2  # of its turns or processes, at most
    rows: Annotated[float, Meta(ge=0, le=1)] = 0.8
    replay: Annotated[int, Meta(ge=0)] = 0  # cells of which an epoch is computed again, at least
    times_apart: Annotated[float, Meta(gt=1)] = 2.0  # as long, or as short, as on others of the kind, at most


class Terms(Struct, frozen=True, forbid_unknown_fields=True):
    """collection.toml."""

    title: str
    kbench: Annotated[tuple[str, ...], Meta(min_length=1)]  # the versions whose runs are taken
    examples: tuple[str, ...] = ()  # all of kbench's, if none are named
    programs: bool = False  # whether runs of users' own programs are taken
    public_names: bool = False  # whether runs of `coverage` are taken
    asked: Asked = Asked()


@dataclass(frozen=True)
class Collection:
    """A collection's folder."""

    folder: Path
    terms: Terms

    @cached_property
    def examples(self) -> Mapping[str, Example]:
        """kbench's examples, and those whose files are in the collection's folder examples/. Raises UserError."""
        own = self.folder / EXAMPLES
        return {**(load_all(own) if own.is_dir() else {}), **known_examples()}

    @property
    def packs(self) -> list[Path]:
        """The packed runs in it."""
        return sorted((self.folder / RUNS).glob(f"*{SUFFIX}"))

    def place_of(self, pack: Path) -> Path:
        """Where a packed run is in it, or would be."""
        return self.folder / RUNS / pack.name

    def record_of(self, pack: Path) -> Path:
        """Where it is kept which checks a run passed."""
        return self.folder / RUNS / f"{pack.name.removesuffix(SUFFIX)}{ADMITTED}"


def read(folder: Path) -> Collection:
    """The collection in that folder. Raises UserError."""
    file = folder / FILE
    if not file.is_file():
        raise UserError(f"{folder} is no collection: it has no {FILE}.")
    try:
        with os_errors_as_user_errors("read", file):
            value: Any = tomllib.loads(read_bytes(file).decode())
        return Collection(folder, msgspec.convert(value, Terms))
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8 and msgspec
        raise UserError(f"{file} cannot be read: {str(error).rstrip('.')}.") from error
