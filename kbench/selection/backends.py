"""Reads backends/<generation>/<name>.toml. The keys of such a file are the fields of `Backend` and `Build`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from packaging.requirements import InvalidRequirement, Requirement

from kbench.errors import UserError
from kbench.records.backend_keys import Explanation
from kbench.records.values import CHANNELS_LAST, EXPORT, IN_FULL, NATIVE, Backend, Build
from kbench.selection.decoding import Wrong, decode
from kbench.store.files import MOST_BYTES, read_bytes
from kbench.words.text import meant

T = TypeVar("T", Backend, Build)

# The keys that a file of each kind must have, beside those that all have.
REQUIRED = {
    "keras": ("keras_backend",),
    NATIVE: ("framework", "module"),
    EXPORT: ("keras_backend", "framework", "module"),
}

FORMULAS = "formulas.toml"  # beside the folders of generations
# Fields that are not keys of the file: they follow from its path or from a variant.
NOT_KEYS: dict[str, type] = dict.fromkeys(
    ("name", "generation", "path", "builds", "jit", "policy", "arguments", "sources"), Backend
)
NOT_KEYS |= dict.fromkeys(("debian_lock", "resolved"), Build)
# What the file of a backend that is `unavailable` may leave out.
NEVER_RUN = {
    **dict.fromkeys(("module", "framework", "distribution"), "none"),
    **dict.fromkeys(("image_data_format", "gpu_image_data_format"), CHANNELS_LAST),
    "python": ["3.11"],
    "can": ["train", "infer"],
}


def load_all(folder: Path, further: Path | None = None) -> dict[str, Backend]:
    """Every backend under `folder`, by name, generation after generation, then those of `further`.

    Raises UserError for a wrong file, and for a name that both have.
    """
    backends = _files(folder)
    for name, backend in _files(further).items() if further else ():
        if name in backends:
            raise UserError(f"KBENCH_BACKENDS has a {name}, which kbench has, too: rename its file.")
        backends[name] = backend
    formulas = _formulas(folder / FORMULAS)
    return {
        name: replace(one, explained=(*_by_formulas(one, backends, formulas), *one.explained))
        for name, one in backends.items()
    }


def _files(folder: Path) -> dict[str, Backend]:
    def place(path: Path) -> tuple[object, ...]:
        generation = path.parent.name
        return generation in IN_FULL, by_number(generation), path.stem  # Keras first

    found = sorted(folder.glob("*/*.toml"), key=place)
    if not found:
        raise UserError(f"no backend's file was found under {folder}")
    return {backend.name: backend for backend in map(load, found)}


def _formulas(path: Path) -> dict[str, tuple[str, Explanation]]:
    """What has several formulas -> (the one whose rows are told, empty for all; what it explains)."""
    raw = _toml(path, path.name) if path.is_file() else {}
    try:
        return {name: (one.pop("told_of", ""), decode(one, Explanation)) for name, one in raw.items()}
    except Wrong as wrong:
        raise UserError(f"the backends' file {path} has a wrong `{wrong.key}`: it must be {wrong.wanted}") from None


def _by_formulas(
    backend: Backend, backends: Mapping[str, Backend], formulas: Mapping[str, tuple[str, Explanation]]
) -> Iterator[Explanation]:
    """What explains the backend's differences from those that compute something by another formula."""
    for name, own in backend.formulas.items():
        if name not in formulas:
            near = meant(name, formulas)
            hint = f"did you mean `{near}`?" if near else f"{FORMULAS} has {', '.join(formulas) or 'no formula'}"
            raise UserError(f"the backend's file {backend.name}.toml has an unknown formula `{name}`: {hint}")
        told_of, explanation = formulas[name]
        unlike = tuple(other.name for other in backends.values() if other.formulas.get(name, own) != own)
        if unlike and told_of in ("", own):
            yield replace(explanation, unlike=unlike)


