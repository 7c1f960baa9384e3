"""Runs real backends in the smoke profile through the command line and reads what they left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from kbench import store
from kbench.errors import UserError
from kbench.planning.request import cores
from kbench.values import Measured

CHECKOUT = Path(__file__).resolve().parents[2]
MIRROR = CHECKOUT.parent / "shared" / "datasets"

# As people wrote it for Keras 2: no Input, and the first layer says how long its sequences are.
SEQUENTIAL_OF_KERAS_2 = '''"""Words, read by a small recurrent layer."""

import keras
from keras.layers import GRU, Dense, Embedding
from keras.models import Sequential
from keras.regularizers import l2

DATA = "imdb"
INPUT = "sequence"
BATCH_SIZE = 16
OPTIMIZER = {"class_name": "RMSprop", "learning_rate": 0.001}
LOSS = "binary_crossentropy"
PROFILES = {"full": {"samples": 25000, "validation_samples": 0, "epochs": 1}}
BACKEND = keras.backend.backend()


def build_model(input_shape, num_classes):
    model = Sequential()
    model.add(Embedding(30000, 8, input_length=input_shape[0]))
    model.add(GRU(4, recurrent_activation="sigmoid", reset_after=False))
    model.add(Dense(4, activation="tanh", kernel_regularizer=REGULARIZER))
    model.add(Dense(1, activation="sigmoid", trainable=TRAINABLE))
    return model
'''


@dataclass(frozen=True)
class Run:
    """A finished run of one backend: its exit status, what it printed, and its cells by the example's name."""

    status: int
    output: str
    folder: Path
    cells: dict[str, Measured]

    def events(self, example: str) -> list[dict[str, Any]]:
        """Every event of a cell, in the order in which the guest wrote them."""
        lines = store.cell_folder(self.folder, self.cells[example].cell).events.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


def measure(backend: str, folder: Path, *further: str) -> Run:
    """Measure `backend` with a new user's command; real data, from the mirror where there is one."""
    command = [sys.executable, "-m", "kbench", "run", "--backends", backend, *own_threads(), *further]
    done = subprocess.run(
        [*command, "--profile", "smoke", "--results", str(folder)],
        cwd=CHECKOUT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return _read(folder, done.returncode, done.stdout)


def measure_once(backend: str, folder: Path, *further: str) -> Run:
    """The same, where several processes of one test session ask for it: the first measures, all read."""
    folder.mkdir(parents=True, exist_ok=True)
    said = folder / "said.json"
    with FileLock(folder / "lock"):
        if not said.exists():
            run = measure(backend, folder, *further)
            said.write_text(json.dumps([run.status, run.output]), "utf-8")
    return _read(folder, *json.loads(said.read_text("utf-8")))


def own_threads() -> list[str]:
    """The option that gives this test process its share of the cores, where several run at once.

    The threads of two frameworks that spin on the same cores take ten times as long.
    """
    together = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return ["--threads", str(max(1, cores() // together))] if together > 1 else []


def environment() -> dict[str, str]:
    """This process's variables, with the mirror of the data where it lies beside the checkout."""
    known = {} if os.environ.get("KBENCH_DATA") or not MIRROR.is_dir() else {"KBENCH_DATA": str(MIRROR)}
    return {**os.environ, **known}


def _read(folder: Path, status: int, output: str) -> Run:
    try:
        run = store.latest(folder)
    except UserError:
        pytest.fail(output)
    return Run(status, output, run, {measured.cell.example: measured for measured in store.read(run).measured})
