"""Provides datasets as files for Keras's own loaders: for programs that call `keras.datasets` or `get_file`."""

from __future__ import annotations

import pickle
import re
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from filelock import FileLock

from kbench.base import paths
from kbench.base.whole_folders import scratch
from kbench.datasets import archives, fetch, mnist, origins
from kbench.datasets.imdb import reviews_of
from kbench.datasets.origins import MissingFile
from kbench.datasets.registry import (
    BABI,
    CIFAR10,
    CUT_BABI,
    CUT_MNIST,
    IMDB_KERAS,
    IMDB_RANKS,
    MNIST,
    RemoteFile,
)  # fmt: skip
from kbench.errors import UserError

WORD_INDEX = "imdb_word_index.json"
_BATCHES = "cifar-10-batches-py"


@dataclass(frozen=True)
class Served:
    """What a program gets that asks Keras for a file."""

    path: Path | None  # a file or folder; None if kbench has none
    remark: str = ""  # what is to be said if the program asks for it; if there is none, why


def folder() -> Path:
    """The folder that replaces ~/.keras for Keras's downloads, the same for all backends."""
    return paths.cache_folder() / "data" / "keras"


def files(program: str, mirror: Path | None) -> dict[str, Served]:
    """Name -> what is served of each dataset that the text of a program seems to load."""
    if not re.search(r"\bdatasets\b|\bget_file\b", program):
        return {}
    found: dict[str, Served] = {}
    for word, make in (("mnist", _mnist), ("cifar10", _cifar10), ("imdb", _imdb), ("babi", _babi)):
        if re.search(rf"(?<![a-z_]){word}", program):
            found |= make(mirror)
    return found


def _brought() -> Path:
    return paths.cache_folder() / "data" / "files"


def _made(name: str) -> Path:
    return folder() / "datasets" / name


def _obtained(files: tuple[RemoteFile, ...], mirror: Path | None) -> tuple[Path, ...] | str:
    """The paths of the files, or which are missing and why."""
    found, missing = list[Path](), list[MissingFile]()
    for file in files:
        try:
            found.append(fetch.obtain(file, mirror, _brought(), progress=False))
        except fetch.NotDownloaded as error:
            missing.append(MissingFile(file, str(error)))
        except UserError as error:
            return str(error)
    if missing:
        return (
            f"{origins.describe(missing)} cannot be downloaded: put {'it' if len(missing) == 1 else 'them'} into "
            f"{paths.portable(_brought())} or into a folder named by KBENCH_DATA"
        )
    return tuple(found)


def _mnist(mirror: Path | None) -> Mapping[str, Served]:
    made = _made("mnist.npz")
    if not made.exists():
        obtained = _obtained(MNIST, mirror)
        if isinstance(obtained, str):
            return {made.name: _part_of_mnist(obtained)}
        try:
            _save_mnist(made, MNIST, obtained)
        except UserError as error:  # a file is damaged
            return {made.name: Served(None, str(error))}
    return {made.name: Served(made)}


def _part_of_mnist(why: str) -> Served:
    made = _made("mnist-first-10000.npz")
    if not made.exists():
        _save_mnist(made, CUT_MNIST.files, origins.shipped_paths(CUT_MNIST))
    return Served(
        made,
        "not all of MNIST: the first 10,000 of 60,000 images to train and 5,000 of 10,000 to test, which come with "
        f"kbench; {why}",
    )


def _save_mnist(made: Path, files: tuple[RemoteFile, ...], there: tuple[Path, ...]) -> None:
    arrays = [mnist.read(file, path) for file, path in zip(files, there, strict=True)]
    _save(made, dict(zip(("x_train", "y_train", "x_test", "y_test"), arrays, strict=True)))


def _imdb(mirror: Path | None) -> Mapping[str, Served]:
    made = _made("imdb.npz")
    if not made.exists():
        try:
            found = _imdb_file(made, mirror)
        except UserError as error:  # a file is damaged
            found = str(error)
        if isinstance(found, str):
            return {"imdb.npz": Served(None, found)}
        made = found
    index = None if mirror is None else mirror / WORD_INDEX
    return {"imdb.npz": Served(made)} | ({WORD_INDEX: Served(index)} if index and index.is_file() else {})


def _imdb_file(made: Path, mirror: Path | None) -> Path | str:
    ranks = fetch.locate(IMDB_RANKS, mirror, _brought())
    if ranks is None:
        obtained = _obtained((IMDB_KERAS,), mirror)
        return obtained if isinstance(obtained, str) else obtained[0]
    archives.verified(ranks, IMDB_RANKS)
    with np.load(ranks) as archive:
        arrays: dict[str, np.ndarray] = {}
        for part in ("train", "test"):
            reviews, labels = reviews_of(archive, part)
            kept = np.empty(len(labels), object)
            kept[:] = [[int(rank) for rank in reviews(number)] for number in range(len(labels))]
            arrays |= {f"x_{part}": kept, f"y_{part}": labels}
    _save(made, arrays)
    return made


def _cifar10(mirror: Path | None) -> Mapping[str, Served]:
    made = _made(_BATCHES)
    with _lock(made):
        if not made.is_dir():
            obtained = _obtained((CIFAR10,), mirror)
            if isinstance(obtained, str):
                return dict.fromkeys((_BATCHES, f"{_BATCHES}-target", CIFAR10.name), Served(None, obtained))
            with scratch(made.with_name(f".{made.name}.partial"), 0o700) as partial:
                try:
                    with tarfile.open(obtained[0]) as archive:
                        archive.extractall(partial, filter="data")
                    (partial / _BATCHES).rename(made)
                except (OSError, EOFError, tarfile.TarError) as error:
                    why = f"{obtained[0]} cannot be unpacked ({error}): put the original in its place"
                    return dict.fromkeys((_BATCHES, f"{_BATCHES}-target", CIFAR10.name), Served(None, why))
    return {_BATCHES: Served(made), f"{_BATCHES}-target": Served(made.parent)}


def _babi(mirror: Path | None) -> Mapping[str, Served]:
    obtained = _obtained((BABI,), mirror)
    if isinstance(obtained, str):
        remark = f"not all of bAbI: task 2 in English, which comes with kbench; {obtained}"
        served = Served(origins.shipped_paths(CUT_BABI)[0], remark)
    else:
        served = Served(obtained[0])
    return dict.fromkeys(("babi-tasks-v1-2.tar.gz", BABI.name), served)


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
