"""Reads the pickles that published datasets consist of, without the power to run anything."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np


def _reconstruct(subtype: type, shape: tuple[int, ...], dtype: bytes | str) -> np.ndarray[Any, Any]:
    """Stands in for numpy's own, which has moved between modules: always an ndarray, filled afterwards."""
    name = dtype.decode("latin1") if isinstance(dtype, bytes) else dtype
    empty: np.ndarray[Any, Any] = np.ndarray.__new__(np.ndarray, shape, np.dtype(name))
    return empty


def _encode(text: str, encoding: str) -> bytes:
    """Stands in for codecs.encode, by which protocol 2 writes bytes: no other codec than latin1."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the codec {encoding} is not expected in it")
    return text.encode("latin1")


# All that occurs in CIFAR-10's batches and in Keras's imdb.npz, in the old and the new spelling of numpy.
ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _encode,
}


# What reading nonsense raises; memory, where it asks for an array larger than any.
MISREAD = (
    pickle.UnpicklingError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
)


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in it") from None


def load(content: bytes | io.BufferedIOBase) -> Any:
    """The object pickled in `content`; strings of Python 2 come as bytes.

    Raises ValueError for anything but numbers, strings, containers and numpy arrays. Meant for content whose
    digest is verified already: this is the second wall, not the first.
    """
    stream = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        return _Restricted(stream, encoding="bytes").load()
    except MISREAD as error:
        raise ValueError(f"its pickle cannot be read: {error}") from error
