"""Prepares the IMDB reviews as Keras's imdb.load_data and pad_sequences give them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kbench.datasets import archives, pickles
from kbench.datasets.arrays import Array, Contents, Create
from kbench.datasets.registry import File

VOCABULARY = 30_000
START, OUT_OF_VOCABULARY, INDEX_FROM = 1, 2, 3
LENGTH = 150
# Keras's loader shuffles both parts with this seed. It is kept for both sources: a run on the first samples
# must see both classes, in whatever order the file has them.
SHUFFLE_SEED = 113

Reviews = Callable[[int], Sequence[int]]  # the frequency ranks of review i


def write(create: Create, file: File, path: Path) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation: int32 tokens (samples, 150) and int64 classes.

    Class 1 is a favourable review. `file` is Keras's imdb.npz or imdb_ranks.npz, told apart by what is in
    it. Raises UserError.
    """
    content = archives.verified(path, file)
    archive = archives.parse(path, file, lambda: zipfile.ZipFile(io.BytesIO(content)))
    with archive:
        read = _read_ranks if "tokens_train.npy" in archive.namelist() else _read_keras
        random = np.random.RandomState(SHUFFLE_SEED)
        for role, part in (("train", "train"), ("validation", "test")):
            reviews, labels = archives.parse(path, file, partial(read, archive, part))
            order = np.arange(len(labels))
            random.shuffle(order)
            tokens = create(f"x_{role}", (len(order), LENGTH), np.int32)
            for row, place in enumerate(order):
                encode(reviews(int(place)), tokens[row])
            create(f"y_{role}", (len(order),), np.int64)[...] = labels[order]
    return Contents(num_classes=2)


def encode(ranks: Sequence[int], row: Array) -> None:
    """Writes a review into `row` (zeros): start, ranks + 3, rare words as 2; cut and padded at the front.

    As load_data(num_words=30000) and then pad_sequences(maxlen=len(row)) would.
    """
    kept = np.asarray(ranks[-len(row) :], np.int64) + INDEX_FROM
    kept[kept >= VOCABULARY] = OUT_OF_VOCABULARY
    row[len(row) - len(kept) :] = kept
    if len(kept) < len(row):
        row[len(row) - len(kept) - 1] = START


def _read_ranks(archive: zipfile.ZipFile, part: str) -> tuple[Reviews, Array]:
    """From imdb_ranks.npz: review i is tokens[offsets[i]:offsets[i + 1]]."""
    tokens, offsets, labels = (_array(archive, f"{name}_{part}.npy") for name in ("tokens", "offsets", "y"))
    if len(offsets) != len(labels) + 1 or offsets[-1] != len(tokens):
        raise ValueError(f"the {part} reviews and labels in it do not fit together")
    return lambda i: tokens[offsets[i] : offsets[i + 1]], labels


def _read_keras(archive: zipfile.ZipFile, part: str) -> tuple[Reviews, Array]:
    """From imdb.npz: an array of lists, hence a pickle, and an array of labels."""
    reviews, labels = _array(archive, f"x_{part}.npy"), _array(archive, f"y_{part}.npy")
    if len(reviews) != len(labels):
        raise ValueError(f"the {part} reviews and labels in it do not fit together")
    return reviews.__getitem__, labels


def _array(archive: zipfile.ZipFile, member: str) -> Any:
    stream = io.BytesIO(archive.read(member))
    major, _minor = np.lib.format.read_magic(stream)
    if major != 1:
        raise ValueError(f"{member} in it has version {major} of the .npy format")
    _shape, _fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject:
        return pickles.load(stream)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)
