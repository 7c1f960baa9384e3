"""Arranges images as an example wants them, writes a prepared dataset's arrays as .npy files, and hashes them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kbench.datasets.prepared import sync
from kbench.records.values import CHANNELS_FIRST

CHUNK = 4096  # samples that are hashed at a time

Array = np.ndarray[Any, np.dtype[Any]]

# Makes an array of that name, shape and dtype in the folder under preparation, to be filled in place.
Create = Callable[[str, tuple[int, ...], npt.DTypeLike], Array]


@dataclass(frozen=True)
class Contents:
    """Facts about the arrays that their files do not hold."""

    num_classes: int  # 0 if the targets are not class numbers
    divisor: float = 1.0
    input_names: tuple[str, ...] = ()  # if the model's inputs have names
    target_names: tuple[str, ...] = ()


Write = Callable[[Create], Contents]


def write_arrays(folder: Path, write: Write, image_data_format: str = "") -> dict[str, object]:
    """Has `write` fill arrays in `folder`, with images in `image_data_format`.

    Returns its contents, "arrays": {file name: {"dtype", "shape", "bytes" of the file}}, and "sha256" over names,
    dtypes, shapes and bytes of all arrays. Images are hashed as channels_last, so that the hash is the same in
    either layout. The files are on the disk when it returns. Raises OSError.
    """
    made: dict[str, Array] = {}

    def create(name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        # Little-endian everywhere, so that the hash is the same on every machine.
        little = np.dtype(dtype).newbyteorder("<")
        path = folder / f"{name}.npy"
        array: Array = np.lib.format.open_memmap(path, mode="w+", dtype=little, shape=shape)
        # Writing to a mapped file on a full disk kills the process; reserving its blocks raises OSError instead.
        with path.open("r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)
        made[path.name] = array
        return array

    contents = write(create)
    digest = hashlib.sha256()
    described: dict[str, dict[str, object]] = {}
    for name, array in sorted(made.items()):
        array.flush()  # type: ignore[attr-defined]  # a memmap
        sync(folder / name)
        described[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "bytes": (folder / name).stat().st_size,
        }
        images = image_data_format == CHANNELS_FIRST and array.ndim == 4
        same = np.moveaxis(array, 1, 3) if images else array
        digest.update(json.dumps([name, array.dtype.str, list(same.shape)]).encode() + b"\n")
        for start in range(0, len(same), CHUNK):
            digest.update(np.ascontiguousarray(same[start : start + CHUNK]).reshape(-1).view(np.uint8).data)
    return {**vars(contents), "arrays": described, "sha256": digest.hexdigest()}


def sample_shape(image: tuple[int, int, int], input: str, image_data_format: str) -> tuple[int, ...]:
    """The shape of one sample, from `image` = (height, width, channels)."""
    sample: tuple[int, ...] = arrange(np.empty((1, *image), np.uint8), input, image_data_format).shape[1:]
    return sample


def arrange(images: Array, input: str, image_data_format: str) -> Array:
    """`images` (samples, height, width, channels) as the example wants them; a sequence is one of rows."""
    if input == "flat":
        return images.reshape(len(images), -1)
    if input == "image" and image_data_format == CHANNELS_FIRST:
        return np.moveaxis(images, 3, 1)
    return images
