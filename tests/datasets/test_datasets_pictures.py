"""MNIST and CIFAR-10: what the published files hold is what the guest gets, in every layout."""

from __future__ import annotations

import dataset_miniatures as miniatures
import numpy as np
import pytest

from kbench import datasets

LAYOUTS = {
    ("image", "channels_first"): (2, 0, 1),
    ("image", "channels_last"): (0, 1, 2),
    ("sequence", "channels_first"): (0, 1, 2),
}


@pytest.mark.parametrize(("input", "layout"), LAYOUTS)
def test_mnist_is_laid_out_as_asked(tmp_path, input, layout):
    known = miniatures.mnist(tmp_path)
    data = datasets.prepare(
        "mnist", input=input, image_data_format=layout, mirror=tmp_path, cache=tmp_path / "c", registry=known
    )
    for samples, seed, files, labels in (
        (60, 0, data.train, data.train_targets[0]),
        (20, 1, data.validation, data.validation_targets[0]),
    ):
        images, classes = miniatures.mnist_arrays(samples, seed)
        stored = np.load(data.folder / files[0], allow_pickle=False)
        expected = np.moveaxis(images[..., None], (1, 2, 3), np.argsort(LAYOUTS[input, layout]) + 1)
        assert stored.dtype == np.uint8
        np.testing.assert_array_equal(stored, expected)
        y = np.load(data.folder / labels, allow_pickle=False)
        assert y.dtype == np.int64
        np.testing.assert_array_equal(y, classes)
    assert (data.source, data.num_classes, data.divisor) == ("real", 10, 255.0)
    assert data.input_shapes == (((1, 28, 28) if "first" in layout and input == "image" else (28, 28, 1)),)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_same_pictures_have_the_same_hash_in_either_layout(tmp_path, name):
    known = getattr(miniatures, name)(tmp_path)
    first, last = (
        datasets.prepare(
            name, input="image", image_data_format=f, mirror=tmp_path, cache=tmp_path / "c", registry=known
        )
        for f in ("channels_first", "channels_last")
    )
    assert first.folder != last.folder and first.sha256 == last.sha256


def test_mnist_flat_is_one_row_a_digit_whatever_the_format(tmp_path):
    known = miniatures.mnist(tmp_path)
    both = [
        datasets.prepare(
            "mnist", input="flat", image_data_format=f, mirror=tmp_path, cache=tmp_path / "c", registry=known
        )
        for f in ("channels_first", "channels_last")
    ]
    assert both[0] == both[1]
    assert both[0].input_shapes == ((784,),)
    stored = np.load(both[0].folder / both[0].train[0])
    np.testing.assert_array_equal(stored, miniatures.mnist_arrays(60, 0)[0].reshape(60, 784))


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 4, 2]])
@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
def test_cifar10_keeps_the_order_of_its_batches_whatever_the_archives(tmp_path, order, layout):
    known = miniatures.cifar10(tmp_path)
    contents = list(miniatures.cifar10_members().items())
    path = tmp_path / "cifar-10-python.tar.gz"
    miniatures.tar(path, [miniatures.entry(*contents[place]) for place in order])
    data = datasets.prepare(
        "cifar10",
        input="image",
        image_data_format=layout,
        mirror=tmp_path,
        cache=tmp_path / "c",
        registry=known,
    )
    batches = [miniatures.cifar10_batch(seed) for seed in range(6)]
    expected = np.concatenate([images for images, _ in batches]).reshape(-1, 3, 32, 32)
    if layout == "channels_last":
        expected = expected.transpose(0, 2, 3, 1)
    stored = [np.load(data.folder / name) for name in (*data.train, *data.validation)]
    assert [array.shape[0] for array in stored] == [100, 20]
    np.testing.assert_array_equal(np.concatenate(stored), expected)
    labels = [np.load(data.folder / name) for name in (*data.train_targets, *data.validation_targets)]
    np.testing.assert_array_equal(np.concatenate(labels), np.concatenate([y for _, y in batches]))
    assert (data.num_classes, data.divisor) == (10, 255.0)
