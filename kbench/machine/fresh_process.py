"""Runs a measurement of the machine in a process of its own, like a cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from kbench.paths import PACKAGE

TIMEOUT = 60.0  # seconds


def run(module: str, arguments: tuple[object, ...], variables: Mapping[str, str]) -> Any:
    """What `python -m module` prints with these arguments, read as JSON; None if it fails. Never raises.

    The process gets only these environment variables, like a guest: others, such as OPENBLAS_CORETYPE, can halve
    numpy's speed.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            env={**variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # numpy, from where it is here
            cwd=PACKAGE.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
        )
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
