"""Test helper: probes of many small models in one process of a real backend, without training them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from real_runs import own_threads

from kbench.base import paths
from kbench.cells import spec as specs
from kbench.environments import ensure
from kbench.planning.request import cores
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import Backend, Device, Measured, Outcome
from kbench.selection import backends
from kbench.selection.builds import pick_build
from kbench.store.events import read_events

SAMPLES, CLASSES = 64, 10
# Run by the backend's Python with the guest's folder and a list of specs.
PROGRAM = """
import json, os, sys, traceback
sys.path.insert(0, sys.argv[1])
from kbench_guest.drivers import model_file
from kbench_guest.protocol import SCHEMA, Events, reason
import keras

for spec in json.load(open(sys.argv[2], encoding="utf-8")):
    events = Events(spec["events"])
    events.write("start", schema=SCHEMA, pid=os.getpid(), python="")
    os.environ["CHEATS"] = spec["cheats"]
    try:
        model_file.run(spec, events)
    except BaseException as error:
        traceback.print_exc()
        events.write("error", **reason(error))
    if hasattr(keras, "config"):
        keras.config.set_dtype_policy("float32")
    if keras.backend.backend() == "tensorflow":
        keras.backend.clear_session()  # each model of TensorFlow 1 would make the next one slower
"""


def data(folder: Path, inputs: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> dict[str, Any]:
    """The arrays as files, as the guest's spec describes them."""
    folder.mkdir(parents=True)
    for kind, arrays in (("x", inputs), ("y", targets)):
        for number, array in enumerate(arrays):
            np.save(folder / f"{kind}{number}.npy", array)
    return {
        "folder": str(folder),
        "train": [f"x{number}.npy" for number in range(len(inputs))],
        "train_targets": [f"y{number}.npy" for number in range(len(targets))],
        "validation": [],
        "validation_targets": [],
        "train_weights": "",
        "validation_weights": "",
        "num_classes": CLASSES,
        "divisor": 1.0,
        "input_shapes": [list(array.shape[1:]) for array in inputs],
        "input_names": [],
        "target_names": [],
        "sha256": "",
    }


def vectors(folder: Path) -> dict[str, Any]:
    random = np.random.RandomState(0)
    return data(folder, [random.rand(SAMPLES, 20).astype("float32")], [random.randint(0, CLASSES, SAMPLES)])


@dataclass(frozen=True)
class Job:
    """An example's file and its data, which may be one that cheats, and may be trained."""

    file: Path
    data: Mapping[str, Any]
    cheats: bool = False
    epochs: int = 0
    repeat: int = 1  # the first step is taken in the first one
    samples: int = SAMPLES
    as_it_ships: bool = False  # without kbench's corrections, which stay once they are made


def probe(folder: Path, name: str, jobs: Mapping[str, Job], layout: str = "") -> dict[str, Measured]:
    """What the backend reports of each job, in one process. layout: of pictures; without it the backend's own."""
    folder.mkdir(parents=True, exist_ok=True)
    backend = backends.load_all(paths.project_folder("backends"))[name]
    build = pick_build(backend, Device("cpu"))
    environment = ensure.ensure(backend, build)
    tasks = {
        example: _task(backend, example, job, layout or backend.image_data_format) for example, job in jobs.items()
    }
    written = [
        {
            **tasks[example].record,
            axes.WORKERS: {},
            "driver": None,
            "on_error": [],
            "example": str(job.file),
            "data": job.data,
            "events": str(folder / f"{example}.jsonl"),
            "cheats": "1" if job.cheats else "",
            **(dict.fromkeys(("ordered_updates", "corrected_normalization"), False) if job.as_it_ships else {}),
        }
        for example, job in jobs.items()
    ]
    (folder / "keras.json").write_text(json.dumps(specs.keras_json(next(iter(tasks.values())))))
    (folder / "jobs.json").write_text(json.dumps(written))
    threads = int((own_threads() or ["", str(cores()[0])])[1])
    compiled = str(paths.cache_folder() / "compiled" / "by-tests")
    variables = ensure.variables(environment, threads, "probes", compiled)
    ended = subprocess.run(
        [environment.python, "-W", "ignore", "-c", PROGRAM, paths.GUEST, folder / "jobs.json"],
        env=specs.environment_variables(os.environ, variables, {}, folder),
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    found = {}
    for example, task in tasks.items():
        report = read_events(folder / f"{example}.jsonl")
        assert not report.facts.error, (example, report.facts.error, ended.stderr[-2000:])
        facts = msgspec.structs.replace(report.facts, explained=backend.explained)
        found[example] = Measured(task.cell, Outcome("ok", "", 1.0, 0), report.epochs, report.phases, facts)
    return found


def _task(backend: Backend, example: str, job: Job, layout: str) -> CellTask:
    same = ("keras_backend", "recurrent", "fixed_batch", "ordered_updates", "corrected_normalization")
    return CellTask(
        values=axes.complete(
            {
                axes.EXAMPLE: example,
                axes.BACKEND: backend.name,
                axes.LAYOUT: layout,
                axes.DEVICE: "cpu",
                axes.TASK: "train",
                axes.BATCH_SIZE: 16,
                axes.SAMPLES: job.samples,
            }
        ),
        repeat=job.repeat,
        profile="",
        validation_samples=0,
        epochs=job.epochs,
        seed=0,
        input="image" if len(job.data["input_shapes"][0]) == 3 else "flat",
        example_sha256="",
        parameters=None,
        **{one: getattr(backend, one) for one in same},
    )


def as_of(one: Measured, **changed: Any) -> Measured:
    """The same as another cell, so that it is compared with those of its example."""
    return replace(one, cell=one.cell.at(**changed))
