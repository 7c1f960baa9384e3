"""Test helper: runs of guests that are no frameworks. What a guest does stands in the file of its example."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fake_runs import PROVENANCE, plan, task

from kbench import store
from kbench.base.arrays import Data
from kbench.cells import launcher, orphans, runner
from kbench.cells.runner import Listener
from kbench.cells.spec import RunPaths
from kbench.machine import devices
from kbench.planning.tasks import CellTask
from kbench.records.values import Cell, Environment

DATA = Data("mnist", "real", Path("/data"), ("x.npy",), ("y.npy",), (), (), 10, 255.0, ((28, 28, 1),), "ab")
OF_ALL = {"task": "train", "input": "image", "example_sha256": "", "parameters": None, "keras_backend": "tiny"}


def staged_task(one: Cell, **settings: Any) -> CellTask:
    return task(one, **{"timeout": 300.0, **OF_ALL, **settings})


def staged(folder: Path, guest: Path, tasks: Sequence[CellTask], code: Mapping[str, str]) -> RunPaths:
    """A new run of these tasks below the folder. code: of each example."""
    examples = {name: folder / f"{name}.py" for name in code}
    for name, path in examples.items():
        path.write_text(code[name])
    backends = {one.backend for one in tasks}
    return RunPaths(
        run=store.create(folder / "results", plan([one.cell for one in tasks]), PROVENANCE),
        devices={"cpu": devices.CPU},
        examples=examples,
        data={(one.example, one.image_data_format): DATA for one in tasks},
        published_weights={},
        environments={(name, ""): Environment(name, "cpu", Path(sys.executable), None, {}, "") for name in backends},
        passed={},
        guest=guest,
    )


def run_all(tasks: Sequence[CellTask], here: RunPaths, listener: Listener, watched: bool, interleave: bool) -> None:
    """Run them, after which no process is left. watched: as the program does it, with a watchdog."""
    mark = orphans.mark(here.run)
    try:
        with orphans.ended_with_this_process(mark) if watched else contextlib.nullcontext():
            runner.run(tasks, {}, here, partial(launcher.launch, mark=mark), listener, interleave=interleave)
    finally:
        assert orphans.find(f"{here.run.resolve()}|") == []
