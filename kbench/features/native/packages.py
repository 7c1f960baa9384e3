"""Packages of Debian in a backend's environment, and what `doctor` says of apt, which knows where they are."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from kbench.commands.finding import DoctorFinding
from kbench.datasets import addresses
from kbench.environments import installers
from kbench.environments.ensure import INSTALL_SECONDS
from kbench.features.native import debian
from kbench.records.values import Backend

FOLDER = "debian"  # of an environment


def add(backend: Backend, lock: Path, folder: Path, log: Path) -> None:
    """Unpack them. Of their Python packages only the framework's is imported. Raises InstallFailed."""
    command = [sys.executable, "-I", str(debian.__file__), str(lock), str(folder / FOLDER)]
    installers.run(command, log, os.environ, lock.parent, INSTALL_SECONDS)
    *_, name = backend.imported
    package = folder / FOLDER / "usr/lib/python3/dist-packages" / name
    if not package.is_dir():
        raise installers.InstallFailed(f"its packages of Debian have no Python package {name}")
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / name).symlink_to(package)


def apt() -> DoctorFinding:
    """Whether there is one, and which of its mirrors answer."""
    return DoctorFinding("apt", _apt())


def _apt() -> str:
    path = shutil.which("apt-get")
    if path is None:
        return "none: only some native backends use it"
    try:
        mirrors = list(dict.fromkeys(debian.mirrors()))
    except debian.Failed as error:
        return str(error)
    asked = addresses.ask(mirrors)
    hosts = [str(urlsplit(address).hostname) for address, why in asked.items() if not why]
    whys = list(dict.fromkeys(why for why in asked.values() if why))
    said = [f"packages from {', '.join(dict.fromkeys(hosts))}"] if hosts else [] if whys else ["no mirror"]
    return ", ".join([path, *said, *whys])
