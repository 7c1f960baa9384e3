"""Provides datasets as files for Keras's own loaders: for programs that call `keras.datasets` or `get_file`."""

from __future__ import annotations

import pickle
import re
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np
from filelock import FileLock

from kbench import paths
from kbench.datasets import archives, fetch, mnist
from kbench.datasets.imdb import reviews_of
from kbench.datasets.registry import BABI, CIFAR10, IMDB_KERAS, IMDB_RANKS, MNIST, File
from kbench.errors import UserError

WORD_INDEX = "imdb_word_index.json"
_BATCHES = "cifar-10-batches-py"


def folder() -> Path:
    """The folder that replaces ~/.keras for Keras's downloads, the same for all backends."""
    return paths.cache_folder() / "data" / "keras"


def files(program: str, mirror: Path | None) -> dict[str, Path]:
    """Name -> file or folder of each dataset that the text of a program seems to load.

    A dataset that cannot be found is left out: Keras's own loader then tries to download it, and reports errors.
    """
    if not re.search(r"\bdatasets\b|\bget_file\b", program):
        return {}
    found: dict[str, Path] = {}
    for word, make in (("mnist", _mnist), ("cifar10", _cifar10), ("imdb", _imdb), ("babi", _babi)):
        if re.search(rf"(?<![a-z_]){word}", program):
            try:
                found |= make(mirror)
            except (UserError, OSError):
                continue
    return found


def _made(name: str) -> Path:
    return folder() / "datasets" / name


def _obtained(file: File, mirror: Path | None) -> Path:
    own = paths.cache_folder() / "data" / "files"
    return fetch.obtain(file, mirror, own, dataset="the program", progress=False)


def _mnist(mirror: Path | None) -> Mapping[str, Path]:
    made = _made("mnist.npz")
    if not made.exists():
        names = ("x_train", "y_train", "x_test", "y_test")
        arrays = [mnist.read(file, _obtained(file, mirror)) for file in MNIST]
        _save(made, dict(zip(names, arrays, strict=True)))
    return {"mnist.npz": made}


def _imdb(mirror: Path | None) -> Mapping[str, Path]:
    made = _made("imdb.npz")
    own = paths.cache_folder() / "data" / "files"
    if not made.exists() and (ranks := fetch.locate(IMDB_RANKS, mirror, own)):
        archives.verified(ranks, IMDB_RANKS)
        with np.load(ranks) as archive:
            arrays: dict[str, np.ndarray] = {}
            for part in ("train", "test"):
                reviews, labels = reviews_of(archive, part)
                kept = np.empty(len(labels), object)
                kept[:] = [[int(rank) for rank in reviews(number)] for number in range(len(labels))]
                arrays |= {f"x_{part}": kept, f"y_{part}": labels}
        _save(made, arrays)
    elif not made.exists():
        made = _obtained(IMDB_KERAS, mirror)
    index = None if mirror is None else mirror / WORD_INDEX
    return {"imdb.npz": made} | ({WORD_INDEX: index} if index and index.is_file() else {})


def _cifar10(mirror: Path | None) -> Mapping[str, Path]:
    made = _made(_BATCHES)
    with _lock(made):
        if not made.is_dir():
            with tempfile.TemporaryDirectory(dir=made.parent) as partial:
                with tarfile.open(_obtained(CIFAR10, mirror)) as archive:
                    archive.extractall(partial, filter="data")
                shutil.move(Path(partial) / _BATCHES, made)
    return {_BATCHES: made, f"{_BATCHES}-target": made.parent}


def _babi(mirror: Path | None) -> Mapping[str, Path]:
    return dict.fromkeys(("babi-tasks-v1-2.tar.gz", BABI.name), _obtained(BABI, mirror))


def _save(made: Path, arrays: Mapping[str, np.ndarray]) -> None:
    with _lock(made):
        partial = made.with_name(f".{made.name}.partial")
        with zipfile.ZipFile(partial, "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    _write(file, array)
        partial.replace(made)


def _write(file: IO[bytes], array: np.ndarray) -> None:
    """An array in the format of .npy. Objects are pickled, in a way that numpy 1 reads too."""
    if array.dtype != object:
        np.lib.format.write_array(file, array)
        return
    header = {"descr": "|O", "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    # Protocol 3 ends a module's name with a line feed: another name may have another length.
    file.write(pickle.dumps(array, 3).replace(b"cnumpy._core.", b"cnumpy.core."))


def _lock(made: Path) -> FileLock:
    made.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(made.with_name(f".{made.name}.lock"))
