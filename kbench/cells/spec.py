"""Makes the inputs of a guest: its spec, its keras.json and its environment variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbench import hooks, store
from kbench.base import paths
from kbench.base.arrays import Data
from kbench.base.locales import in_utf8
from kbench.base.paths import portable
from kbench.cells.place import Place
from kbench.datasets import as_keras
from kbench.datasets.as_keras import Served
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import CHANNELS_LAST, Device, Environment

LOAD = "load"  # the task of running an example's load_data
SAVED = "saved"  # the folder of what cells of a feature keep for each other

# The variables that a guest inherits: enough to find programs, libraries and caches, but no secrets.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "LOCPATH",
    "TMPDIR", "TZ", "XDG_CACHE_HOME",
    "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDNN_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "TEMP", "TMP", "CONDA_PREFIX", "CC", "CXX", "CPATH", "LIBRARY_PATH",
    "OMP_NUM_THREADS", "OMP_PROC_BIND", "KMP_AFFINITY",
)  # fmt: skip

# Inherited variables that may change a framework's results or speed: kept with the results.
MATTERS = re.compile(
    r"(OMP|GOMP|KMP|MKL|DNNL|ONEDNN|OPENBLAS|GOTO|BLIS|VECLIB|NUMEXPR|TBB|XLA|TF|CUDA|CUDNN|NVIDIA|NCCL|MALLOC"
    r"|TCMALLOC)_.*|LD_PRELOAD|LD_LIBRARY_PATH"
)
RESERVED_VARIABLES = re.compile(r"(PYTHON|KERAS_|KBENCH_|VIRTUAL_ENV|__PYVENV).*")
# Never kept.
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE")


def that_matter(variables: Mapping[str, str], of_backend: Collection[str]) -> dict[str, str]:
    """The variables to keep with the results: the backend's, and some inherited ones."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if (name in of_backend or MATTERS.fullmatch(name)) and not SECRET.search(name.upper())
    }


@dataclass(frozen=True, kw_only=True)
class RunPaths:
    """What this machine adds to the tasks of a run: devices and paths."""

    run: Path  # the run's folder
    devices: Mapping[str, Device]  # by label
    examples: Mapping[str, Path]
    data: Mapping[tuple[str, str], Data]  # by CellTask.arrays
    published_weights: Mapping[str, Path]  # by example
    environments: Mapping[tuple[str, str], Environment | str]  # by backend and build; a sentence if there is none
    passed: Mapping[str, str]  # the variables of --pass-env
    arguments: Sequence[str] = ()  # of the script, with its secrets
    cells: Sequence[str] = ()  # of the script, if it is a notebook
    pairs: Mapping[str, str] = field(default_factory=dict)  # by backend: that Keras and framework are of two times
    # by example and backend: what is measured in place of the example's file
    in_place: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    guest: Path = field(default_factory=lambda: paths.GUEST)
    keras_files: Mapping[str, Served] = field(default_factory=dict)  # datasets that a script may load, by name
    frameworks: Collection[str] = ()  # the packages of all backends of Keras
    started_in: Path = field(default_factory=Path.cwd)
    trained: Path | None = None  # a folder for the weights with which processes that only time steps begin
    gpus: Sequence[Device] = ()  # all of this machine: several workers take those from their device on
    compiled: Path | None = None  # for code that a cell's first process compiles and its repeats load
    place: Place | None = None  # among the machines that have a worker each, if they do


@dataclass(frozen=True)
class WorkTerms:
    """What the process of a program is given."""

    folder: Path  # its working directory
    told: Mapping[str, Any]  # in its spec
    variables: Mapping[str, str]


def keras_json(task: CellTask) -> dict[str, Any]:
    """The private keras.json of a cell; empty without Keras, which a framework may bring along."""
    if not task.keras_backend:
        return {}
    return {
        "backend": task.keras_backend,
        "image_data_format": task.image_data_format,
        "floatx": task.floatx,
        "epsilon": task.epsilon,
    }


