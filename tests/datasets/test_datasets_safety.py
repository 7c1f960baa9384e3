"""What is not the published file is refused by name before it is read further; archives write nothing."""

from __future__ import annotations

import gzip
import os
import pickle
import tarfile
from pathlib import Path

import dataset_miniatures as miniatures
import numpy as np
import pytest

from kbench import datasets
from kbench.datasets import archives
from kbench.errors import UserError

BATCH_1 = "cifar-10-batches-py/data_batch_1"


def prepare(name, mirror, known, cache):
    return datasets.prepare(
        name,
        input="sequence",
        image_data_format="channels_last",
        mirror=mirror,
        cache=cache,
        registry=known,
    )


def refuse(name, mirror, known, why):
    """Preparing must end in one sentence that names the file and says `why`, and leave nothing prepared."""
    cache = mirror / "cache"
    with pytest.raises(UserError, match=why) as caught:
        prepare(name, mirror, known, cache)
    text = str(caught.value)
    assert str(mirror) in text and "\n" not in text and "--data synthetic" in text
    assert not [path for path in (cache / "prepared").iterdir() if not path.name.endswith(".lock")]


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    return folder


def test_an_archive_is_read_without_writing_any_of_its_members(mirror, tmp_path):
    known = miniatures.cifar10(mirror)
    planted = [
        miniatures.entry("../escaped", b"x"),
        miniatures.entry(str(tmp_path / "absolute"), b"x"),
        miniatures.entry("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        miniatures.entry("link/under", b"x"),
        miniatures.entry("device", type=tarfile.CHRTYPE, devmajor=1, devminor=3),
        miniatures.entry("pipe", type=tarfile.FIFOTYPE),
    ]
    wanted = [miniatures.entry(*item) for item in miniatures.cifar10_members().items()]
    miniatures.tar(mirror / "cifar-10-python.tar.gz", planted + wanted)
    data = prepare("cifar10", mirror, known, tmp_path / "cache")
    assert np.load(data.folder / data.train[0]).shape == (100, 32, 32, 3)
    written = {path.name for path in tmp_path.rglob("*") if not path.name.endswith(".lock")}
    assert written == {
        *("mirror", "cifar-10-python.tar.gz", "cache", "prepared", data.folder.name, "meta.json"),
        *("x_train.npy", "y_train.npy", "x_validation.npy", "y_validation.npy"),
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        {"type": tarfile.LNKTYPE, "linkname": "cifar-10-batches-py/data_batch_2"},
        {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5},
        {"type": tarfile.DIRTYPE},
        {"type": tarfile.FIFOTYPE},
    ],
)
def test_a_wanted_member_that_is_no_regular_file_is_refused(mirror, fields):
    known = miniatures.cifar10(mirror)
    entries = [miniatures.entry(*item) for item in miniatures.cifar10_members().items()]
    entries[0] = miniatures.entry(BATCH_1, **fields)
    miniatures.tar(mirror / "cifar-10-python.tar.gz", entries)
    refuse("cifar10", mirror, known, r"data_batch_1 in it is not a file of \d+ bytes")


def test_a_member_of_another_size_is_refused_unread(mirror):
    contents = miniatures.cifar10_members()
    known = miniatures.cifar10(mirror)
    contents[BATCH_1] += bytes(1_000_000)
    miniatures.cifar10(mirror, contents)
    refuse("cifar10", mirror, known, r"data_batch_1 in it is not a file of \d+ bytes")


def test_a_member_of_another_content_is_refused_before_it_is_unpickled(mirror, tmp_path):
    contents = miniatures.cifar10_members()
    known = miniatures.cifar10(mirror)
    attack = pickle.dumps(Attack(tmp_path / "ran"))
    contents[BATCH_1] = attack + bytes(len(contents[BATCH_1]) - len(attack))
    miniatures.cifar10(mirror, contents)
    refuse("cifar10", mirror, known, r"data_batch_1 in it has sha256 \w+\.\.\. instead of")
    assert not (tmp_path / "ran").exists()


def test_a_lacking_member_is_named(mirror):
    contents = miniatures.cifar10_members()
    known = miniatures.cifar10(mirror)
    del contents["cifar-10-batches-py/test_batch"]
    miniatures.cifar10(mirror, contents)
    refuse("cifar10", mirror, known, "test_batch is not in it")


class Attack:
    """Unpickled, it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_file_with_another_digest_is_not_parsed(mirror):
    known = miniatures.mnist(mirror)
    path = mirror / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes() + b"x")
    refuse("mnist", mirror, known, r"train-images-idx3-ubyte.gz is not the published file \(it has sha256")


def test_a_truncated_archive_is_refused(mirror):
    known = miniatures.cifar10(mirror)
    path = mirror / "cifar-10-python.tar.gz"
    path.write_bytes(path.read_bytes()[:5000])
    refuse("cifar10", mirror, known, "is not the published file")


@pytest.mark.parametrize("content", [b"", b"<html>log in</html>", gzip.compress(b"no tar", mtime=0)])
def test_something_else_under_the_name_of_an_archive_is_refused(mirror, content):
    known = miniatures.babi(mirror)
    (mirror / "babi.tar.gz").write_bytes(content)
    refuse("babi_qa2", mirror, known, "is not the published file")


def test_an_npz_of_another_content_is_refused_before_it_is_unpickled(mirror, tmp_path):
    known = miniatures.registry("imdb", (miniatures.imdb_keras(mirror),))
    np.savez(mirror / "imdb.npz", x_train=np.array([Attack(tmp_path / "ran")], object), y_train=np.zeros(1, np.int64))
    refuse("imdb", mirror, known, "imdb.npz is not the published file")
    assert not (tmp_path / "ran").exists()


def test_an_unreadable_file_is_named(mirror, monkeypatch):
    known = miniatures.mnist(mirror)

    def denied(*_args, **_keywords):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(archives, "read_bytes", denied)
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz cannot be read"):
        archives.verified(mirror / "train-images-idx3-ubyte.gz", known["mnist"].variants[0][0])


def test_a_file_that_seems_to_hold_a_terabyte_is_refused_unread(tmp_path):
    known = miniatures.mnist(tmp_path)
    os.truncate(tmp_path / "train-images-idx3-ubyte.gz", 1 << 40)
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz cannot be read .it is larger than 1024 MiB"):
        datasets.prepare(
            "mnist", input="flat", image_data_format="channels_last", mirror=tmp_path, cache=tmp_path, registry=known
        )
