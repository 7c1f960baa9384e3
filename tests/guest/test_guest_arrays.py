"""The guest's data: opened without a copy, in an order that every backend shares."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guest_modules import alone

arrays = alone("arrays")
SHIFTS = {"width_shift": 0.25, "height_shift": 0.25, "horizontal_flip": True}
# The same under Python 3.6 with numpy 1.19 and 3.11 with numpy 2: results rest on it.
EPOCH_1 = [9, 4, 0, 8, 1, 5, 3, 2, 6, 7]
ORDER_SHA256 = "cbb46cededb2151b27695977fa01152855a5ecc1d91d5dbbcc6a4c92b5944b23"
AUGMENTED_SHA256 = "a3300a00b7228e82318943a68e4a29bb730be80f3d8e2600c87852be9e9569ea"


def part(folder: Path, divisor: float = 255.0, **saved: Any) -> Any:
    for name, array in saved.items():
        np.save(folder / f"{name}.npy", array)
    return arrays.open_part(described(folder, divisor, **saved), "train", 4)


def described(folder: Path, divisor: float = 1.0, **saved: Any) -> dict[str, Any]:
    """The data of a spec, whose inputs are x..., whose targets are y..., and whose weights are w."""
    inputs, targets = ([f"{name}.npy" for name in saved if name.startswith(role)] for role in ("x", "y"))
    return {
        "folder": str(folder), "divisor": divisor, "train": inputs, "train_targets": targets,
        "train_weights": "w.npy" if "w" in saved else "", "input_names": [], "target_names": [],
    }  # fmt: skip


def images(count: int = 6, height: int = 8, width: int = 8, channels: int = 3) -> Any:
    return np.random.RandomState(3).random_sample((count, height, width, channels)).astype("float32")


def test_a_part_is_the_first_samples_mapped_from_disk_and_not_read(tmp_path: Path) -> None:
    opened = part(tmp_path, x=np.arange(20, dtype="uint8").reshape(10, 2), y=np.arange(10))
    assert isinstance(opened.inputs[0], np.memmap) and isinstance(opened.targets[0], np.memmap)
    assert opened.inputs[0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert arrays.class_numbers(opened).tolist() == [0, 1, 2, 3]
    assert arrays.class_numbers(part(tmp_path, x=np.zeros((4, 2)))) is None
    assert arrays.class_numbers(part(tmp_path, x=np.zeros((4, 2)), y=np.zeros(4))) is None


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError):
        arrays.open_part(described(tmp_path, x=None), "train", 1)


def test_labels_become_rows_with_a_single_one() -> None:
    rows = arrays.one_hot(np.array([2, 0]), 3)
    assert rows.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert rows.dtype == "float32"


@pytest.mark.parametrize(
    ("targets", "loss", "scored"),
    [
        (np.zeros(4, "int64"), "categorical_crossentropy", True),
        (np.zeros((4, 3), "int64"), "sparse_categorical_crossentropy", True),
        (np.zeros((4, 3), "int64"), "binary_crossentropy", False),  # several labels of a sample
        (np.zeros((4, 1), "int64"), "sparse_categorical_crossentropy", False),
        (np.zeros((4, 3), "float32"), "sparse_categorical_crossentropy", False),
    ],
)
def test_class_numbers_are_one_a_sample_or_one_a_step_of_a_sparse_cross_entropy(
    targets: Any, loss: str, scored: bool
) -> None:
    part = arrays.Part([], [targets], None, 4, 1, [], [])
    assert (arrays.class_numbers(part, loss) is targets) is scored


@pytest.mark.parametrize(
    ("targets", "loss", "alone"),
    [
        (np.zeros(4), "binary_crossentropy", True),
        (np.zeros((4, 1)), "binary_crossentropy", True),
        (np.zeros((4, 9, 1)), "binary_crossentropy", True),
        (np.zeros((4, 3)), "binary_crossentropy", False),  # several labels of a sample
        (np.zeros((4, 1)), "mse", False),
    ],
)
def test_zeros_and_ones_are_one_a_sample_or_step_of_a_binary_cross_entropy(
    targets: Any, loss: str, alone: bool
) -> None:
    assert arrays.zeros_and_ones(arrays.Part([], [targets], None, 4, 1, [], []), loss) is alone
    assert not arrays.zeros_and_ones(arrays.Part([], [targets, targets], None, 4, 1, [], []), loss)


def test_batches_of_named_inputs_are_cut_alike_and_the_last_may_be_smaller() -> None:
    cut = list(arrays.batches({"a": np.arange(5), "b": np.arange(10).reshape(5, 2)}, 2))
    assert [one["a"].tolist() for one in cut] == [[0, 1], [2, 3], [4]]
    assert [one["b"].shape for one in cut] == [(2, 2), (2, 2), (1, 2)]
    assert [one.tolist() for one in arrays.batches(np.arange(4), 2)] == [[0, 1], [2, 3]]


def test_the_order_of_an_epoch_is_known_forever() -> None:
    order = arrays.epoch_order(1000, 960, 0, 1)
    assert len(order) == 960 and len(set(order)) == 960 and set(order) <= set(range(1000))
    assert arrays.epoch_order(10, 10, 0, 1).tolist() == EPOCH_1
    assert arrays.order_sha256(1000, 960, 0, 2) == ORDER_SHA256


def test_the_hash_is_over_the_orders_of_all_epochs() -> None:
    both = b"".join(arrays.epoch_order(9, 8, 5, epoch).astype("<i8").tobytes() for epoch in (1, 2))
    assert arrays.order_sha256(9, 8, 5, 2) == hashlib.sha256(both).hexdigest()


def test_each_epoch_and_each_seed_has_an_order_of_its_own() -> None:
    orders = {tuple(arrays.epoch_order(50, 50, seed, epoch)) for seed in (0, 1) for epoch in (1, 2)}
    assert len(orders) == 4


def test_a_buffer_holds_pictures_from_0_to_1_in_the_asked_order(tmp_path: Path) -> None:
    x = np.array([[0], [51], [102], [255]], dtype="uint8")
    opened = part(tmp_path, x=x, y=np.arange(4))
    buffer = arrays.Buffer(opened, 3, [arrays.one_hot(arrays.class_numbers(opened), 4)])
    buffer.fill([3, 1, 0])
    assert buffer.model_inputs().dtype == "float32"
    np.testing.assert_array_equal(buffer.model_inputs(), np.array([[1.0], [0.2], [0.0]], "float32"))
    assert buffer.model_targets().argmax(axis=1).tolist() == [3, 1, 0]


def test_tokens_stay_whole_numbers(tmp_path: Path) -> None:
    buffer = arrays.Buffer(part(tmp_path, 1.0, x=np.arange(8, dtype="int32").reshape(4, 2)), 2)
    buffer.fill([1, 0])
    assert buffer.model_inputs().dtype == "int32"
    assert buffer.model_inputs().tolist() == [[2, 3], [0, 1]]


def test_several_inputs_are_a_list_in_the_models_order(tmp_path: Path) -> None:
    opened = part(tmp_path, 1.0, x_0=np.zeros((4, 2), "int32"), x_1=np.ones((4, 5), "int32"))
    buffer = arrays.Buffer(opened, 4)
    buffer.fill(range(4))
    assert [array.shape for array in buffer.model_inputs()] == [(4, 2), (4, 5)]


def test_inputs_and_targets_go_by_their_names_and_samples_have_weights(tmp_path: Path) -> None:
    saved = {"x_0": np.zeros((4, 2)), "x_1": np.ones((4, 5)), "y": np.arange(4.0), "w": np.arange(4.0)}
    named = part(tmp_path, 1.0, **saved)._replace(input_names=["left", "right"], target_names=["price"])
    buffer = arrays.Buffer(named, 2, named.targets)
    buffer.fill([3, 1])
    assert {name: x.shape for name, x in buffer.model_inputs().items()} == {"left": (2, 2), "right": (2, 5)}
    assert buffer.model_targets()["price"].tolist() == [3.0, 1.0]
    assert buffer.weighted()["sample_weight"].tolist() == [3.0, 1.0]
    assert {x.dtype for x in (*buffer.inputs, *buffer.targets)} == {np.dtype("float32")}, "whatever is stored"
    assert arrays.Buffer(named, 2).weighted() == {}, "nothing is trained on it"


def test_a_buffer_is_filled_again_in_place(tmp_path: Path) -> None:
    count = 2500  # more than one chunk
    np.save(tmp_path / "x.npy", np.arange(count, dtype="int32").reshape(-1, 1))
    opened = arrays.open_part(described(tmp_path, x=None), "train", count)
    buffer = arrays.Buffer(opened, count)
    kept = buffer.model_inputs()
    for epoch in (1, 2):
        order = arrays.epoch_order(count, count, 0, epoch)
        buffer.fill(order)
        assert buffer.model_inputs() is kept
        np.testing.assert_array_equal(kept[:, 0], order)


def test_both_layouts_are_augmented_alike() -> None:
    last = images()
    first = np.ascontiguousarray(last.transpose(0, 3, 1, 2))
    arrays.augment(last, SHIFTS, False, 0, 1)
    arrays.augment(first, SHIFTS, True, 0, 1)
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), last)
    assert not np.array_equal(last, images())


def test_a_shift_repeats_the_edge_and_brings_in_nothing_new() -> None:
    rows = np.arange(8, dtype="float32")
    made = np.broadcast_to(rows[None, :, None, None], (200, 8, 4, 1)).copy()
    arrays.augment(made, {"width_shift": 0, "height_shift": 0.25, "horizontal_flip": False}, False, 0, 1)
    seen = {tuple(picture[:, 0, 0].tolist()) for picture in made}
    assert seen == {tuple(np.clip(rows - shift, 0, 7).tolist()) for shift in (-2, -1, 0, 1, 2)}


def test_half_of_the_pictures_are_flipped_left_to_right() -> None:
    columns = np.arange(8, dtype="float32")
    made = np.broadcast_to(columns[None, None, :, None], (400, 4, 8, 1)).copy()
    arrays.augment(made, {"width_shift": 0, "height_shift": 0, "horizontal_flip": True}, False, 0, 1)
    flipped = sum(picture[0, 0, 0] == 7 for picture in made)
    assert 150 < flipped < 250
    assert all(np.array_equal(np.sort(picture[0, :, 0]), columns) for picture in made)


def test_augmentation_is_another_in_each_epoch_and_the_same_in_each_process() -> None:
    digests = []
    for epoch in (1, 2, 1):
        made = images()
        arrays.augment(made, SHIFTS, False, 7, epoch)
        digests.append(hashlib.sha256(made.tobytes()).hexdigest())
    assert digests[0] == digests[2] == AUGMENTED_SHA256
    assert digests[0] != digests[1]
