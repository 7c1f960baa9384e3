"""Writes miniatures of the published files, in their own formats, and registries that pin them."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from kbench.datasets.registry import REGISTRY, Member, Registry, RemoteFile

BATCH = 20  # samples of a miniature CIFAR-10 batch


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def pinned(path: Path, addresses: tuple[str, ...] = ()) -> RemoteFile:
    return RemoteFile(path.name, addresses, digest=sha256(path.read_bytes()))


def registry(name: str, *variants: tuple[RemoteFile, ...]) -> Registry:
    """The real registry with one dataset's files exchanged, of which nothing comes with kbench."""
    return MappingProxyType({**REGISTRY, name: replace(REGISTRY[name], variants=variants, shipped=None)})


def with_addresses(known: Registry, name: str, *roots: str) -> Registry:
    """`known` with every file of `name` published under `roots` instead."""
    variants = tuple(
        tuple(replace(file, addresses=tuple(root + file.name for root in roots)) for file in files)
        for files in known[name].variants
    )
    return registry(name, *variants)


def idx(array: np.ndarray[Any, Any]) -> bytes:
    header = np.array([0x800 + array.ndim, *array.shape], ">u4").tobytes()
    return header + array.astype(np.uint8).tobytes()


def mnist_arrays(samples: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.RandomState(seed)
    return random.randint(0, 256, (samples, 28, 28)), random.randint(0, 10, samples)


def mnist(folder: Path) -> Registry:
    """60 training and 20 test digits as four idx files."""
    files = []
    for part, samples, seed in (("train", 60, 0), ("t10k", 20, 1)):
        pictures, labels = mnist_arrays(samples, seed)
        for kind, array in (("images-idx3", pictures), ("labels-idx1", labels)):
            path = folder / f"{part}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(idx(array), mtime=0))
            files.append(pinned(path))
    return registry("mnist", tuple(files))


def cifar10_batch(seed: int) -> tuple[np.ndarray[Any, Any], list[int]]:
    random = np.random.RandomState(seed)
    return random.randint(0, 256, (BATCH, 3072)).astype(np.uint8), random.randint(0, 10, BATCH).tolist()


def cifar10_members() -> dict[str, bytes]:
    names = [f"cifar-10-batches-py/data_batch_{number}" for number in range(1, 6)]
    names.append("cifar-10-batches-py/test_batch")
    contents = {}
    for seed, name in enumerate(names):
        data, labels = cifar10_batch(seed)
        # The published ones have the strings of Python 2, hence keys that are bytes.
        contents[name] = pickle.dumps({b"data": data, b"labels": labels, b"batch_label": name.encode()}, 2)
    return contents


def entry(name: str, content: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def tar(path: Path, entries: Iterable[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))


def cifar10(folder: Path, contents: dict[str, bytes] | None = None) -> Registry:
    """Five batches and a test batch of 20 pictures, which the registry pins by their members."""
    contents = cifar10_members() if contents is None else contents
    path = folder / "cifar-10-python.tar.gz"
    tar(path, [entry(name, content) for name, content in contents.items()])
    members = tuple(Member(name, sha256(c), len(c), BATCH) for name, c in contents.items())
    return registry("cifar10", (RemoteFile(path.name, (), members=members),))


BABI_TRAIN = b"""1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel got the milk.
5 Where is the milk? \thallway\t2 4
1 Sandra journeyed to the garden.
2 Where is Sandra? \tgarden\t1
"""
BABI_TEST = b"""1 Mary went back to the kitchen.
2 Mary took the apple there.
3 Mary moved to the office.
4 Where is the apple? \toffice\t2 3
"""


def babi(folder: Path, train: bytes = BABI_TRAIN, test: bytes = BABI_TEST) -> Registry:
    contents = {"en/qa2_train.txt": train, "en/qa2_test.txt": test}
    path = folder / "babi.tar.gz"
    tar(path, [entry(name, content) for name, content in contents.items()])
    members = tuple(Member(name, sha256(c), len(c)) for name, c in contents.items())
    return registry("babi_qa2", (RemoteFile(path.name, (), members=members),))


def reviews(samples: int, seed: int) -> tuple[list[list[int]], np.ndarray[Any, Any]]:
    """Ranks of short, just fitting and long reviews, rare words among them; sorted by class."""
    random = np.random.RandomState(seed)
    lengths = random.choice([1, 20, 148, 149, 150, 151, 400], samples)
    texts = [random.choice([1, 7, 500, 29_996, 29_997, 88_584], n).tolist() for n in lengths]
    return texts, np.sort(random.randint(0, 2, samples))


def imdb_ranks(folder: Path, samples: int = 80) -> RemoteFile:
    arrays: dict[str, Any] = {}
    for part, seed in (("train", 0), ("test", 1)):
        texts, labels = reviews(samples, seed)
        arrays[f"tokens_{part}"] = np.concatenate(texts).astype(np.int32)
        arrays[f"offsets_{part}"] = np.cumsum([0, *map(len, texts)])
        arrays[f"y_{part}"] = labels
    np.savez(folder / "imdb_ranks.npz", **arrays)
    return pinned(folder / "imdb_ranks.npz")


def imdb_keras(folder: Path, samples: int = 80) -> RemoteFile:
    arrays: dict[str, Any] = {}
    for part, seed in (("train", 0), ("test", 1)):
        texts, labels = reviews(samples, seed)
        arrays[f"x_{part}"] = np.array([*texts, None], object)[:-1]
        arrays[f"y_{part}"] = labels
    np.savez(folder / "imdb.npz", **arrays)
    return pinned(folder / "imdb.npz")
