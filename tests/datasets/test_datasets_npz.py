"""The user's own .npz file: used as it is, and where it is wrong, one sentence says how to right it."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np
import pytest

from kbench import datasets
from kbench.errors import UserError


def arrays(**changed):
    random = np.random.RandomState(0)
    return {
        "x_train": random.random_sample((6, 8, 9, 3)).astype(np.float32),
        "y_train": np.array([0, 1, 2, 0, 1, 2]),
        "x_test": random.random_sample((4, 8, 9, 3)).astype(np.float32),
        "y_test": np.array([0, 1, 3, 1]),
        **changed,
    }


def prepare(path, tmp_path, input="image", layout="channels_last", source="real"):
    return datasets.prepare(str(path), input=input, image_data_format=layout, source=source, cache=tmp_path / "cache")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my pictures.npz"


@pytest.mark.parametrize("source", ["real", "synthetic"])
def test_arrays_are_used_as_they_are(path, tmp_path, source):
    given = arrays()
    np.savez(path, **given)
    data = prepare(path, tmp_path, source=source)
    for stored, name in (
        (data.train[0], "x_train"),
        (data.train_targets[0], "y_train"),
        (data.validation[0], "x_test"),
        (data.validation_targets[0], "y_test"),
    ):
        np.testing.assert_array_equal(np.load(data.folder / stored), given[name])
    assert (data.name, data.source, data.divisor, data.num_classes) == ("my pictures.npz", "real", 1.0, 4)
    assert data.input_shapes == ((8, 9, 3),)
    assert data.folder.name.startswith("my_pictures.npz-image-channels_last-real-")


def test_images_are_transposed_where_channels_first_is_asked(path, tmp_path):
    given = arrays()
    np.savez_compressed(path, **given)
    data = prepare(path, tmp_path, layout="channels_first")
    np.testing.assert_array_equal(np.load(data.folder / data.train[0]), given["x_train"].transpose(0, 3, 1, 2))
    assert data.input_shapes == ((3, 8, 9),)


def test_flat_is_one_row_a_sample(path, tmp_path):
    np.savez(path, **arrays())
    assert prepare(path, tmp_path, input="flat").input_shapes == ((8 * 9 * 3,),)


def test_pictures_of_bytes_are_to_be_divided(path, tmp_path):
    pictures = {name: np.ones((n, 8, 9, 3), np.uint8) for name, n in (("x_train", 6), ("x_test", 4))}
    np.savez(path, **arrays(**pictures))
    for input in ("image", "flat", "sequence"):
        assert prepare(path, tmp_path, input=input).divisor == 255.0


def test_tokens_of_bytes_are_not_divided(path, tmp_path):
    tokens = {name: np.ones((n, 5), np.uint8) for name, n in (("x_train", 6), ("x_test", 4))}
    np.savez(path, **arrays(**tokens))
    assert prepare(path, tmp_path, input="sequence").divisor == 1.0


def test_several_inputs_keep_their_order(path, tmp_path):
    given = arrays(y_test=np.array([[0], [1], [2], [1]]))
    for part, n in (("train", 6), ("test", 4)):
        del given[f"x_{part}"]
        for place in range(12):
            given[f"x_{part}_{place}"] = np.full((n, place + 1), place, np.int32)
    np.savez(path, **given)
    data = prepare(path, tmp_path, input="sequence")
    assert data.input_shapes == tuple((place + 1,) for place in range(12))
    assert data.train[10] == "x_train_10.npy"
    assert data.num_classes == 3
    assert np.load(data.folder / data.validation_targets[0]).shape == (4,)


def test_a_picture_beside_another_input_is_the_only_one_transposed(path, tmp_path):
    given = arrays()
    for part, n in (("train", 6), ("test", 4)):
        given[f"x_{part}_0"] = given.pop(f"x_{part}")
        given[f"x_{part}_1"] = np.zeros((n, 7), np.float32)
    np.savez(path, **given)
    assert prepare(path, tmp_path, layout="channels_first").input_shapes == ((3, 8, 9), (7,))


def test_a_changed_file_is_prepared_again_even_at_the_same_time_and_size(path, tmp_path):
    np.savez(path, **arrays())
    before, stat = prepare(path, tmp_path), path.stat()
    np.savez(path, **arrays(y_train=np.array([2, 1, 0, 2, 1, 0])))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = prepare(path, tmp_path)
    assert after.sha256 != before.sha256 and after.folder != before.folder


WRONG = {
    "no y_test": ({"y_test": None}, "has no y_test: write it with numpy.savez"),
    "no x": ({"x_train": None, "x_test": None}, "has no x_train and no x_test"),
    "lengths": ({"y_train": np.zeros(5, int)}, "x_train in .* has 6 samples and 5 targets: make them equal"),
    "complex targets": ({"y_train": np.zeros(6, complex)}, "y_train in .* is complex128: store it as an array"),
    "weights": ({"w_train": np.ones(5)}, r"w_train in .* of shape \(5,\): store one number for each sample"),
    "negative labels": (
        {"y_test": np.array([0, -1, 1, 2])},
        "y_test in .* holds -1 to 2: number the classes",
    ),
    "object pictures": (
        {"x_train": np.array([None] * 6)},
        "cannot be read as .npz .Object arrays cannot be loaded",
    ),
    "object labels": (
        {"y_train": np.array([0] * 6, object)},
        "cannot be read as .npz .Object arrays cannot be loaded",
    ),
    "object names": (
        {"x_names": np.array(["a", "b"], object)},
        "cannot be read as .npz .Object arrays cannot be loaded",
    ),
    "text": ({"x_train": np.full((6, 2), "a")}, "x_train in .* is <U1: store it as an array of numbers"),
    "no samples": ({"x_train": np.zeros((0, 2)), "y_train": np.zeros(0, int)}, "y_train in .* is empty"),
    "no values": ({"x_train": np.zeros(6)}, r"x_train in .* has shape \(6,\): store \(samples, values"),
    "other shape": ({"x_test": np.zeros((4, 8, 9, 1), np.float32)}, "x_test in .* make them equal"),
    "other dtype": ({"x_test": np.zeros((4, 8, 9, 3))}, "x_test in .* holds float64 samples"),
    "no image": (
        {"x_train": np.zeros((6, 8)), "x_test": np.zeros((4, 8))},
        r"has samples of shape \(8,\), but the example takes images: store \(samples, height, width, channels\)",
    ),
    "mixed bytes": (
        {"x_train_0": np.zeros((6, 2, 2, 1), np.uint8), "x_train_1": np.zeros((6, 2), np.float32)}
        | {"x_test_0": np.zeros((4, 2, 2, 1), np.uint8), "x_test_1": np.zeros((4, 2), np.float32)},
        "mixes uint8 images with other inputs: store the images as float32",
    ),
    "gap in inputs": ({"x_train_1": np.zeros((6, 2)), "x_test_1": np.zeros((4, 2))}, "has no x_train_0"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arrays_are_one_sentence(path, tmp_path, what):
    changed: Any
    changed, sentence = WRONG[what]
    np.savez(path, **{name: array for name, array in arrays(**changed).items() if array is not None})
    with pytest.raises(UserError, match=sentence) as caught:
        prepare(path, tmp_path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file_is_one_sentence(path, tmp_path):
    with pytest.raises(UserError, match=r"my pictures\.npz does not exist: name an existing \.npz file"):
        prepare(path, tmp_path)


@pytest.mark.parametrize("cut", [0, 10, 1000, -30])
def test_a_truncated_file_is_one_sentence(path, tmp_path, cut):
    np.savez(path, **arrays())
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UserError, match=r"cannot be read as \.npz .*: write it again with numpy\.savez"):
        prepare(path, tmp_path)


def test_damage_inside_is_one_sentence(path, tmp_path):
    np.savez(path, **arrays())
    content = bytearray(path.read_bytes())
    content[1000:1010] = b"x" * 10
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be read as \.npz \(Bad CRC-32"):
        prepare(path, tmp_path)


def test_a_shape_that_the_file_does_not_hold_takes_no_memory(path, tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 8, 9, 3)})
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("x_train", "x_test", "y_train", "y_test"):
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(100))
    with pytest.raises(UserError, match=r"cannot be read as \.npz \(Unable to allocate"):
        prepare(path, tmp_path)


def test_something_else_in_the_archive_is_one_sentence(path, tmp_path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("x_train", "x_test", "y_train", "y_test"):
            archive.writestr(f"{name}", "hello, this is not an array")
    with pytest.raises(UserError, match=r"cannot be read as \.npz \(y_train in it is not an array"):
        prepare(path, tmp_path)
