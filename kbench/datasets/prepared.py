"""Keeps prepared datasets in the cache. A dataset is there completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from kbench.base.arrays import Data
from kbench.base.whole_folders import whole
from kbench.errors import UserError

SCHEMA = 1  # of meta.json
VERSION = 2  # of the preparation: raise it when an array or its hash changes
META = "meta.json"


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the content of a prepared dataset."""

    name: str
    input: str
    layout: str  # image_data_format, or "any" where it does not apply
    source: str  # "real" or "synthetic"
    digests: tuple[str, ...]  # of the source files
    samples: int | None = None  # where they are limited

    @property
    def folder_name(self) -> str:
        parts = [SCHEMA, VERSION, self.name, self.input, self.layout, self.source, self.digests, self.samples]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
        name = re.sub(r"[^A-Za-z0-9_.]+", "_", self.name).strip(".")[:64]
        return f"{name}-{self.input}-{self.layout}-{self.source}-{key}"


def find(recipe: Recipe, parent: Path) -> Data | None:
    """The prepared dataset, or None if it is missing or damaged: sizes are compared, contents not hashed again."""
    folder = parent / recipe.folder_name
    try:
        meta = json.loads((folder / META).read_bytes())
        sizes = ((folder / name).stat().st_size == array["bytes"] for name, array in meta["arrays"].items())
        return _data(meta, folder) if meta["schema"] == SCHEMA and all(sizes) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def make(recipe: Recipe, parent: Path, fill: Callable[[Path], dict[str, object]]) -> Data:
    """Prepares a dataset, unless another process has just done so.

    `fill` gets an empty folder, writes the arrays there and returns meta.json's variable part: "arrays",
    "num_classes", "divisor" and "sha256". Raises UserError if the cache cannot be written.
    """
    folder = parent / recipe.folder_name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with FileLock(parent / f".{recipe.folder_name}.lock"):
            found = find(recipe, parent)
            if found is not None:
                return found
            with whole(folder, 0o700) as unfinished:
                meta = {"schema": SCHEMA, "version": VERSION, **vars(recipe), **fill(unfinished)}
                (unfinished / META).write_text(json.dumps(meta, indent=1), encoding="utf-8")
                sync(unfinished / META)
                sync(unfinished)
                unfinished.chmod(0o755)  # it was private until now; a cache may be shared
            sync(parent)
    except OSError as error:
        raise UserError(
            f"prepared data cannot be written to {parent} ({error.strerror or error}): free space there, or "
            "name another cache folder by KBENCH_CACHE"
        ) from error
    return _data(meta, folder)


def sync(path: Path) -> None:
    """Waits until the contents of the file or folder are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _data(meta: dict[str, Any], folder: Path) -> Data:
    arrays = meta["arrays"]
    train = _files(arrays, "x_train")
    validation = _files(arrays, "x_validation")
    return Data(
        name=str(meta["name"]),
        source=str(meta["source"]),
        folder=folder,
        train=train,
        train_targets=_files(arrays, "y_train"),
        validation=validation,
        validation_targets=_files(arrays, "y_validation"),
        num_classes=int(str(meta["num_classes"])),
        divisor=float(str(meta["divisor"])),
        input_shapes=tuple(tuple(arrays[name]["shape"][1:]) for name in train),
        sha256=str(meta["sha256"]),
        samples=arrays[train[0]]["shape"][0],
        validation_samples=arrays[validation[0]]["shape"][0] if validation else 0,
        train_weights="".join(_files(arrays, "w_train")),
        validation_weights="".join(_files(arrays, "w_validation")),
        input_names=tuple(map(str, meta.get("input_names", ()))),
        target_names=tuple(map(str, meta.get("target_names", ()))),
    )


def _files(arrays: dict[str, object], role: str) -> tuple[str, ...]:
    """The files of a role in the model's order: x_train.npy, or x_train_0.npy, x_train_1.npy, ..."""
    pattern = re.compile(rf"{role}(?:_(\d+))?\.npy")
    found = [(int(match[1] or 0), name) for name in arrays if (match := pattern.fullmatch(name))]
    return tuple(name for _, name in sorted(found))
