"""A checkout with the real front door, a stand-in for the rest of kbench, and locks that ask for nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
ENTRANCE = (
    "__init__.py",
    "__main__.py",
    "version.py",
    "errors.py",
    "base/__init__.py",
    "base/locales.py",
    "base/trusted.py",
    "base/whole_folders.py",
    "bootstrap/__init__.py",
    "bootstrap/entry.py",
    "bootstrap/host_environment.py",
    "bootstrap/make_host_environment.py",
    "bootstrap/browser.py",
)
STATUS = 7
STAND_IN = f"""
import json, os, sys

def main(argv=None):
    told = {{"argv": argv, "cwd": os.getcwd(), "prefix": sys.prefix, "path": sys.path}}
    print(json.dumps({{**told, "handed_over": os.environ.get("KBENCH_HANDED_OVER")}}))
    return {STATUS}
"""


def make_checkout(folder: Path) -> Path:
    """A checkout in `folder` whose kbench prints what it was given and ends with STATUS."""
    (folder / "kbench").mkdir(parents=True)
    (folder / "requirements").mkdir()
    shutil.copy(CHECKOUT / "run.py", folder)
    for name in ("base", "bootstrap", "cli"):
        (folder / "kbench" / name).mkdir()
    for name in (*ENTRANCE, "cli/__init__.py"):
        shutil.copy(CHECKOUT / "kbench" / name, folder / "kbench" / name)
    (folder / "kbench" / "cli" / "main.py").write_text(STAND_IN)
    for name in ("host", "test"):
        (folder / "requirements" / f"{name}.lock").write_text(f"# nothing for the {name}\n")
    return folder


def without_pip(folder: Path, lock: Path) -> tuple[list[str], list[str]]:
    """In place of make_host_environment.commands: an environment in a moment, nothing installed."""
    return [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], [sys.executable, "-c", ""]


def variables(cache: Path, **more: str) -> dict[str, str]:
    """The environment variables for a call that keeps its environments in `cache`."""
    return {**os.environ, "KBENCH_CACHE": str(cache), **more}


def call(
    checkout: Path,
    variables: Mapping[str, str],
    *arguments: str,
    python: Path = Path(sys.executable),
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """`python run.py ARGUMENTS`, to its end."""
    command = [str(python), str(checkout / "run.py"), *arguments]
    return subprocess.run(command, env=dict(variables), cwd=cwd, capture_output=True, text=True)


def start(checkout: Path, variables: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    """`python run.py ARGUMENTS`, started in a process group of its own."""
    command = [sys.executable, str(checkout / "run.py"), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=dict(variables), stdout=pipe, stderr=pipe, text=True, start_new_session=True)
