"""Generates the random pictures on which feature extraction is timed."""

from __future__ import annotations

import numpy as np

from kbench.datasets import layout
from kbench.datasets.arrays import Array, Contents, Create

SAMPLES = 1280
PICTURE = (224, 224, 3)
SEED = 0
CHUNK = 32  # pictures drawn at a time: 37 MiB


def write(create: Create, samples: int, image_data_format: str) -> Contents:
    """Fills x_train (samples, 224, 224, 3), or channels first: float32, uniform in [0, 1); no labels.

    Fewer samples are the first ones of more. Drawn as channels_last, so that both layouts hold the same
    pictures.
    """
    shape = layout.shape(PICTURE, "image", image_data_format)
    images = create("x_train", (samples, *shape), np.float32)
    random = np.random.RandomState(SEED)
    for start in range(0, samples, CHUNK):
        drawn = random.random_sample((min(CHUNK, samples - start), *PICTURE))
        images[start : start + len(drawn)] = layout.arrange(below_one(drawn), "image", image_data_format)
    return Contents(num_classes=0)


def below_one(drawn: Array) -> Array:
    """`drawn`, float64 in [0, 1), as float32 in [0, 1): rounding alone makes a 1 of one in 30 million."""
    rounded: Array = drawn.astype(np.float32)
    rounded[rounded == 1] = np.nextafter(np.float32(1), np.float32(0))
    return rounded
