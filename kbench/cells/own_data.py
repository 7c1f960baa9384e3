"""Runs an example's load_data once, in one backend's environment; all backends share the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kbench import store
from kbench.cells import launcher as launchers
from kbench.cells import runner
from kbench.cells.compiling import NOBODY
from kbench.cells.launcher import Launcher
from kbench.cells.spec import LOAD, Here
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.values import CHANNELS_LAST, OK

FILE = "own_data.npz"


def load(task: CellTask, here: Here, launcher: Launcher, report: Callable[[str], None]) -> Path:
    """The .npz file with its arrays, in the run's folder of `here`. Raises UserError."""
    name = here.examples[task.example].name
    report(f"{name}: load_data() runs on {task.backend}, for all backends")
    loading = replace(task, task=LOAD, image_data_format=CHANNELS_LAST, epochs=0, parity=None, repeat=1)
    outcome = launchers.to_its_end(runner.measure(loading, here, launcher, NOBODY))
    if outcome.status != OK:
        raise UserError(f"load_data of {name} gave no data on {task.backend}: {outcome.reason.rstrip('.')}.")
    return store.cell_folder(here.run, loading).path / FILE