def spec(
    task: CellTask,
    run_paths: RunPaths,
    work: WorkTerms | None = None,
    worker: int = 0,
    addresses: Sequence[str] = (),
) -> dict[str, Any]:
    """The guest's spec: the task and paths, with the home folder as `~`; `work` is that of a program.

    Of several processes: which one it is, and the addresses at which they find each other.
    """
    data = run_paths.data.get(task.arrays)
    weights = run_paths.published_weights.get(task.example)
    record = task.record
    record.pop(axes.WORKERS, None)  # of several it is what follows
    return {
        **record,
        **_of_workers(task, run_paths, worker, addresses),
        "batch_size": task.batch_size,
        "schema": 1,
        "identity": task.identity,
        "example": portable(run_paths.examples[task.example]),
        "device": run_paths.devices[task.device].kind,
        "data": {**vars(data), "folder": portable(data.folder), "hash_of": CHANNELS_LAST} if data else {},
        "load": _load(run_paths) if task.task == LOAD else None,
        "script": None if work is None else work.told,
        "validation_samples": task.validation_samples if data and data.validation else 0,
        "trained": portable(run_paths.trained / f"{task.row_id}.npz")
        if run_paths.trained and task.task == "train"
        else "",
        "part": task.part
        and {
            **task.part,
            **imported(task.part["driver"], task.part["feature"], *task.part.get("with", ())),
            "saved": portable(run_paths.run / SAVED),
        },
        "driver": _driver(task, run_paths),
        "on_error": [imported(one.on_error, one.feature) for one in hooks.program_parts({}) if one.on_error],
        "published_weights": portable(weights) if weights and task.published_weights else "",
        "events": portable(store.cell_folder(run_paths.run, task, worker).events),
    }


def _driver(task: CellTask, run_paths: RunPaths) -> dict[str, Any] | None:
    """What does the cell, if that is a feature's, and the file that it takes in place of the example's."""
    found = hooks.guest_driver(task)
    if found is None:
        return None
    file = run_paths.in_place.get((task.example, task.backend))
    return {**imported(found.module, found.feature), "file": portable(file) if file else ""}


def _of_workers(task: CellTask, run_paths: RunPaths, number: int, addresses: Sequence[str]) -> dict[str, Any]:
    """What a process of several workers is told of the others, and what lets them train one model."""
    engine = hooks.engine(task)
    if not engine.module:
        return {}
    told = engine.told(task, run_paths, number, addresses)
    return {"workers": {**told, **imported(engine.module, engine.feature)}}


def imported(module: str, *features: str) -> dict[str, Any]:
    """What the guest imports a feature's module by: its folder, and those of features on which it stands."""
    return {"driver": module, "folders": [portable(hooks.guest_folder(one)) for one in features]}


def _load(run_paths: RunPaths) -> dict[str, Any]:
    """What an example's load_data finds of Keras's datasets."""
    return {"downloads": portable(as_keras.folder()), "files": keras_files(run_paths)}


def keras_files(run_paths: RunPaths) -> dict[str, list[str]]:
    """What Keras's get_file finds: name -> its path, and what is said of it."""
    return {name: [portable(one.path) if one.path else "", one.remark] for name, one in run_paths.keras_files.items()}


def environment_variables(
    inherited: Mapping[str, str],
    backend: Mapping[str, str],
    pinned: Mapping[str, str],
    keras_home: Path,
    of_program: bool = False,
) -> dict[str, str]:
    """All environment variables of a guest: a few of the user's, the backend's and the device's.

    KERAS_BACKEND is left out, because it would override keras.json. `of_program`: a user's own program gets all of
    the user's variables, except those that control Python, Keras and kbench. Either is in UTF-8.
    """
    kept = {name: inherited[name] for name in INHERITED if name in inherited}
    if of_program:
        kept = {name: value for name, value in inherited.items() if not RESERVED_VARIABLES.fullmatch(name)}
    return {
        **in_utf8(kept),
        "PYTHONNOUSERSITE": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
        **backend,
        **pinned,
        "KERAS_HOME": str(keras_home),
    }
