"""What comes with kbench: a few MB, free to pass on, and the same data as from the originals."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from original_data import originals

from kbench import datasets
from kbench.base import paths
from kbench.datasets import addresses, archives, fetch, origins
from kbench.datasets.registry import BABI, CUT_BABI, CUT_MNIST, MNIST, PLAY, REGISTRY, SHIPPED_PLAY
from kbench.selection import examples

FOLDER = paths.project_folder("datasets")
MOST_BYTES = 5_000_000
FORMS = [("image", "channels_first"), ("image", "channels_last"), ("flat", "channels_last"), ("sequence", "any")]


@pytest.fixture
def no_net(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*arguments, **_):
        raise AssertionError(f"{arguments} was asked for")

    monkeypatch.setattr(addresses, "ask", asked)
    monkeypatch.setattr(fetch, "_download", asked)


def prepare(name: str, cache: Path, input: str = "sequence", layout: str = "channels_last", **more):
    return datasets.prepare(name, input=input, image_data_format=layout, cache=cache, progress=False, **more)


def test_at_most_5_mb_come_with_kbench_each_file_pinned_and_with_its_licence_and_source() -> None:
    there = {path for path in FOLDER.rglob("*") if path.is_file()}
    shipped = [path for one in REGISTRY.values() if one.shipped for path in origins.shipped_paths(one.shipped)]
    assert there == {*shipped, FOLDER / "README.md"}
    assert sum(path.stat().st_size for path in there) <= MOST_BYTES
    about = (FOLDER / "README.md").read_text("utf-8")
    for word in (
        "CC BY-SA 3.0",
        "CC BY 3.0",
        "creativecommons.org/licenses/by-sa/3.0",
        "LeCun",
        "Weston",
        "Shakespeare",
        "public domain",
        "changed",
    ):
        assert word in about, word


def test_nothing_comes_with_kbench_whose_licence_does_not_allow_it() -> None:
    assert {name for name, one in REGISTRY.items() if one.shipped} == {"mnist", "babi_qa2", "shakespeare"}


def test_smoke_and_quick_take_no_more_than_what_comes_with_kbench() -> None:
    of_shipped = [
        (REGISTRY[one.data].shipped, one.profiles[profile])
        for one in examples.load_all(paths.project_folder("examples_models")).values()
        for profile in ("smoke", "quick")
        if one.data in REGISTRY and REGISTRY[one.data].shipped
    ]
    assert len(of_shipped) >= 8
    assert all(origins.enough(shipped, (one.samples, one.validation_samples)) for shipped, one in of_shipped)


@pytest.mark.parametrize(("input", "layout"), FORMS)
def test_what_comes_with_kbench_of_mnist_needs_no_net_and_has_the_hash_of_the_whole(
    tmp_path: Path, no_net: None, input: str, layout: str
) -> None:
    data = prepare("mnist", tmp_path, input, layout, needed=(10_000, 5_000))
    assert (data.source, data.samples, data.validation_samples) == ("real", 10_000, 5_000)
    assert data.sha256 == CUT_MNIST.sha256[input]


def test_bundled_babi_is_all_of_task_2(tmp_path: Path, no_net: None) -> None:
    data = prepare("babi_qa2", tmp_path)
    assert (data.samples, data.validation_samples) == (950, 50)


def test_bundled_play_is_all_of_it_in_pieces_that_predict_the_next_character(tmp_path: Path, no_net: None) -> None:
    data = prepare("shakespeare", tmp_path)
    assert (data.source, data.samples, data.validation_samples, data.num_classes) == ("real", 7_000, 190, 68)
    x, y, held_out = (np.load(data.folder / name) for name in ("x_train.npy", "y_train.npy", "x_validation.npy"))
    text = gzip.decompress(archives.verified(FOLDER / SHIPPED_PLAY.files[0].name, SHIPPED_PLAY.files[0]))
    characters = bytes(sorted(set(text)))
    assert bytes(characters[number] for number in x[0]) == text[:64]
    np.testing.assert_array_equal(x[:, 1:], y[:, :-1])
    np.testing.assert_array_equal(x[4:, 0], y[:-4, -1])  # four pieces on, the next character is the first
    assert bytes(characters[number] for number in held_out[-1]) in text[7_000 * 16 :]


def test_a_play_of_the_users_own_gives_the_same_arrays(tmp_path: Path, no_net: None) -> None:
    mirror = tmp_path / "mine"
    mirror.mkdir()
    packed = archives.verified(FOLDER / SHIPPED_PLAY.files[0].name, SHIPPED_PLAY.files[0])
    (mirror / PLAY.name).write_bytes(gzip.decompress(packed))
    own, shipped = (
        prepare("shakespeare", tmp_path / name, mirror=where) for name, where in (("a", mirror), ("b", None))
    )
    assert own.sha256 == shipped.sha256


@pytest.mark.parametrize("needed", [(10_001, 1), (1, 5_001), None])
def test_what_comes_with_kbench_does_not_stand_for_more_than_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: tuple[int, int] | None
) -> None:
    def failing(file, *_, **__):
        raise fetch.NotDownloaded("no net")

    monkeypatch.setattr(fetch, "_download", failing)
    with pytest.raises(datasets.MissingFiles) as caught:
        prepare("mnist", tmp_path, needed=needed)
    assert [one.file for one in caught.value.missing] == [*MNIST]


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(4))
def test_bundled_mnist_is_byte_for_byte_the_beginning_of_the_originals(number: int) -> None:
    part, whole = (
        gzip.decompress(archives.verified(folder / file.name, file))
        for folder, file in ((FOLDER, CUT_MNIST.files[number]), (originals(), MNIST[number]))
    )
    count = CUT_MNIST.samples if number < 2 else CUT_MNIST.validation_samples
    assert part[:4] + whole[4:8] + part[8:] == whole[: len(part)]
    header = 4 + 4 * part[3]
    assert int.from_bytes(part[4:8], "big") == count and len(part) == header + count * (784 if part[3] == 3 else 1)


@pytest.mark.thorough
def test_bundled_babi_is_byte_for_byte_the_original() -> None:
    (path,) = origins.shipped_paths(CUT_BABI)
    assert dict(archives.members(path, CUT_BABI.files[0])) == dict(archives.members(originals() / BABI.name, BABI))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "input"), [("mnist", "image"), ("mnist", "flat"), ("babi_qa2", "sequence")])
def test_arrays_and_their_hash_are_the_same_from_the_originals(tmp_path: Path, name: str, input: str) -> None:
    shipped = REGISTRY[name].shipped
    part = prepare(name, tmp_path / "part", input, needed=(shipped.samples, shipped.validation_samples))
    whole = prepare(name, tmp_path / "whole", input, mirror=originals())
    assert part.sha256 == whole.sha256
    for file in (*part.train, *part.train_targets, *part.validation, *part.validation_targets):
        ours, theirs = (np.load(one.folder / file, mmap_mode="r") for one in (part, whole))
        np.testing.assert_array_equal(ours, theirs[: len(ours)])


@pytest.mark.thorough
def test_files_of_the_users_own_come_before_what_comes_with_kbench(tmp_path: Path, no_net: None) -> None:
    data = prepare("mnist", tmp_path, "flat", needed=(10, 10), mirror=originals())
    assert data.samples == 60_000
    assert prepare("mnist", tmp_path, "flat", needed=(10, 10)) == data  # and so do arrays that were prepared earlier
