"""Which packages the import of Keras spends its time in: `python -X importtime`, once in each environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kbench import store
from kbench.cells.spec import RunPaths
from kbench.environments import ensure
from kbench.planning.tasks import CellTask
from kbench.records.values import Environment
from kbench.store.files import os_errors_as_user_errors, replace

SECONDS = 300.0
_LINE = re.compile(r"^import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)$", re.MULTILINE)
_PROGRAM = """
import importlib, os
legacy = os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")
try:
    importlib.import_module("tf_keras" if legacy else "keras")
except ImportError:
    import keras
"""


def write(tasks: Iterable[CellTask], run_paths: RunPaths) -> None:
    """Measure them for the backends of these cells, and keep them in the run. Raises UserError."""
    found = {}
    for task in tasks:
        environment = run_paths.environments[task.environment]
        if task.backend not in found and isinstance(environment, Environment):
            found[task.backend] = _by_package(environment, task)
    known = {name: packages for name, packages in found.items() if packages}
    with os_errors_as_user_errors("write", store.import_times(run_paths.run)):
        replace(store.import_times(run_paths.run), json.dumps(known, indent=1, sort_keys=True) + "\n")


def _by_package(environment: Environment, task: CellTask) -> dict[str, float]:
    """Seconds of each top-level package's own modules; empty where Python cannot tell (before 3.7), or fails."""
    with tempfile.TemporaryDirectory() as home:
        own = {"HOME": home, "KERAS_HOME": home, "KERAS_BACKEND": task.keras_backend}
        done = subprocess.run(
            [str(environment.python), "-X", "importtime", "-c", _PROGRAM],
            env={**os.environ, **ensure.variables(environment, task.threads, "import"), **own},
            cwd=home,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    seconds = Counter[str]()
    for microseconds, module in _LINE.findall(done.stderr) if done.returncode == 0 else ():
        seconds[module.partition(".")[0]] += int(microseconds)
    return {name: number / 1e6 for name, number in seconds.most_common()}


def read(run: Path) -> dict[str, dict[str, float]]:
    """By backend and package; empty where they were not measured, or the file is damaged."""
    try:
        found = json.loads(store.import_times(run).read_bytes())
        return {str(name): {str(one): float(value) for one, value in of.items()} for name, of in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
