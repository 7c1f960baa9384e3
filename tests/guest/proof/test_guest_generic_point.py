"""Steps on trial are taken where no number is 0 or occurs twice, at a point that is the same on every backend."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest


def test_zeros_and_ones_of_weights_are_moved_and_other_numbers_stay(tmp_path: Path) -> None:
    value = np.array([0.0, 1.0, 0.5, 0.0, 1.0], "float32")
    with guest(tmp_path, "proof.generic_point") as (module,):
        moved = module.weight(value, 7, 2, 1)
        assert moved.dtype == "float32" and moved[2] == 0.5
        assert len(set(moved)) == 5 and (moved - value >= 0).all() and (moved - value <= module.OF_WEIGHTS).all()
        assert (module.weight(value, 7, 2, 1) == moved).all()
        assert not (module.weight(value, 7, 2, 0) == moved).all()
        counts = np.zeros(3, "int64")
        assert (module.weight(counts, 7, 0, 0) == counts).all()


def test_at_another_point_all_weights_are_others_of_the_same_sign_and_nearly_the_same_size(tmp_path: Path) -> None:
    value = np.array([[0.0, 1.0, 0.5], [-0.5, 2.0, 0.5]], "float32")
    with guest(tmp_path, "proof.generic_point") as (module,):
        first, second, third = (module.weight(value, 7, 2, 1, point) for point in range(3))
        assert second.dtype == "float32" and not (second == first).any() and not (second == third).any()
        assert (np.abs(second / module.weight(value, 7, 2, 1)) > 0).all() and second[0, 0] > 0
        others = value[value > 1] / second[value > 1]
        assert (np.abs(others - 1) <= 1.01 * module.SPREAD / (1 - module.SPREAD)).all()
        assert (module.weight(value, 7, 2, 1, 1) == second).all()
        x = np.ones((8, 4), "float32")
        first, second = (module.GenericInputs(0, {}, point=point).with_noise(x) for point in range(2))
        assert not (first == second).any()


def test_no_number_of_a_float_input_occurs_twice_and_each_feature_is_moved_little(tmp_path: Path) -> None:
    x = np.zeros((8, 5, 5, 2), "float32")
    x[:, 1:3, 1:3] = [1.0, 1000.0]
    with guest(tmp_path, "proof.generic_point") as (module,):
        moved = module.GenericInputs(0, {}).with_noise(x)
        assert np.unique(moved).size == x.size and moved.dtype == x.dtype
        assert ((moved - x).max(axis=(0, 1, 2)) <= module.OF_INPUTS * x.std(axis=(0, 1, 2))).all()
        first = module.GenericInputs(0, {}, images_first=True).with_noise(np.moveaxis(x, -1, 1))
        assert (np.moveaxis(first, 1, -1) == moved).all()
        numbers = module.GenericInputs(0, {}).with_noise({"age": np.array([[3.0], [3.0], [90.0]], "float32")})["age"]
        assert np.floor(numbers).ravel().tolist() == [3, 3, 90] and np.unique(numbers).size == 3


def test_steps_that_a_layer_masks_stay(tmp_path: Path) -> None:
    x = np.ones((4, 6, 3), "float32")
    x[:, 4:] = -1.0
    with guest(tmp_path, "proof.generic_point") as (module,):
        moved = module.GenericInputs(0, {}, masked=[-1.0]).with_noise(x)
        assert (moved[:, 4:] == -1.0).all() and np.unique(moved[:, :4]).size == 4 * 4 * 3
        model = SimpleNamespace(layers=[type("Masking", (), {"mask_value": -1.0})()])
        assert module.masks(model) == [-1.0]


def first_samples(module: Any, steps: Any, x: np.ndarray, sizes: list[int], masked: bool = False) -> Any:
    batch = SimpleNamespace(model_inputs=lambda: x, model_targets=lambda: x, weighted=dict)
    return steps.first_samples(batch, len(x), False, module.GenericInputs(0, {0: (sizes, masked)}))


@pytest.mark.parametrize(
    ("sizes", "samples"),
    [([500], 8), ([81], 8), ([80], 4), ([21], 2), ([9, 500], 8), ([10], None), ([500, 501], None)],
    ids=["many words", "just enough", "fewer samples", "two", "not the places", "too few words", "which of two"],
)
def test_an_embedding_looks_up_no_row_twice_where_it_has_enough(
    tmp_path: Path, sizes: list[int], samples: int | None
) -> None:
    x = np.tile(np.arange(10, dtype="int32"), (32, 1)) % min(10, *sizes, 20)
    x[0, 0] = min(9, max(sizes) - 1)
    with guest(tmp_path, "proof.generic_point", "training.first_step") as (module, steps):
        found = first_samples(module, steps, x, sizes)
        given = found.model_inputs()
        assert given.dtype == x.dtype and found.repeats == (samples is None)
        assert given.size == (samples or 8) * 10 and given.max() < max(sizes)
        if samples is not None:
            assert np.unique(given).size == given.size and given.min() > 0
        elif len(sizes) == 1:
            assert given.min() > 0 and set(np.unique(given, return_counts=True)[1]) <= {8, 9}
        else:
            assert (given == x[:8]).all()


def test_zeros_that_an_embedding_masks_stay(tmp_path: Path) -> None:
    x = np.ones((8, 10), "int64")
    x[:, 6:] = 0
    with guest(tmp_path, "proof.generic_point", "training.first_step") as (module, steps):
        given = first_samples(module, steps, x, [100], masked=True).model_inputs()
        assert (given[:, 6:] == 0).all() and np.unique(given[:, :6]).size == 48
