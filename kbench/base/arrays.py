"""The arrays that an example is trained on, as the guest gets them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Data:
    """Arrays for the guest: .npy files without pickles, in one layout."""

    name: str  # "mnist"
    source: str  # "real" or "synthetic"
    folder: Path
    train: tuple[str, ...]  # file names of the inputs, in the model's order: ("x_train.npy",)
    train_targets: tuple[str, ...]  # one array of integers (samples,) holds class numbers; empty if unknown
    validation: tuple[str, ...]
    validation_targets: tuple[str, ...]
    num_classes: int  # 0 if the targets are not class numbers
    divisor: float  # stored values are divided by this: 255.0 for images stored as uint8
    input_shapes: tuple[tuple[int, ...], ...]  # per input, without the batch axis
    sha256: str  # over all arrays: names, dtypes, shapes, bytes
    samples: int = 0  # to train on; 0 if unknown
    validation_samples: int = 0
    train_weights: str = ""  # file name of the samples' weights
    validation_weights: str = ""
    input_names: tuple[str, ...] = ()  # if inputs have names
    target_names: tuple[str, ...] = ()
