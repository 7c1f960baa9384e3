"""Other settings for a backend that exists: read from a data file, and written as backends' files of their own.

A variant is `<backend>-<name>`, such as keras3/tiny-one_thread. Kbench measures it beside the shipped settings, which
are written as `<backend>-shipped`, like any other backend in the folder KBENCH_BACKENDS.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kbench.errors import UserError
from kbench.records.values import Backend, Build
from kbench.selection import backends

SHIPPED = "shipped"


class Candidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One combination of settings to try, as a change to what the backend's file has for the CPU."""

    backend: str
    name: Annotated[str, msgspec.Meta(pattern=rf"\A(?!{SHIPPED}\Z)[a-z0-9][a-z0-9_]*\Z")]
    why: str  # the hope behind it, or where the advice is from
    variables: dict[str, str] = {}  # added to the shipped ones, or in place of them
    without: tuple[str, ...] = ()  # shipped variables to leave out
    image_data_format: str = ""
    requirements: tuple[str, ...] = ()  # other packages, with `lock`
    lock: str = ""  # a lock file, relative to the data file
    distribution: str = ""
    examples: tuple[str, ...] = ()  # only these; all, if empty
    left_out: str = ""  # why it is not shipped although it is the fastest in some example

    @property
    def variant(self) -> str:
        """The name of the backend that it makes."""
        return f"{self.backend}-{self.name}"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    candidates: list[Candidate]


def read(path: Path, known: Mapping[str, Backend]) -> list[Candidate]:
    """The candidates in the file `path`, for backends that are `known`. Raises UserError."""
    try:
        candidates = msgspec.toml.decode(path.read_bytes(), type=_File).candidates
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"the candidates in {path} cannot be read: {error}") from None
    for one in candidates:
        if one.backend not in known:
            raise UserError(f"{path.name} has a candidate for {one.backend}, which is no backend")
        for name in one.without:
            if name not in effective(known[one.backend]):
                raise UserError(f"{one.variant} leaves out {name}, which {one.backend} does not set")
        if bool(one.lock) != bool(one.requirements):
            raise UserError(f"{one.variant} needs both `requirements` and `lock`, or neither")
        if one.lock and not (path.parent / one.lock).is_file():
            raise UserError(f"{one.variant} needs {one.lock} beside {path.name}, which is not there")
        if not (one.variables or one.without or one.image_data_format or one.requirements):
            raise UserError(f"{one.variant} changes nothing")
    variants = [one.variant for one in candidates]
    if len(set(variants)) < len(variants):
        raise UserError(f"{path.name} has two candidates of the same name")
    return candidates


def effective(backend: Backend) -> dict[str, str]:
    """The variables of the backend's cells on the CPU, placeholders and all."""
    build = _cpu(backend)
    return {**backend.variables, **build.variables, **build.locked_variables}


def write(folder: Path, backend: Backend, candidates: Sequence[Candidate], beside: Path) -> list[Backend]:
    """Writes the shipped settings and each candidate as a backend's file below `folder`, and loads them.

    `beside` is the folder that the candidates' lock files are relative to. Raises UserError, like the loading of any
    backend's file, where a candidate has a mistake.
    """
    shipped = Candidate(backend.name, SHIPPED, "what kbench ships")
    return [_write(folder, backend, one, beside) for one in (shipped, *candidates)]


def _write(folder: Path, backend: Backend, one: Candidate, beside: Path) -> Backend:
    raw: dict[str, Any] = msgspec.toml.decode(backend.path.read_bytes())
    build = dict(next(item for item in raw["builds"] if item["device"] == "cpu"))
    variables = {name: text for name, text in effective(backend).items() if name not in one.without}
    build.pop("locked_variables", None)
    build["variables"] = {**variables, **one.variables}
    raw["variables"] = {}
    if one.image_data_format:
        raw["image_data_format"] = one.image_data_format
    path = folder / f"{one.variant}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock, of_debian = _cpu(backend).lock, _cpu(backend).debian_lock
    if one.requirements:
        lock = beside / one.lock
        build["requirements"] = list(one.requirements)
        build["distribution"] = one.distribution or backend.distribution
    for found, key, ending in ((lock, "lock", "lock"), (of_debian, "debian_lock", "debian.lock")):
        build.pop(key, None)  # which may name that of another backend
        if found is not None:
            shutil.copyfile(found, path.with_name(f"{path.stem}.{build['name']}.{ending}"))
    raw["compiled"] = {name: source.name for name, source in backend.compiled.items()}
    for source in backend.compiled.values():
        shutil.copyfile(source, path.with_name(source.name))
    raw["builds"] = [build]
    builds = "".join("[[builds]]\n" + _lines(item) for item in raw.pop("builds"))
    path.write_text(_lines(raw) + builds, "utf-8")
    return backends.load(path)


def _cpu(backend: Backend) -> Build:
    return next(build for build in backend.builds if build.device == "cpu")


def _lines(table: Mapping[str, object]) -> str:
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: object) -> str:
    """A value of a backend's file as TOML: texts, numbers and truths are spelt there as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
