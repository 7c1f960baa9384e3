"""Generated data: the real one's shapes and counts, the same everywhere, and something to learn in it."""

from __future__ import annotations

import numpy as np
import pytest

from kbench import datasets
from kbench.datasets import synthetic
from kbench.datasets.babi import tokens


def generate(write, *args, **keywords):
    """The arrays that `write` fills, in memory."""
    made = {}

    def create(name, shape, dtype):
        made[name] = np.zeros(shape, dtype)
        return made[name]

    contents = write(create, *args, **keywords)
    return made, contents


def accuracy(made, features):
    """Of the nearest class mean: what the simplest classifier learns from the training part."""
    x, y = features(made, "train"), made["y_train"]
    classes = np.unique(y)
    means = np.stack([x[y == number].mean(0) for number in classes])
    scores = features(made, "validation") @ means.T - (means**2).sum(1) / 2
    return (classes[scores.argmax(1)] == made["y_validation"]).mean()


@pytest.mark.parametrize("picture", [(28, 28, 1), (32, 32, 3)])
def test_pictures_are_learnable(picture):
    made, contents = generate(synthetic.images, picture, (300, 100), "flat", "any")

    def features(arrays, role):
        return arrays[f"x_{role}"] / contents.divisor

    assert accuracy(made, features) > 0.9
    assert made["x_train"].max() > 200 and made["x_train"].std() > 30


def test_pictures_are_the_same_in_every_layout():
    first, _ = generate(synthetic.images, (32, 32, 3), (30, 10), "image", "channels_first")
    last, _ = generate(synthetic.images, (32, 32, 3), (30, 10), "image", "channels_last")
    flat, _ = generate(synthetic.images, (32, 32, 3), (30, 10), "flat", "any")
    np.testing.assert_array_equal(first["x_train"].transpose(0, 2, 3, 1), last["x_train"])
    np.testing.assert_array_equal(flat["x_train"].reshape(30, 32, 32, 3), last["x_train"])


def test_reviews_are_learnable_from_their_words():
    made, _ = generate(synthetic.imdb, (2000, 500))

    def features(arrays, role):
        telling = np.clip(arrays[f"x_{role}"] - 2000, 0, 200)
        return np.stack([np.bincount(row, minlength=201)[1:200] for row in telling]).astype(float)

    assert accuracy(made, features) > 0.9
    x = made["x_train"]
    assert x.min() == 0 and x.max() < 30_000
    padded = x[x[:, 0] == 0]
    begins = (padded > 0).argmax(1)
    assert (padded[np.arange(len(padded)), begins] == 1).all()  # start follows the padding
    assert all((row[begin:] > 0).all() for row, begin in zip(padded, begins, strict=True))


def test_answers_are_learnable_from_the_end_of_the_story():
    made, contents = generate(synthetic.babi)

    def features(arrays, role):
        return np.eye(36)[arrays[f"x_{role}_0"][:, -2]]

    assert contents.num_classes == 36
    assert accuracy(made, features) == 1.0
    assert made["x_train_0"].shape == (950, 552) and made["x_validation_1"].shape == (50, 5)
    assert (made["x_train_1"] > 0).all() and made["x_train_0"].max() <= 35
    assert (made["x_train_0"][:, 0] > 0).any() and (made["x_train_0"][:, 0] == 0).any()
    assert len(set(made["y_train"])) == 6


def test_synthetic_words_are_numbered_as_the_real_ones():
    assert len(synthetic.WORDS) == 35 == len(set(synthetic.WORDS))
    assert list(synthetic.WORDS) == sorted(synthetic.WORDS)
    assert set(tokens("Mary went to the office. Where is the apple?")) <= set(synthetic.WORDS)


EXPECTED = {
    "mnist": (((60_000, 28, 28, 1), (10_000, 28, 28, 1)), np.uint8, 10),
    "babi_qa2": (((950, 552), (50, 552)), np.int32, 36),
    "imdb": (((25_000, 150), (25_000, 150)), np.int32, 2),
    "shakespeare": (((7_000, 64), (190, 64)), np.int32, 68),
}
HASHES = {
    "mnist": "4d67684abdfac25b5cdfa8e55ddca953cf8359cfbc1f5275a55b6e37c0bb4966",
    "babi_qa2": "13100147f145ce87aafaa9d6ed4ca384555978866b2190db85dd23c262ee4fd9",
    "imdb": "6650c1811677408a6bf2b30183cd069c6c2e44815ed4748512afc1d3e57c29b7",
    "shakespeare": "2ccb5f61fb323e3324643ae30b76cfbd69d773229a86c7d6f087b0fba2db6dc4",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_synthetic_data_has_the_real_ones_counts_and_never_changes(tmp_path, name):
    data = datasets.prepare(
        name, input="sequence", image_data_format="channels_last", source="synthetic", cache=tmp_path
    )
    shapes, dtype, num_classes = EXPECTED[name]
    x = [np.load(data.folder / part[0], mmap_mode="r") for part in (data.train, data.validation)]
    y = [np.load(data.folder / part) for part in (*data.train_targets, *data.validation_targets)]
    assert tuple(array.shape for array in x) == shapes
    assert {array.dtype for array in x} == {np.dtype(dtype)}
    assert [len(array) for array in y] == [len(array) for array in x]
    assert (data.source, data.num_classes) == ("synthetic", num_classes)
    # Every class in every prefix that a short run takes.
    assert all(
        len(np.unique(array[:64])) == len(np.unique(array)) for array in y if name != "babi_qa2" or len(array) > 50
    )
    assert data.sha256 == HASHES[name]


def test_random_images_are_the_first_of_the_same_stream():
    few, contents = generate(synthetic.random_images, 3, "channels_last")
    more, _ = generate(synthetic.random_images, 35, "channels_last")
    np.testing.assert_array_equal(few["x_train"], more["x_train"][:3])
    whole = np.random.RandomState(0).random_sample((35, 224, 224, 3)).astype(np.float32)
    np.testing.assert_array_equal(more["x_train"], whole)
    assert contents.num_classes == 0 and more["x_train"].dtype == np.float32


def test_random_images_are_below_one_after_rounding():
    drawn = np.array([0.0, 0.25, np.nextafter(1.0, 0.0)])
    assert synthetic.below_one(drawn).tolist() == [0.0, 0.25, np.nextafter(np.float32(1), np.float32(0))]


@pytest.mark.parametrize("source", ["real", "synthetic"])
def test_random_images_have_neither_labels_nor_another_source(tmp_path, source):
    both = [
        datasets.prepare(
            "random_images", input="image", image_data_format=f, source=source, cache=tmp_path, samples=2
        )
        for f in ("channels_first", "channels_last")
    ]
    first, last = (np.load(data.folder / data.train[0]) for data in both)
    np.testing.assert_array_equal(first.transpose(0, 2, 3, 1), last)
    assert both[0].input_shapes == ((3, 224, 224),)
    for data in both:
        assert (data.source, data.num_classes, data.divisor) == ("synthetic", 0, 1.0)
        assert (data.train_targets, data.validation, data.validation_targets) == ((), (), ())


def test_another_number_of_random_images_is_another_folder_and_other_datasets_ignore_it(tmp_path):
    def folder(name, samples):
        return datasets.prepare(
            name,
            input="image" if name == "random_images" else "sequence",
            image_data_format="channels_last",
            source="synthetic",
            cache=tmp_path,
            samples=samples,
        ).folder

    assert folder("random_images", 1) != folder("random_images", 2)
    assert folder("babi_qa2", 1) == folder("babi_qa2", None)
