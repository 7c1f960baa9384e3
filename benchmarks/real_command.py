"""Runs kbench's real command and reads what it measured: for benchmarks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.records.values import Measured


def measured(
    command: Sequence[str], run: Path, checkout: Path = CHECKOUT, arguments: Sequence[str] = ()
) -> Sequence[Measured]:
    """The processes of a run on the CPU, one of each row, in that folder.

    command: `run` or `script` with its options; arguments: the program's own. checkout: whose command it is.
    """
    done = subprocess.run(
        [
            *(sys.executable, str(checkout / "run.py"), *command, "--device", "cpu", "--repeats", "1"),
            *("--no-plots", "--results", str(run.parent), "--name", run.name),
            *(["--", *arguments] if arguments else []),
        ],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout)
    return store.read(run).measured
