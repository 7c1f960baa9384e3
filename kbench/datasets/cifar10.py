"""Prepares CIFAR-10 from the six pickled batches of its published archive."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from kbench.datasets import archives
from kbench.datasets.arrays import Array, Contents, Create, arrange, sample_shape
from kbench.datasets.registry import RemoteFile

PICTURE = (32, 32, 3)


def write(create: Create, file: RemoteFile, path: Path, input: str, image_data_format: str) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation: uint8 images 0..255 and int64 classes 0..9.

    The members of `file` are the training batches in their order, then the test batch; in memory is one batch at a
    time, whatever the archive's order. Raises UserError.
    """
    shape = sample_shape(PICTURE, input, image_data_format)
    sizes = [member.samples for member in file.members]
    slots: list[tuple[Array, Array]] = []
    for role, rows in (("train", sizes[:-1]), ("validation", sizes[-1:])):
        x = create(f"x_{role}", (sum(rows), *shape), np.uint8)
        y = create(f"y_{role}", (sum(rows),), np.int64)
        ends = np.cumsum(rows)
        slots += [(x[end - n : end], y[end - n : end]) for n, end in zip(rows, ends, strict=True)]
    height, width, channels = PICTURE
    for place, content in archives.members(path, file):
        # A pickle can run anything. This one's digest was verified, so it is the published one.
        batch = pickle.loads(content, encoding="bytes")
        images = batch[b"data"].reshape(-1, channels, height, width).transpose(0, 2, 3, 1)
        slots[place][0][...] = arrange(images, input, image_data_format)
        slots[place][1][...] = batch[b"labels"]
    return Contents(num_classes=10, divisor=255.0)
