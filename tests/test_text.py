"""The name that was meant: the one with the fewest mistakes, or none where nothing is near."""

from __future__ import annotations

import pytest

from kbench.words.text import nearest

EXAMPLES = ("mnist_mlp", "mnist_cnn", "mnist_hrnn", "cifar10_cnn", "imdb_gru")
ALL = ": choose from mnist_mlp, mnist_cnn, mnist_hrnn, cifar10_cnn, imdb_gru."


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mnist_cmm", "mnist_cnn"),
        ("mnist_cn", "mnist_cnn"),
        ("mnits_mlp", "mnist_mlp"),
        ("MNIST_CNN", "mnist_cnn"),
        ("cifar", "cifar10_cnn"),
        ("imdbgru", "imdb_gru"),
    ],
)
def test_the_name_with_the_fewest_mistakes_is_suggested(typed: str, meant: str) -> None:
    assert nearest(typed, EXAMPLES) == f": did you mean {meant}?"


def test_the_part_behind_a_slash_counts_and_of_two_alike_the_nearer_in_length_is_suggested() -> None:
    assert nearest("caffe", ("keras2/cntk", "native/caffe2", "native/caffe")) == ": did you mean native/caffe?"
    assert nearest("thano", ("keras2/theano", "theano")) == ": did you mean theano?"


def test_two_swapped_letters_are_one_mistake() -> None:
    assert nearest("rnu", ("bun", "run")) == ": did you mean run?"


@pytest.mark.parametrize("typed", ["", "x", "mnist", "resnet", "bench"])
def test_where_nothing_is_near_all_names_are_shown(typed: str) -> None:
    assert nearest(typed, EXAMPLES) == ALL
