"""Finds kbench's own environment, and checks whether it is complete."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from pathlib import Path

from kbench.base import trusted
from kbench.errors import UserError

MARKER = "kbench-lock.sha256"  # written last: an environment without it is incomplete


def cache_folder() -> Path:
    """The same as `kbench.base.paths.cache_folder`, without platformdirs."""
    try:
        chosen = os.environ.get("KBENCH_CACHE")
        if chosen:
            return trusted.check(Path(chosen).expanduser().absolute())
        xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return trusted.check((xdg if xdg.is_absolute() else Path.home() / ".cache") / "kbench")
    except RuntimeError as error:  # no such user, or no home folder
        raise UserError(f"no cache folder ({error}): name one with the variable KBENCH_CACHE.") from error


def digest(lock: Path) -> str:
    """SHA-256 of a lock file; raises UserError if it cannot be read."""
    try:
        return hashlib.sha256(lock.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{lock} cannot be read ({error.strerror}): the checkout is not whole.") from error


def folder_for(lock: Path, cache: Path) -> Path:
    """Where `lock`'s environment for the running interpreter is or will be: <cache>/<lock's stem>/<key>."""
    # An environment uses its interpreter's files, so each installed Python has its own.
    flavour = (str(sys.implementation.cache_tag), getattr(sys, "abiflags", ""), sysconfig.get_platform())
    key = hashlib.sha256("\n".join((digest(lock), *flavour, sys.base_prefix)).encode()).hexdigest()[:16]
    return cache / lock.stem / key


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in `folder`."""
    return folder / "bin" / "python"


def ready(folder: Path, lock: Path) -> bool:
    """True if `folder` holds the complete environment of `lock`, and its interpreter still exists."""
    try:
        marker = (folder / MARKER).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return False
    return marker == digest(lock) and python_of(folder).exists()
