"""The cache of prepared arrays: complete or not there, found at once, the same hash for the same content."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kbench
from kbench import datasets
from kbench.datasets import arrays, prepared
from kbench.datasets.arrays import Contents
from kbench.datasets.prepared import Recipe
from kbench.errors import UserError

RECIPE = Recipe("toy", "flat", "any", "real", ("sha256:1",))


def fill(folder: Path) -> dict[str, object]:
    def write(create):
        create("x_train_0", (3, 2), np.float32)[...] = [[1, 2], [3, 4], [5, 6]]
        create("x_train_1", (3, 1), np.uint8)[...] = 7
        create("y_train", (3,), np.int64)[...] = [0, 1, 2]
        return Contents(num_classes=3)

    return arrays.write_arrays(folder, write)


def never(folder: Path) -> dict[str, object]:
    raise AssertionError("it was made a second time")


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_what_was_prepared_is_described_and_found_again(tmp_path):
    made = prepared.make(RECIPE, tmp_path, fill)
    assert prepared.find(RECIPE, tmp_path) == made
    assert prepared.make(RECIPE, tmp_path, never) == made
    assert made.train == ("x_train_0.npy", "x_train_1.npy")
    assert made.input_shapes == ((2,), (1,))
    assert (made.train_targets, made.validation, made.validation_targets) == (("y_train.npy",), (), ())
    assert visible(tmp_path) == [made.folder.name]
    assert made.folder.name.startswith("toy-flat-any-real-")


def test_the_hash_is_over_names_dtypes_shapes_and_bytes(tmp_path):
    made = prepared.make(RECIPE, tmp_path, fill)
    digest = hashlib.sha256()
    for name in sorted((*made.train, *made.train_targets)):
        array = np.load(made.folder / name, allow_pickle=False)
        digest.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode() + b"\n")
        digest.update(array.tobytes())
    assert made.sha256 == digest.hexdigest()


def test_bytes_are_little_endian_whatever_the_source(tmp_path):
    def write(create):
        create("x_train", (2,), ">i4")[...] = [1, 2]
        return Contents(num_classes=0)

    arrays.write_arrays(tmp_path, write)
    assert np.load(tmp_path / "x_train.npy").dtype.str == "<i4"


@pytest.mark.parametrize(
    "other",
    [
        Recipe("toy", "flat", "any", "real", ("sha256:2",)),
        Recipe("toy", "flat", "any", "synthetic", ("sha256:1",)),
        Recipe("toy", "image", "channels_first", "real", ("sha256:1",)),
        Recipe("toy", "flat", "any", "real", ("sha256:1",), samples=3),
    ],
)
def test_another_request_has_another_folder(other):
    assert other.folder_name != RECIPE.folder_name


def test_a_new_version_of_the_preparation_has_another_folder(monkeypatch):
    before = RECIPE.folder_name
    monkeypatch.setattr(prepared, "VERSION", prepared.VERSION + 1)
    assert RECIPE.folder_name != before


@pytest.mark.parametrize("damage", ["truncate", "remove", "meta", "schema", "no meta"])
def test_a_damaged_folder_is_made_anew(tmp_path, damage):
    made = prepared.make(RECIPE, tmp_path, fill)
    array, meta = made.folder / "x_train_0.npy", made.folder / "meta.json"
    if damage == "truncate":
        os.truncate(array, 100)
    elif damage == "remove":
        array.unlink()
    elif damage == "meta":
        meta.write_text("[1")
    elif damage == "schema":
        meta.write_text(meta.read_text().replace('"schema": 1', '"schema": 99'))
    else:
        meta.unlink()
    assert prepared.find(RECIPE, tmp_path) is None
    assert prepared.make(RECIPE, tmp_path, fill) == made
    assert np.load(array).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot be written to .*file.* KBENCH_CACHE"):
        prepared.make(RECIPE, tmp_path / "file" / "cache", fill)


TWO = """
import sys
from pathlib import Path
from kbench import datasets
sys.stdin.read(1)
data = datasets.prepare("babi_qa2", input="sequence", image_data_format="channels_last",
                        source="synthetic", cache=Path(sys.argv[1]))
print(data.sha256, data.folder, (data.folder / "meta.json").stat().st_ino)
"""


@pytest.mark.processes
def test_two_processes_at_once_get_the_same_one(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(kbench.__file__).parents[1])}
    command = [sys.executable, "-c", TWO, str(tmp_path)]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    for process in both:
        process.stdin.write("x")
        process.stdin.flush()
    told = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert told[0] == told[1] != ""  # the second did not make it again
    assert len(visible(tmp_path / "prepared")) == 1


@pytest.mark.processes
def test_finding_it_needs_no_numpy(tmp_path):
    command = """
import sys
from pathlib import Path
from kbench import datasets
datasets.prepare("babi_qa2", input="sequence", image_data_format="channels_last", source="synthetic",
                 cache=Path(sys.argv[1]))
print("numpy" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(kbench.__file__).parents[1])}
    told = [
        subprocess.run(
            [sys.executable, "-c", command, str(tmp_path)],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert told == ["True", "False"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": "minst"}, "there is no dataset minst: did you mean mnist"),
        ({"name": "zzz"}, "there is no dataset zzz: choose from mnist, cifar10"),
        ({"input": "flatt"}, "mnist has no input flatt: choose from image, flat, sequence"),
        ({"name": "imdb", "input": "image"}, "imdb has no input image: choose from sequence"),
        ({"mirror": Path("/nowhere")}, "/nowhere is not a folder: give KBENCH_DATA"),
    ],
)
def test_a_wrong_request_is_one_sentence(tmp_path, changed, sentence):
    request: dict[str, Any] = {"name": "mnist", "input": "flat", "image_data_format": "channels_last"}
    request |= {"source": "synthetic", "cache": tmp_path} | changed
    with pytest.raises(UserError, match=sentence):
        datasets.prepare(request.pop("name"), **request)


def test_every_dataset_has_a_title():
    assert datasets.names() == ("mnist", "cifar10", "babi_qa2", "imdb", "shakespeare", "random_images")
    assert all("\n" not in datasets.title(name) and datasets.title(name) for name in datasets.names())
    assert datasets.title("/data/mine.npz") == "/data/mine.npz"


def test_the_cache_folder_is_the_users_own(tmp_path, monkeypatch):
    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    data = datasets.prepare("random_images", input="image", image_data_format="channels_last", samples=1)
    assert data.folder.parent == tmp_path / "data" / "prepared"
