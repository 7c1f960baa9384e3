"""Prepares MNIST from its four published idx files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from kbench.datasets import archives
from kbench.datasets.arrays import Array, Contents, Create, arrange
from kbench.datasets.registry import RemoteFile


def write(
    create: Create, files: tuple[RemoteFile, ...], paths: tuple[Path, ...], input: str, image_data_format: str
) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation: uint8 images 0..255 and int64 classes 0..9.

    `files` are training images, training labels, test images, test labels. Raises UserError.
    """
    arrays = [read(file, path) for file, path in zip(files, paths, strict=True)]
    for role, (images, y) in (("train", arrays[:2]), ("validation", arrays[2:])):
        x = arrange(images[..., None], input, image_data_format)
        create(f"x_{role}", x.shape, np.uint8)[...] = x
        create(f"y_{role}", y.shape, np.int64)[...] = y
    return Contents(num_classes=10, divisor=255.0)


def read(file: RemoteFile, path: Path) -> Array:
    """The array of an idx file: a number whose last byte counts the axes, big-endian lengths, then the bytes."""
    plain = gzip.decompress(archives.verified(path, file))
    lengths = np.frombuffer(plain, ">u4", 1 + plain[3])[1:]
    return np.frombuffer(plain, np.uint8, offset=4 + lengths.nbytes).reshape(lengths)
