"""Prepares the IMDB reviews as Keras's imdb.load_data and pad_sequences give them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kbench.datasets import archives
from kbench.datasets.arrays import Array, Contents, Create
from kbench.datasets.registry import RemoteFile

VOCABULARY = 30_000
START, OUT_OF_VOCABULARY, INDEX_FROM = 1, 2, 3
LENGTH = 150
# Keras's loader shuffles both parts with this seed. It is kept for both sources: a run on the first samples
# must see both classes, in whatever order the file has them.
SHUFFLE_SEED = 113

Reviews = Callable[[int], Sequence[int]]  # the frequency ranks of review i


def write(create: Create, file: RemoteFile, path: Path) -> Contents:
    """Fills x_train, y_train, x_validation, y_validation: int32 tokens (samples, 150) and int64 classes.

    Class 1 is a favourable review. `file` is Keras's imdb.npz or imdb_ranks.npz. Raises UserError.
    """
    content = io.BytesIO(archives.verified(path, file))
    random = np.random.RandomState(SHUFFLE_SEED)
    # Keras's file holds pickles, which can run anything. Its digest was verified, so it is the published one.
    with np.load(content, allow_pickle=True) as archive:
        for role, part in (("train", "train"), ("validation", "test")):
            reviews, labels = reviews_of(archive, part)
            order = np.arange(len(labels))
            random.shuffle(order)
            tokens = create(f"x_{role}", (len(order), LENGTH), np.int32)
            for row, place in enumerate(order):
                encode(reviews(int(place)), tokens[row])
            create(f"y_{role}", (len(order),), np.int64)[...] = labels[order]
    return Contents(num_classes=2)


def encode(ranks: Sequence[int], row: Array) -> None:
    """Writes a review into `row` (zeros) as load_data(num_words=30000) and pad_sequences(maxlen=len(row)) would."""
    kept = np.asarray(ranks[-len(row) :], np.int64) + INDEX_FROM
    kept[kept >= VOCABULARY] = OUT_OF_VOCABULARY
    row[len(row) - len(kept) :] = kept
    if len(kept) < len(row):
        row[len(row) - len(kept) - 1] = START


def reviews_of(archive: Any, part: str) -> tuple[Reviews, Array]:
    """Keras's own file has an array of lists; imdb_ranks.npz has review i in tokens[offsets[i]:offsets[i + 1]]."""
    labels = archive[f"y_{part}"]
    if f"x_{part}" in archive:
        return archive[f"x_{part}"].__getitem__, labels
    tokens, offsets = archive[f"tokens_{part}"], archive[f"offsets_{part}"]
    return lambda i: tokens[offsets[i] : offsets[i + 1]], labels