def by_number(generation: str) -> list[str | int]:
    """A key that sorts generations by their number: keras2, keras3, keras10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", generation)]


def load(path: Path) -> Backend:
    """The backend that the file describes. Raises UserError, which names the file and the key."""
    path = path.absolute()
    where = f"{path.parent.name}/{path.name}"
    raw = _toml(path, where)
    if "unavailable" in raw:
        raw = {**NEVER_RUN, **raw}
    raw_builds = raw.pop("builds", [])
    own = {"name": f"{path.parent.name}/{path.stem}", "generation": path.parent.name, "path": path}
    backend = _convert(raw, Backend, own, path, where)
    _check_kind(backend, where)
    if len(backend.can) == 1 and not backend.cannot:
        raise UserError(f"the backend's file {where} must say in `cannot` why it cannot do all of train and infer")
    tables = isinstance(raw_builds, list) and all(isinstance(one, dict) for one in raw_builds)
    if not tables or not (raw_builds or backend.unavailable):
        raise UserError(f"the backend's file {where} needs at least one [[builds]] table")
    builds = tuple(
        _build(one, path, backend.distribution, f"{where}, build {number}")
        for number, one in enumerate(raw_builds, start=1)
    )
    names = [build.name for build in builds]
    if len(set(names)) < len(names):
        raise UserError(f"the backend's file {where} has two builds of one name: {', '.join(names)}")
    return replace(backend, builds=builds, framework=backend.framework or backend.keras_backend)


def _toml(path: Path, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except OSError as error:
        raise UserError(f"the backend's file {path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise UserError(f"the backend's file {where} is nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"the backend's file {where} is not valid TOML: {error}") from None


def _check_kind(backend: Backend, where: str) -> None:
    """Raises UserError where the kind does not fit the folder, or lacks a key."""
    for kind in IN_FULL:
        if (backend.kind == kind) != (backend.generation == kind):
            raise UserError(
                f"the backend's file {where} has `kind` = {backend.kind!r}: files of the kind {kind!r}, "
                f"and no others, lie in a folder called {kind}"
            )
    for key in REQUIRED[backend.kind]:
        if not getattr(backend, key):
            raise UserError(f"the backend's file {where} lacks the key `{key}`")


def _build(raw: dict[str, Any], path: Path, distribution: str, where: str) -> Build:
    build = _convert(raw, Build, {}, path, where)
    try:
        for one in build.requirements:
            Requirement(one)
    except InvalidRequirement:
        raise _wrong(Wrong(Build, "requirements"), raw, where) from None
    if build.compute_capability and build.compute_capability[0] > build.compute_capability[1]:
        raise _wrong(Wrong(Build, "compute_capability"), raw, where)
    lock = build.lock
    if build.requirements and not lock:
        lock = _next_to(path, f"{path.stem}.{build.name}.lock", "`requirements`", where)
    of_debian = _next_to(path, f"{path.stem}.{build.name}.debian.lock", "`debian`", where) if build.debian else None
    return replace(
        build,
        lock=lock and _checked(lock),
        debian_lock=of_debian and _checked(of_debian),
        distribution=build.distribution or distribution,
    )


def _next_to(path: Path, name: str, key: str, where: str) -> Path:
    found = Path(os.path.normpath(path.parent / name))  # which may be in a sibling's folder
    if not found.is_file():
        raise UserError(f"the backend's file {where} needs {name} next to it (for {key}), and there is no such file")
    return found


def _checked(lock: Path) -> Path:
    if lock.stat().st_size > MOST_BYTES:
        raise UserError(f"the lock file {lock} is larger than {MOST_BYTES >> 20} MiB: put the original in its place")
    return lock


def _convert(raw: dict[str, Any], kind: type[T], own: Mapping[str, object], path: Path, where: str) -> T:
    """The table `raw` as a `kind`, with the fields `own`, which are not in the file. Raises UserError."""
    keys = [field.name for field in fields(kind) if NOT_KEYS.get(field.name) is not kind]
    for key in raw:
        if key not in keys:
            near = meant(key, keys)
            hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(keys)}"
            raise UserError(f"the backend's file {where} has an unknown key `{key}`: {hint}")
    known = {field.name for field in fields(Explanation)}
    explained = raw.get("explained")
    if isinstance(explained, list) and any(isinstance(one, dict) and one.keys() - known for one in explained):
        raise _wrong(Wrong(kind, "explained"), raw, where)

    def file(_: type, value: object) -> object:
        key = "`lock`" if issubclass(kind, Build) else "`compiled`"
        return _next_to(path, value, key, where) if isinstance(value, str) and value else value

    try:
        return decode({**raw, **own}, kind, file)
    except Wrong as wrong:
        raise _wrong(wrong, raw, where) from None


def _wrong(wrong: Wrong, raw: Mapping[str, object], where: str) -> UserError:
    if wrong.missing:
        return UserError(f"the backend's file {where} lacks the key `{wrong.key}`")
    return UserError(f"the backend's file {where} has `{wrong.key}` = {raw[wrong.key]!r}: it must be {wrong.wanted}")
