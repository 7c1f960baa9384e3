"""bAbI and IMDB: the tokens are those that Keras's own examples and loaders give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dataset_miniatures as miniatures
import numpy as np
import pytest

from kbench import datasets
from kbench.base.arrays import Data
from kbench.datasets import babi, imdb


def prepare(name, folder: Path, known) -> Data:
    return datasets.prepare(
        name,
        input="sequence",
        image_data_format="channels_last",
        mirror=folder,
        cache=folder / "cache",
        registry=known,
    )


def test_babi_gives_story_then_question_padded_at_the_front(tmp_path):
    data = prepare("babi_qa2", tmp_path, miniatures.babi(tmp_path))
    words = babi.tokens((miniatures.BABI_TRAIN + miniatures.BABI_TEST).decode())
    vocabulary = ["", *sorted({word for word in words if not word.isdigit()})]
    stories, queries = (np.load(data.folder / name) for name in data.train)
    answers = np.load(data.folder / data.train_targets[0])

    def text(row: Sequence[int]) -> str:
        return " ".join(vocabulary[number] for number in row if number)

    assert stories.dtype == queries.dtype == np.int32
    assert answers.dtype == np.int64
    assert text(stories[0]) == "Mary moved to the bathroom . John went to the hallway ."
    assert text(stories[1]) == text(stories[0]) + " Daniel got the milk ."
    assert [text(row) for row in queries] == ["Where is Mary ?", "Where is the milk ?"]
    assert [vocabulary[number] for number in answers] == ["bathroom", "hallway"]
    assert queries[0][0] == 0 and queries[0][-1] == vocabulary.index("?")
    # The test text's longest story and words count too, as in the classic example.
    assert data.input_shapes == ((19,), (5,))
    assert data.num_classes == len(vocabulary)


def test_babi_validates_on_the_last_twentieth_of_the_training_stories(tmp_path):
    story = "1 Mary moved to the {0}.\n2 Where is Mary? \t{0}\t1\n"
    train = "".join(story.format(("hall", "garden", "office")[row % 3]) for row in range(100)).encode()
    data = prepare("babi_qa2", tmp_path, miniatures.babi(tmp_path, train=train))
    everything = [np.load(data.folder / name) for name in (*data.train_targets, *data.validation_targets)]
    assert [len(part) for part in everything] == [95, 5]
    assert len(set(np.concatenate(everything)[::3])) == 1


def keras_imdb(texts: list[list[int]]) -> np.ndarray:
    """load_data's and pad_sequences' own way: shift, replace, cut, pad; one list after another."""
    rows = []
    for text in texts:
        tokens = [1] + [rank + 3 for rank in text]
        tokens = [token if 0 <= token < 30_000 else 2 for token in tokens][-150:]
        rows.append([0] * (150 - len(tokens)) + tokens)
    return np.array(rows)


@pytest.mark.parametrize("source", [miniatures.imdb_ranks, miniatures.imdb_keras])
def test_imdb_is_what_keras_loads_shuffles_and_pads(tmp_path, source):
    data = prepare("imdb", tmp_path, miniatures.registry("imdb", (source(tmp_path),)))
    random = np.random.RandomState(113)
    for seed, files, labels in (
        (0, data.train, data.train_targets[0]),
        (1, data.validation, data.validation_targets[0]),
    ):
        texts, classes = miniatures.reviews(80, seed)
        order = np.arange(80)
        random.shuffle(order)
        x, y = np.load(data.folder / files[0]), np.load(data.folder / labels)
        assert (x.dtype, y.dtype) == (np.int32, np.int64)
        np.testing.assert_array_equal(x, keras_imdb(texts)[order])
        np.testing.assert_array_equal(y, classes[order])
    assert (data.num_classes, data.divisor, data.input_shapes) == (2, 1.0, ((150,),))


@pytest.mark.parametrize(
    ("length", "begins"), [(1, [0, 1]), (148, [0, 1]), (149, [1, 10]), (150, [10, 10]), (151, [10, 10])]
)
def test_a_review_keeps_its_end_and_its_start_mark_only_where_it_fits(length, begins):
    row = np.zeros(150, np.int32)
    imdb.encode([7] * length, row)
    begin = max(0, 150 - length - 2)
    assert row[begin : begin + 2].tolist() == begins
    assert row[-1] == 10


def test_imdb_sorted_by_class_is_mixed_for_every_prefix(tmp_path):
    data = prepare("imdb", tmp_path, miniatures.registry("imdb", (miniatures.imdb_ranks(tmp_path, 400),)))
    for name in (*data.train_targets, *data.validation_targets):
        labels = np.load(data.folder / name)
        assert all(0.25 < labels[:samples].mean() < 0.75 for samples in (32, 100, 200, 400))


def test_of_two_sources_of_imdb_keras_own_is_taken_and_both_are_kept_apart(tmp_path):
    ranks, keras = miniatures.imdb_ranks(tmp_path), miniatures.imdb_keras(tmp_path)
    known = miniatures.registry("imdb", (keras,), (ranks,))
    first = prepare("imdb", tmp_path, known)
    (tmp_path / keras.name).unlink()
    second = prepare("imdb", tmp_path, known)
    assert first.folder != second.folder
    assert first.sha256 == second.sha256  # the miniatures are in the same order
    (tmp_path / ranks.name).unlink()
    assert prepare("imdb", tmp_path, known) == first  # no files any more, but what was prepared from them
