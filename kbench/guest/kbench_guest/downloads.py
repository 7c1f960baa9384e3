"""Keras's get_file: serves the files that kbench has, and downloads others once for all backends."""

import contextlib
import fcntl
import functools
import os
import sys
import types
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

import numpy as np

from kbench_guest.protocol import Refused

FAILED = "URL fetch failure"  # in what Keras raises, of whatever generation
PACKAGES = ("keras", "tf_keras", "keras_applications", "keras_preprocessing")


def share(keras: Any, folder: str, files: Dict[str, List[str]], remark: Callable[[str], None]) -> None:
    """Replace get_file in every module of Keras that has it.

    folder: used instead of ~/.keras. files: {name: [path, remark]} of the files that kbench has, whatever their hash;
    without a path, the remark says why it has none. remark: called with the remark of a file that is asked for.
    """
    named, folder = folder, os.path.expanduser(folder)
    get_file = getattr(getattr(keras, "utils", None), "get_file", None)
    if get_file is None:
        return

    @functools.wraps(get_file)
    def shared(fname: Optional[str] = None, origin: Optional[str] = None, *args: Any, **kwargs: Any) -> Any:
        here = _here(files, (str(fname), str(origin).rpartition("/")[2]), remark)
        if here:
            return here
        own = kwargs.get("cache_dir") is None and len(args) < 8
        if own:
            kwargs["cache_dir"] = folder
        with _locked(folder):
            try:
                return get_file(fname, origin, *args, **kwargs)
            except Exception as error:
                if not own or FAILED not in str(error):
                    raise
                target_folder = os.path.join(named, kwargs.get("cache_subdir", "datasets"))
                why = f"{fname} cannot be downloaded from {origin}: put it into {target_folder}"
                raise Refused("data", why) from error

    loaded: List[Tuple[str, Any]] = list(sys.modules.items())
    for name, module in loaded:
        if name.split(".")[0] in PACKAGES and getattr(module, "get_file", None) is get_file:
            module.get_file = shared
            if hasattr(module, "np") and name.startswith("keras.datasets."):
                # For the data loaders of Keras 2.2.4: numpy's `load` read pickles by default then.
                load = functools.partial(np.load, allow_pickle=True)
                module.np = types.SimpleNamespace(**dict(vars(np), load=load))


def _here(files: Dict[str, List[str]], names: Iterable[str], remark: Callable[[str], None]) -> str:
    """The path of the first of these files that kbench has; empty if it has none. Raises Refused, with the remark."""
    for name in names:
        path, said = files.get(name, ("", ""))
        if path and os.path.exists(os.path.expanduser(path)):
            if said:
                remark(said)
            return os.path.expanduser(path)
        if said:
            raise Refused("data", said)
    return ""


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Held by one process at a time."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lock"), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
