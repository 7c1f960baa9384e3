"""The order of batches that an example's file makes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

PICTURES = np.random.RandomState(0).uniform(size=(8, 4, 5, 3)).astype("float32")
ONE_HOT = np.eye(3)[np.arange(8) % 3]


def order_of(folder: Path, image_data_format: str, dtype: str, last: int = 7) -> str:
    first = image_data_format == "channels_first"

    def batches(x: Any, y: Any, batch_size: int, seed: int) -> Any:
        given = x.copy()
        given[last] *= 2
        for at in range(0, len(x), batch_size):
            yield given[at : at + batch_size], y[at : at + batch_size]

    with guest(folder, "drivers.feeding") as (feeding,):
        x = np.moveaxis(PICTURES, -1, 1) if first else PICTURES
        buffer = SimpleNamespace(
            fill=lambda samples: None, model_inputs=lambda: x, model_targets=lambda: ONE_HOT.astype(dtype)
        )
        feeding.arrays.Buffer = lambda part, samples, targets: buffer
        spec = {"batch_size": 4, "seed": 1, "input": "image", "image_data_format": image_data_format}
        feed = feeding.feed(SimpleNamespace(batches=batches), spec, SimpleNamespace(samples=8), None)
        return str(feed.order_sha256)


def test_batches_of_a_file_have_one_order_in_both_layouts_and_whatever_their_dtype(tmp_path: Path) -> None:
    expected = order_of(tmp_path, "channels_last", "float32")
    assert order_of(tmp_path, "channels_first", "float64") == expected
    assert order_of(tmp_path, "channels_last", "float32", last=6) != expected


@pytest.mark.parametrize("given", [5, (1, 2, 3, 4)])
def test_batches_of_a_wrong_form_are_refused(tmp_path: Path, given: Any) -> None:
    with guest(tmp_path, "drivers.feeding", "protocol") as (feeding, protocol):
        buffer = SimpleNamespace(fill=lambda samples: None, model_inputs=lambda: 0, model_targets=lambda: 0)
        feeding.arrays.Buffer = lambda part, samples, targets: buffer
        spec = {"batch_size": 4, "seed": 1, "input": "flat", "image_data_format": "channels_last"}
        example = SimpleNamespace(batches=lambda *args: iter([given]))
        with pytest.raises(protocol.Refused, match="must give"):
            feeding.feed(example, spec, SimpleNamespace(samples=8), None)
