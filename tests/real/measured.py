"""Runs one cell of the smoke profile through the command line and reads what it left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbench import results
from kbench.values import Measured

CHECKOUT = Path(__file__).resolve().parents[2]
MIRROR = CHECKOUT.parent / "shared" / "datasets"


@dataclass(frozen=True)
class Run:
    """A finished run of one cell."""

    status: int
    output: str
    measured: Measured
    folder: Path


def measure(example: str, backend: str, folder: Path, *further: str) -> Run:
    """Measure `example` on `backend` with a new user's command; real data, from the mirror where there is one."""
    command = [sys.executable, "-m", "kbench", "run", "--backends", backend, "--examples", example, *further]
    done = subprocess.run(
        [*command, "--profile", "smoke", "--results", str(folder)],
        cwd=CHECKOUT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    run = results.latest(folder)
    (measured,) = results.read(run).measured
    return Run(done.returncode, done.stdout, measured, run)


def environment() -> dict[str, str]:
    """This process's variables, with the mirror of the data where it lies beside the checkout."""
    known = {} if os.environ.get("KBENCH_DATA") or not MIRROR.is_dir() else {"KBENCH_DATA": str(MIRROR)}
    return {**os.environ, **known}


def events(run: Run) -> list[dict[str, Any]]:
    """Every event of the run's cell, in the order in which the guest wrote them."""
    lines = results.cell_folder(run.folder, run.measured.cell).events.read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
