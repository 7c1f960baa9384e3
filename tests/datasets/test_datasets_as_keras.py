"""A program that asks Keras for a dataset gets what kbench has, or is told which file to put where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from original_data import originals

from kbench.base import paths
from kbench.datasets import as_keras, fetch

MNIST = "from keras.datasets import mnist\n"


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(file, *_, **__):
        raise fetch.NotDownloaded("no connection to the moon")

    monkeypatch.setattr(paths, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(fetch, "_download", failing)


def shapes(path: Path | None) -> list[tuple[int, ...]]:
    assert path is not None
    with np.load(path) as arrays:
        return [arrays[name].shape for name in ("x_train", "y_train", "x_test", "y_test")]


def test_where_nothing_else_is_to_be_had_the_part_of_mnist_is_served_and_said() -> None:
    for _ in range(2):
        (served,) = as_keras.files(MNIST, None).values()
        assert shapes(served.path) == [(10_000, 28, 28), (10_000,), (5_000, 28, 28), (5_000,)]
        assert served.remark.startswith("not all of MNIST: the first 10,000 of 60,000 images to train")
        assert "train-images-idx3-ubyte.gz" in served.remark and "put them into" in served.remark


@pytest.mark.thorough
def test_with_the_files_all_of_mnist_is_served_though_the_part_was_before() -> None:
    as_keras.files(MNIST, None)
    (served,) = as_keras.files(MNIST, originals()).values()
    assert shapes(served.path)[0] == (60_000, 28, 28) and served.remark == ""
    assert as_keras.files(MNIST, None)["mnist.npz"] == served


@pytest.mark.parametrize(
    ("word", "file"), [("imdb", "imdb.npz"), ("cifar10", "cifar-10-python.tar.gz")], ids=["imdb", "cifar10"]
)
def test_what_cannot_be_had_is_one_sentence_with_the_file_and_its_place(word: str, file: str) -> None:
    found = as_keras.files(f"from keras.datasets import {word}\n", None)
    (served,) = set(found.values())
    assert served.path is None
    assert served.remark.startswith(f"{file} from https://")
    assert "(no connection to the moon) cannot be downloaded: put it into" in served.remark


def test_task_2_of_babi_is_served_and_said_to_be_all_there_is() -> None:
    found = as_keras.files("get_file('babi-tasks-v1-2.tar.gz')", None)
    assert set(found) == {"babi-tasks-v1-2.tar.gz", "babi_tasks_1-20_v1-2.tar.gz"}
    (served,) = set(found.values())
    assert served.path is not None and served.path.is_file()
    assert served.remark.startswith("not all of bAbI: task 2 in English")


def test_a_damaged_file_of_the_users_own_is_named(tmp_path: Path) -> None:
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{name}-ubyte.gz").write_bytes(b"no")
    (served,) = as_keras.files(MNIST, tmp_path).values()
    assert served.path is None and "train-images-idx3-ubyte.gz is not the published file" in served.remark


def test_a_program_that_loads_no_dataset_is_given_none() -> None:
    assert as_keras.files("mnist = 1\n", None) == {}
