"""Prepares a play of Shakespeare's for a network that predicts the next character."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from kbench.datasets import archives
from kbench.datasets.arrays import Array, Contents, Create
from kbench.datasets.registry import RemoteFile

STEPS = 64  # characters of a piece
STRIDE = 16  # from one training piece to the next; pieces to validate do not overlap
TRAIN, VALIDATION = 7_000, 190


def write(create: Create, file: RemoteFile, path: Path) -> Contents:
    """Fills x_* and y_* from the text, compressed or not: see `pieces`. Raises UserError."""
    content = archives.verified(path, file)
    text = np.frombuffer(gzip.decompress(content) if path.suffix == ".gz" else content, np.uint8)
    return pieces(create, np.unique(text, return_inverse=True)[1].astype(np.int32))


def pieces(create: Create, numbers: Array) -> Contents:
    """Fills x_* (samples, 64) with character numbers, int32, and y_* with the character after each of them, int64.

    A character's number is its place among all characters of the text, sorted. Pieces to validate come after those
    to train, so that no network has seen them.
    """
    end = 0
    for role, count, stride in (("train", TRAIN, STRIDE), ("validation", VALIDATION, STEPS)):
        begins = end + stride * np.arange(count)
        places = begins[:, None] + np.arange(STEPS)
        create(f"x_{role}", places.shape, np.int32)[...] = numbers[places]
        create(f"y_{role}", places.shape, np.int64)[...] = numbers[places + 1]
        end = int(places[-1, -1]) + 2
    return Contents(num_classes=int(numbers.max()) + 1)
