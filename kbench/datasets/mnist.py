"""Prepares MNIST from its four published idx files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kbench.datasets import archives, layout
from kbench.datasets.arrays import Array, Contents, Create
from kbench.datasets.registry import File

PIXELS, LABELS = 2051, 2049  # magic numbers: unsigned bytes in three dimensions, in one


def write(
    create: Create, files: tuple[File, ...], paths: tuple[Path, ...], input: str, image_data_format: str
) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation: uint8 pictures 0..255 and int64 classes 0..9.

    `files` are training pictures, training labels, test pictures, test labels. Raises UserError.
    """
    for place, role in ((0, "train"), (2, "validation")):
        images = _read(files[place], paths[place], PIXELS)[..., None]
        shape = layout.shape((images.shape[1], images.shape[2], 1), input, image_data_format)
        x = create(f"x_{role}", (len(images), *shape), np.uint8)
        x[...] = layout.arrange(images, input, image_data_format)
        y = _read(files[place + 1], paths[place + 1], LABELS)
        create(f"y_{role}", y.shape, np.int64)[...] = y
    return Contents(num_classes=10, divisor=255.0)


def _read(file: File, path: Path, magic: int) -> Array:
    """The array of an idx file: big-endian magic number and lengths, then the bytes."""
    plain = archives.gunzipped(path, file, archives.verified(path, file))

    def read() -> Array:
        header = np.frombuffer(plain, ">u4", 1 + magic % 256)
        if header[0] != magic:
            raise ValueError(f"it starts with {header[0]} instead of {magic}")
        shape = tuple(int(length) for length in header[1:])
        return np.frombuffer(plain, np.uint8, offset=header.nbytes).reshape(shape)

    return archives.parse(path, file, read)
