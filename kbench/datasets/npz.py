"""Prepares the user's own .npz file: x_train, y_train, x_test, y_test."""

from __future__ import annotations

import contextlib
import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kbench.datasets.arrays import Array, Contents, Create, arrange
from kbench.errors import UserError

LABEL_LIMIT = 2**31  # class numbers become int32 in some backends


def digest(path: Path) -> str:
    """The SHA-256 of the file. Raises UserError if it does not exist or cannot be read."""
    if not path.is_file():
        raise UserError(f"{path} does not exist: name an existing .npz file as the example's data")
    with _reading(path), zipfile.ZipFile(path):
        pass  # before all of it is read: it may be anything, and seem to hold a terabyte
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

    Several inputs are x_train_0, x_train_1, ..., and several targets likewise; w_train and w_test are sample weights;
    x_names and y_names are names of inputs and targets. Values are not changed, but class numbers become int64. As
    "image", arrays (samples, height, width, channels) get the image_data_format; as "flat", each sample becomes one
    row. Raises UserError for arrays that are missing, hold objects, or do not fit together.
    """
    with _reading(path):
        file: Any = np.load(path, allow_pickle=False)  # a pickle in somebody's file could run anything
        names = set(file.files)
    inputs, targets = _suffixes(path, names)
    kinds: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}  # input -> (dtype, shape of a sample), of training
    classes = 0
    with file:
        for role, part in (("train", "train"), ("validation", "test")):
            count = 0
            for suffix in targets:
                y = _targets(path, file, f"y_{part}{suffix}", single=targets == ("",))
                if count and len(y) != count:
                    raise UserError(f"y_{part}{suffix} in {path} has {len(y)} samples and the others {count}")
                count = len(y)
                are_classes = targets == ("",) and y.dtype.kind in "iu" and y.ndim == 1
                classes = max(classes, int(y.max()) + 1) if are_classes else 0
                if input == "image" and y.ndim == 4:
                    y = arrange(y, input, image_data_format)
                create(f"y_{role}{suffix}", y.shape, y.dtype)[...] = y
                del y
            if f"w_{part}" in names:
                w = _weights(path, file, f"w_{part}", count)
                create(f"w_{role}", w.shape, np.float32)[...] = w
            for suffix in inputs:
                x = _samples(path, file, f"x_{part}{suffix}", count)
                kind = kinds.setdefault(suffix, (x.dtype, x.shape[1:]))
                if (x.dtype, x.shape[1:]) != kind:
                    raise UserError(
                        f"x_{part}{suffix} in {path} holds {x.dtype} samples of shape {x.shape[1:]} and "
                        f"x_train{suffix} {kind[0]} of {kind[1]}: make them equal"
                    )
                if input != "image" or x.ndim == 4:  # there may be another input beside the image
                    x = arrange(x, input, image_data_format)
                create(f"x_{role}{suffix}", x.shape, x.dtype)[...] = x
                del x
        input_names, target_names = _names(path, file, "x_names"), _names(path, file, "y_names")
    if input == "image" and not any(len(shape) == 3 for _, shape in kinds.values()):
        raise UserError(
            f"x_train{inputs[0]} in {path} has samples of shape {kinds[inputs[0]][1]}, but the example takes images: "
            "store (samples, height, width, channels)"
        )
    return Contents(classes, _divisor(path, kinds, input), input_names, target_names)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # numpy and zipfile raise anything on damaged bytes
        why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UserError(f"{path} cannot be read as .npz ({why}): write it again with numpy.savez") from error


def _suffixes(path: Path, names: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The suffixes of inputs and of targets in the model's order: ("",), or ("_0", "_1", ...)."""
    found = []
    for role in ("x", "y"):
        numbered = [name for name in names if re.fullmatch(rf"{role}_train_\d+", name)]
        found.append(tuple(f"_{place}" for place in range(len(numbered))) if numbered else ("",))
    inputs, targets = found
    wanted = [f"x_{part}{suffix}" for part in ("train", "test") for suffix in inputs]
    wanted += [f"y_{part}{suffix}" for part in ("train", "test") for suffix in targets]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise UserError(
            f"{path} has no {' and no '.join(missing)}: write it with "
            "numpy.savez(path, x_train=..., y_train=..., x_test=..., y_test=...)"
        )
    return inputs, targets


def _names(path: Path, file: Any, name: str) -> tuple[str, ...]:
    with _reading(path):
        return tuple(map(str, np.atleast_1d(file[name]))) if name in file.files else ()


def _load(path: Path, file: Any, name: str) -> Array:
    with _reading(path):
        array = file[name]
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{name} in it is not an array")
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name} in {path} is {array.dtype}: store it as an array of numbers")
    return array


def _targets(path: Path, file: Any, name: str, single: bool) -> Array:
    """Class numbers of shape (samples,), where there is a `single` integer a sample, or numbers as they are."""
    y = _load(path, file, name)
    if not y.size or not y.ndim:
        raise UserError(f"{name} in {path} is empty: store at least one sample")
    if not single or y.dtype.kind not in "iu" or y.shape not in (y.shape[:1], (*y.shape[:1], 1)):
        return y
    if y.min() < 0 or y.max() >= LABEL_LIMIT:
        raise UserError(
            f"{name} in {path} holds {y.min()} to {y.max()}: number the classes from 0, and store other "
            "targets as float32"
        )
    return y.reshape(-1).astype(np.int64)


def _weights(path: Path, file: Any, name: str, count: int) -> Array:
    w = _load(path, file, name)
    if w.shape[:1] != (count,):
        raise UserError(f"{name} in {path} is {w.dtype} of shape {w.shape}: store one number for each sample")
    return w


def _samples(path: Path, file: Any, name: str, count: int) -> Array:
    x = _load(path, file, name)
    if x.ndim < 2 or 0 in x.shape[1:]:
        raise UserError(f"{name} in {path} has shape {x.shape}: store (samples, values, ...)")
    if len(x) != count:
        raise UserError(f"{name} in {path} has {len(x)} samples and {count} targets: make them equal")
    return x


def _divisor(path: Path, kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]], input: str) -> float:
    """255 for images kept as uint8, else 1. A sequence (samples, steps) of uint8 is tokens."""
    kept = [dtype == np.uint8 and (input != "sequence" or len(shape) > 1) for dtype, shape in kinds.values()]
    if any(kept) and not all(kept):
        raise UserError(f"{path} mixes uint8 images with other inputs: store the images as float32, divided by 255")
    return 255.0 if all(kept) else 1.0
