"""Prepares the user's own .npz file: x_train, y_train, x_test, y_test."""

from __future__ import annotations

import hashlib
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kbench.datasets import archives, layout
from kbench.datasets.arrays import Array, Contents, Create
from kbench.errors import UserError

LABEL_LIMIT = 2**31  # class numbers become int32 in some backends


@dataclass(frozen=True)
class Header:
    """What an array is, without its values."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def digest(path: Path) -> str:
    """The SHA-256 of the file. Raises UserError where it is not there or cannot be read."""
    if not path.is_file():
        raise UserError(f"{path} is not there: name an existing .npz file as the example's data")
    sha256 = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                sha256.update(chunk)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    return f"sha256:{sha256.hexdigest()}"


def write(create: Create, path: Path, input: str, image_data_format: str) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation from the file, one array in memory at a time.

    Several inputs are x_train_0, x_train_1, ... there and here. Values stay as they are; labels become
    int64. As "image", arrays (samples, height, width, channels) are laid out as asked; as "flat", each
    sample becomes one row. Raises UserError for arrays that are missing, of objects, or do not fit together.
    """
    headers = _headers(path)
    inputs = _inputs(path, headers)
    _check(path, headers, inputs, input)
    classes = 0
    for role, part in (("train", "train"), ("validation", "test")):
        for suffix in inputs:
            x = _arrange(_load(path, f"x_{part}{suffix}"), input, image_data_format)
            create(f"x_{role}{suffix}", x.shape, x.dtype)[...] = x
            del x
        y = _load(path, f"y_{part}").reshape(-1)
        if y.min() < 0 or y.max() >= LABEL_LIMIT:
            raise UserError(f"y_{part} in {path} holds {y.min()} to {y.max()}: number the classes from 0")
        create(f"y_{role}", y.shape, np.int64)[...] = y
        classes = max(classes, int(y.max()) + 1)
    return Contents(num_classes=classes, divisor=_divisor(path, headers, inputs, input))


def _headers(path: Path) -> Mapping[str, Header]:
    """{array name: header}; a shape that the file does not hold is refused before memory is taken for it."""
    found: dict[str, Header] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                with archive.open(info) as stream:
                    version = np.lib.format.read_magic(stream)
                    read = {
                        (1, 0): np.lib.format.read_array_header_1_0,
                        (2, 0): np.lib.format.read_array_header_2_0,
                    }[version]
                    shape, _fortran, dtype = read(stream)
                    length = math.prod(shape) * dtype.itemsize
                    if not dtype.hasobject and stream.tell() + length != info.file_size:
                        raise ValueError(f"{info.filename} in it is cut off")
                found[info.filename.removesuffix(".npy")] = Header(shape, dtype)
    except (*archives.DAMAGE, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    return found


def _load(path: Path, name: str) -> Array:
    try:
        with np.load(path, allow_pickle=False) as file:
            array: Array = file[name]
    except (*archives.DAMAGE, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error
    except MemoryError as error:
        raise UserError(f"{name} in {path} is larger than the free memory: store fewer samples") from error
    return array


def _unreadable(path: Path, error: Exception) -> UserError:
    why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return UserError(f"{path} cannot be read as .npz ({why}): write it again with numpy.savez")


def _inputs(path: Path, headers: Mapping[str, Header]) -> tuple[str, ...]:
    """The suffixes of the inputs in the model's order: ("",), or ("_0", "_1", ...)."""
    numbered = [name for name in headers if re.fullmatch(r"x_train_\d+", name)]
    suffixes = tuple(f"_{place}" for place in range(len(numbered))) if numbered else ("",)
    wanted = [f"x_{part}{suffix}" for part in ("train", "test") for suffix in suffixes]
    missing = [name for name in (*wanted, "y_train", "y_test") if name not in headers]
    if missing:
        raise UserError(
            f"{path} has no {' and no '.join(missing)}: write it with "
            "numpy.savez(path, x_train=..., y_train=..., x_test=..., y_test=...)"
        )
    return suffixes


def _check(path: Path, headers: Mapping[str, Header], inputs: tuple[str, ...], input: str) -> None:
    """Raises UserError unless the arrays are numbers that fit together."""
    for part in ("train", "test"):
        labels = headers[f"y_{part}"]
        samples = labels.shape[0] if labels.shape else 0
        if labels.dtype.kind not in "iu" or labels.shape not in ((samples,), (samples, 1)):
            raise UserError(
                f"y_{part} in {path} is {labels.dtype} of shape {labels.shape}: store class numbers, "
                "one integer for each sample"
            )
        if samples == 0:
            raise UserError(f"y_{part} in {path} is empty: store at least one sample")
        for suffix in inputs:
            x, name = headers[f"x_{part}{suffix}"], f"x_{part}{suffix}"
            if x.dtype.kind not in "biuf":
                raise UserError(f"{name} in {path} is {x.dtype}: store it as an array of numbers")
            if len(x.shape) < 2 or 0 in x.shape[1:]:
                raise UserError(f"{name} in {path} has shape {x.shape}: store (samples, values, ...)")
            if x.shape[0] != samples:
                raise UserError(f"{name} in {path} has {x.shape[0]} samples and y_{part} {samples}: make them equal")
            train = headers[f"x_train{suffix}"]
            if (x.shape[1:], x.dtype) != (train.shape[1:], train.dtype):
                raise UserError(
                    f"{name} in {path} holds {x.dtype} samples of shape {x.shape[1:]} and x_train{suffix} "
                    f"{train.dtype} of {train.shape[1:]}: make them equal"
                )
    if input == "image" and not any(len(headers[f"x_train{suffix}"].shape) == 4 for suffix in inputs):
        shape = headers[f"x_train{inputs[0]}"].shape
        raise UserError(
            f"x_train{inputs[0]} in {path} has shape {shape}, but the example takes images: store (samples, "
            "height, width, channels)"
        )


def _arrange(x: Array, input: str, image_data_format: str) -> Array:
    if input == "image" and x.ndim != 4:  # an input beside the picture
        return x
    return layout.arrange(x, input, image_data_format)


def _divisor(path: Path, headers: Mapping[str, Header], inputs: tuple[str, ...], input: str) -> float:
    """255 for pictures kept as uint8, else 1. A sequence (samples, steps) of uint8 is tokens."""
    kept = [
        header.dtype == np.uint8 and (input != "sequence" or len(header.shape) > 2)
        for header in (headers[f"x_train{suffix}"] for suffix in inputs)
    ]
    if any(kept) and not all(kept):
        raise UserError(
            f"{path} mixes uint8 pictures with other inputs: store the pictures as float32, divided by 255"
        )
    return 255.0 if all(kept) else 1.0
