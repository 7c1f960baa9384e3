"""Installs packages for a user's program in a folder of its own, on top of a backend's locked environment."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock
from packaging.utils import canonicalize_name

from kbench.base.masking import without_passwords
from kbench.base.whole_folders import whole
from kbench.environments import installers
from kbench.environments.folders import ADDED
from kbench.environments.packages import packages, pinned
from kbench.errors import Unavailable, UserError
from kbench.records.values import Environment

LOCK = "kbench.lock"  # its packages with hashes; written last
SECONDS = 1800


def ensure(environment: Environment, requirements: Sequence[str], report: Callable[[str], None]) -> Environment:
    """The environment with a folder that adds these requirements and their dependencies.

    The environment's own versions stay. Raises Unavailable if the requirements conflict with them, UserError for an
    environment of the user's, which is not changed.
    """
    named = without_passwords(", ".join(requirements))
    if environment.folder is None:
        raise UserError(f"{environment.backend} uses an environment of your own as it is: install {named} there")
    there = packages(environment)
    wanted = "\n".join(sorted(requirements))
    fixed = "\n".join(f"{name}=={version}" for name, version in there.items())
    key = hashlib.sha256(json.dumps([wanted, fixed]).encode()).hexdigest()[:12]
    folder = environment.folder / ADDED / key
    log = environment.folder.parent / "logs" / f"{environment.folder.name}-with-{key}.log"
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / LOCK).is_file():
            report(f"{environment.backend}: installing {named} for the script")
            try:
                with whole(folder) as made:
                    _make(environment, made, wanted, fixed, log)
            except installers.InstallFailed as why:
                raise Unavailable(f"{named} cannot be added to its environment: {why} (see {log.parent})") from None
    return replace(environment, packages=folder)


def _make(environment: Environment, folder: Path, wanted: str, fixed: str, log: Path) -> None:
    """Resolve with the environment's versions fixed, and install what is missing."""
    asked, constraints, lock = (folder / name for name in ("asked.txt", "constraints.txt", "resolved.txt"))
    asked.write_text(wanted)
    constraints.write_text(fixed)
    python = ["--python", str(environment.python)]
    resolve = ["compile", *python, "--constraints", str(constraints), "--generate-hashes"]
    resolve += ["--no-header", "--no-annotate", "--output-file", str(lock), str(asked)]
    installers.uv_pip(resolve, log, folder, SECONDS)
    entries = re.split(r"^(?=[A-Za-z0-9])", lock.read_text(), flags=re.MULTILINE)
    own = {line.partition("==")[0] for line in fixed.splitlines()}
    new = [entry for entry in entries if entry and canonicalize_name(re.split("[=<>!~ ;]", entry)[0]) not in own]
    lock.write_text("".join(new))
    if new:
        install = ["install", *python, "--target", str(folder), "--no-deps", "--require-hashes"]
        installers.uv_pip([*install, "--requirements", str(lock)], log, folder, SECONDS)
    for made in (asked, constraints):
        made.unlink()
    lock.write_text(without_passwords(lock.read_text()))  # others may read it
    lock.rename(folder / LOCK)


def versions(environment: Environment) -> dict[str, str]:
    """Name -> version of the packages in the folder; empty if there is none."""
    if environment.packages is None:
        return {}
    return pinned((environment.packages / LOCK).read_text())
