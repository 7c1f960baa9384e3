"""Paths of the project's own files and the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from kbench.base import trusted
from kbench.errors import UserError

PACKAGE = Path(__file__).resolve().parents[1]
GUEST = PACKAGE / "guest"


def project_folder(name: str) -> Path:
    """The folder `name` (`backends`, `datasets`, `suites`, ...): of the checkout, or as installed."""
    in_checkout = (PACKAGE.parent / "pyproject.toml").is_file()
    return PACKAGE.parent / name if in_checkout else PACKAGE / "_data" / name


def further_backends() -> Path | None:
    """The folder KBENCH_BACKENDS with the user's own backends, if set. Raises UserError if it is not a folder."""
    chosen = os.environ.get("KBENCH_BACKENDS")
    if not chosen:
        return None
    folder = with_home(chosen)
    if not folder.is_dir():
        raise UserError(f"KBENCH_BACKENDS is {chosen}, which is not a folder: name one, or unset it.")
    return folder


def with_home(text: str) -> Path:
    """The path with `~` filled in; unlike pathlib's, this does not raise if there is no such user."""
    return Path(os.path.expanduser(text))  # noqa: PTH111


def cache_folder() -> Path:
    """The folder of environments, data and compiled code: KBENCH_CACHE, or the user's cache folder. Raises UserError
    if others could put programs into it.
    """
    chosen = os.environ.get("KBENCH_CACHE")
    return trusted.check(with_home(chosen).absolute() if chosen else Path(platformdirs.user_cache_dir("kbench")))


def portable(path: Path) -> str:
    """The path with the user's home folder written as `~`."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)
