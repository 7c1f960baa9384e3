"""Arranges images as an example wants them: as an image in either format, flat, or as a sequence."""

from __future__ import annotations

import numpy as np

from kbench.datasets.arrays import Array
from kbench.values import CHANNELS_FIRST


def shape(picture: tuple[int, int, int], input: str, image_data_format: str) -> tuple[int, ...]:
    """The shape of one sample, from `picture` = (height, width, channels)."""
    sample: tuple[int, ...] = arrange(np.empty((1, *picture), np.uint8), input, image_data_format).shape[1:]
    return sample


def arrange(pictures: Array, input: str, image_data_format: str) -> Array:
    """`pictures` (samples, height, width, channels) in that shape, as a view if possible.

    A sequence is one of rows; image_data_format does not apply.
    """
    if input == "flat":
        return pictures.reshape(len(pictures), -1)
    if input == "image" and image_data_format == CHANNELS_FIRST:
        return np.moveaxis(pictures, 3, 1)
    return pictures
