"""Numbers of a model's outputs are drawn alike on every backend, whatever its layout, and from all of each output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from guest_modules import guest

RANDOM = np.random.RandomState(0)
PICTURES = RANDOM.rand(8, 16, 12, 3).astype("float32")
EXAMPLE = SimpleNamespace(INPUT="image")


def test_pictures_are_sampled_alike_in_both_layouts(tmp_path: Any) -> None:
    with guest(tmp_path, "proof.first_outputs") as (module,):

        def sampled(pictures: np.ndarray, layout: str) -> Any:
            return module.sampled(
                SimpleNamespace(), EXAMPLE, {"batch_size": 4, "image_data_format": layout}, pictures
            )

        last = sampled(PICTURES, "channels_last")
        assert last == sampled(np.moveaxis(PICTURES, -1, 1), "channels_first")
        assert len(last["outputs"]) == 1 and len(last["outputs"][0]) == 64
        assert last == sampled(PICTURES[:4], "channels_last")  # of the first batch alone


def test_every_output_has_numbers_and_a_scale_and_many_classes_are_all_in_reach(tmp_path: Any) -> None:
    classes = np.full((4, 2000), 1e-3)
    classes[:, 1000:] = 5e-3
    with guest(tmp_path, "proof.first_outputs") as (module,):
        spec = {"batch_size": 4, "image_data_format": "channels_last"}
        found = module.sampled(SimpleNamespace(), EXAMPLE, spec, [classes, np.array([[1.0], [-2.0], [0.0], [0.5]])])
    assert found["scales"] == [5e-3, 2.0]
    assert set(found["outputs"][0]) == {1e-3, 5e-3} and found["outputs"][1] == [1.0, -2.0, 0.0, 0.5]


def test_how_far_outputs_are_apart_is_told_in_their_largest_number(tmp_path: Any) -> None:
    one = {"outputs": [[0.5, -1.0], [8.0]], "scales": [2.0, 8.0]}
    with guest(tmp_path, "sketches") as (module,):
        assert module.apart(one, one) == 0.0
        assert module.apart(one, {"outputs": [[0.5, -0.5], [7.0]], "scales": [2.0, 8.0]}) == 0.25
        assert module.apart(one, {"outputs": [[0.5], [8.0]], "scales": [2.0, 8.0]}) == 0.5, "another shape"
