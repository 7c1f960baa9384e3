"""Measurements of the machine that need a process of their own, as a cell has one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIMEOUT = 60.0  # seconds


def told(module: str, arguments: tuple[object, ...], variables: Mapping[str, str]) -> Any:
    """What `python -m module` prints with these arguments, read as JSON; None where it does not come to that.

    The process has just these environment variables: the host may have some that guests do not get, such as
    OPENBLAS_CORETYPE, which can halve what numpy does. Never raises.
    """
    found = os.pathsep.join(filter(None, sys.path))  # numpy, wherever this process has it from
    try:
        said = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            env={**variables, "PYTHONPATH": found},
            cwd=Path(__file__).resolve().parents[2],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
        ).stdout
        return json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
