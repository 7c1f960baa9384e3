"""Lists the packages of a backend's environment from their metadata, without importing them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from kbench.records.values import Environment

SECONDS = 30  # a Python on a cold network folder takes its time
SEARCH_PATH = "import json, sys; print(json.dumps(sys.path[1:]))"  # without the current folder


def pinned(lock: str) -> dict[str, str]:
    """Name -> version of each package that the text of a lock file names; from Debian, without its own number."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", lock, re.MULTILINE)
    found += re.findall(r"/([^/_]+)_([A-Za-z0-9.]+)[^/]*\.deb$", lock, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def keras_among(requirements: Iterable[str]) -> NormalizedName:
    """The package that is Keras among these requirements: perhaps a fork, or Keras 2 under another name."""
    names = [canonicalize_name(Requirement(one).name) for one in requirements]
    return next((name for name in names if "keras" in name.split("-")), canonicalize_name("keras"))


def packages(environment: Environment) -> dict[str, str]:
    """Name -> version of each package, in the order of the names; empty if they cannot be read. Never raises."""
    try:
        own = environment.folder  # made by kbench: its Python need not be started for this
        return in_folder(own) if own else _on(_search_path(environment.python))
    except Exception:  # half a package, or a Python that does not start: a run does not fail for a list
        return {}


def in_folder(environment: Path) -> dict[str, str]:
    """The same of the environment in this folder. May raise anything, of half a package."""
    return _on([*map(str, environment.glob("lib/python*/site-packages"))])


def _on(folders: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in importlib.metadata.distributions(path=folders):
        name = canonicalize_name(one.metadata["Name"] or "")
        if name:
            found.setdefault(name, one.version)  # the first on the path is the one that is imported
    return dict(sorted(found.items()))


def _search_path(python: Path) -> list[str]:
    """The module search path of this Python when it runs a cell."""
    answer = subprocess.run(
        [str(python), "-c", SEARCH_PATH],
        env={**os.environ, "PYTHONNOUSERSITE": "1", "PYTHONPATH": ""},
        cwd=Path.home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return [str(one) for one in json.loads(answer.stdout.strip().splitlines()[-1])]
