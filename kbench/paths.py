"""Where things are: the project's own files, and the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

PACKAGE = Path(__file__).resolve().parent
GUEST = PACKAGE / "guest"


def project_folder(name: str) -> Path:
    """The folder `name` (`backends` or `examples_models`): of the checkout, or else as installed by pip."""
    in_checkout = (PACKAGE.parent / "pyproject.toml").is_file()
    return PACKAGE.parent / name if in_checkout else PACKAGE / "_data" / name


def cache_folder() -> Path:
    """Where environments, data and compiled code live: `KBENCH_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("KBENCH_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("kbench"))
