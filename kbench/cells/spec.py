"""What a guest is told: its spec, its keras.json and its environment variables."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kbench.paths import portable
from kbench.values import Backend, Build, Cell, Data, Device, Example

FLOATX = "float32"
EPSILON = 1e-7

# What a guest inherits: enough to find programs, libraries and its own caches, and none of the user's secrets.
INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "XDG_CACHE_HOME",
    "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDNN_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LD_PRELOAD",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA",
    "LOCALAPPDATA", "CONDA_PREFIX", "CC", "CXX", "CPATH", "LIBRARY_PATH",
    "OMP_NUM_THREADS", "OMP_PROC_BIND", "KMP_AFFINITY",
)  # fmt: skip

# Inherited variables that change what a framework computes, or how fast, and are kept with the results.
MATTERS = re.compile(
    r"(OMP|GOMP|KMP|MKL|DNNL|ONEDNN|OPENBLAS|GOTO|BLIS|VECLIB|NUMEXPR|TBB|XLA|TF|CUDA|CUDNN|NVIDIA|NCCL|MALLOC"
    r"|TCMALLOC)_.*|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH"
)
# Not for print, whatever it is for.
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE")


def that_matter(variables: Mapping[str, str], of_backend: Collection[str]) -> dict[str, str]:
    """What a reader of a cell's figures should know of its variables: its backend's, and some inherited ones."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if (name in of_backend or MATTERS.fullmatch(name)) and not SECRET.search(name.upper())
    }


def keras_json(backend: Backend, cell: Cell) -> dict[str, Any]:
    """The private keras.json of a cell."""
    return {
        "backend": backend.keras_backend,
        "image_data_format": cell.image_data_format,
        "floatx": FLOATX,
        "epsilon": EPSILON,
    }


def spec(
    cell: Cell,
    example: Example,
    backend: Backend,
    data: Data,
    device: Device,
    *,
    versions: Mapping[str, str],
    augment: bool,
    init: str,
    published_weights: Path | None,
    events: Path,
    parity: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The guest's spec; paths below the user's home folder begin with `~`, so that results do not name it."""
    return {
        "schema": 1,
        "example": portable(example.path),
        "task": example.task,
        "keras_backend": backend.keras_backend,
        "image_data_format": cell.image_data_format,
        "floatx": FLOATX,
        "epsilon": EPSILON,
        "versions": dict(versions),
        "data": {
            "name": data.name,
            "source": data.source,
            "sha256": data.sha256,
            "hash_of": "channels_last",  # what is hashed: the same in either layout
            "folder": portable(data.folder),
            "train": list(data.train),
            "train_labels": data.train_labels,
            "validation": list(data.validation),
            "validation_labels": data.validation_labels,
            "num_classes": data.num_classes,
            "divisor": data.divisor,
            "input_shapes": [list(shape) for shape in data.input_shapes],
        },
        "samples": cell.samples,
        "validation_samples": cell.validation_samples if data.validation else 0,
        "epochs": cell.epochs,
        "parameters": example.parameters,
        "batch_size": cell.batch_size,
        "seed": cell.seed,
        "init": init,
        "device": device.kind,
        "recurrent": dict(backend.recurrent),
        "fixed_batch": list(backend.fixed_batch),
        "ordered_updates": backend.ordered_updates,
        "augment": augment and example.augmentation,
        "published_weights": portable(published_weights) if published_weights else "",
        "events": portable(events),
        **({} if parity is None else {"parity": dict(parity)}),
    }


def identity(
    cell: Cell,
    example: Example,
    backend: Backend,
    build: Build,
    data: Data,
    *,
    augment: bool,
    init: str,
    published_weights: bool,
    parity: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """What a cell measures, by content: {example, lock, data, settings}, a hash each.

    A cell whose identity is the same has nothing new to tell. Where things lie is no part of it.
    """
    settings = {
        "cell": asdict(cell),
        "keras_json": keras_json(backend, cell),
        "task": example.task,
        "augment": augment and example.augmentation,
        "init": init,
        "published_weights": published_weights,
        "parity": parity,
        "forms": [dict(backend.recurrent), list(backend.fixed_batch), backend.ordered_updates],
        "variables": [dict(backend.variables), dict(build.variables)],
    }
    return {
        "example": example.sha256,
        "lock": hashlib.sha256(build.lock.read_bytes()).hexdigest() if build.lock else "",
        "data": data.sha256,
        "settings": hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
    }


def environment_variables(
    inherited: Mapping[str, str], backend: Mapping[str, str], pinned: Mapping[str, str], keras_home: Path
) -> dict[str, str]:
    """The guest's whole environment: a short list of the user's variables, the backend's and the device's.

    KERAS_BACKEND is left out on purpose: it would win over keras.json.
    """
    kept = {name: inherited[name] for name in INHERITED if name in inherited}
    return {
        **kept,
        "PYTHONNOUSERSITE": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONUNBUFFERED": "1",
        **backend,
        **pinned,
        "KERAS_HOME": str(keras_home),
    }


def locked_versions(build: Build, distribution: str) -> dict[str, str]:
    """The exact versions of Keras and of the backend that the build's lock file promises: {keras, backend}.

    Empty where an environment of the user's own is used as it is: whatever it has is measured and reported.
    """
    if build.lock is None:
        return {}
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", build.lock.read_text("utf-8"), re.MULTILINE)
    locked = {_normal(name): version for name, version in pinned}
    asked = [_normal(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in build.requirements]
    keras = next((name for name in asked if name.startswith("keras")), "keras")  # or a fork of it
    found = {"keras": locked.get(keras), "backend": locked.get(_normal(build.distribution or distribution))}
    return {name: version for name, version in found.items() if version}


def _normal(name: str) -> str:
    """PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()
