"""Defines CellTask: all that measuring a cell takes. Its fields and axes are the keys of the guest's spec file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from kbench import hooks
from kbench.base.paths import GUEST
from kbench.environments.folders import lock_sha256, lock_text
from kbench.environments.packages import keras_among, pinned
from kbench.records import axes
from kbench.records.values import Build, Cell
from kbench.selection import sources

FLOATX = "float32"
EPSILON = 1e-7
# Enough to notice another value, too few to guess it.
DIGITS_OF_A_SECRET = 8


@dataclass(frozen=True, kw_only=True)
class CellTask(Cell):
    """Everything that measuring a cell takes, without paths of this machine."""

    input: str  # "image", "flat" or "sequence"
    example_sha256: str
    parameters: int | None  # as stated by the example
    keras_backend: str  # empty without Keras
    kind: str = "keras"  # or another kind of backend, and then:
    framework: str = ""  # or the format of what is exported
    module: str = ""  # what Python imports
    in_place_sha256: str = ""  # of the file that is measured in place of the example's, if one is
    constants: Mapping[str, Any] = field(default_factory=dict)  # and of the example then
    floatx: str = FLOATX
    epsilon: float = EPSILON
    recurrent: Mapping[str, str] = field(default_factory=dict)  # this and the next three are from the backend's file
    fixed_batch: tuple[str, ...] = ()
    ordered_updates: bool = False
    corrected_normalization: bool = False
    engine: str = ""  # what its workers are, as its Engine (kbench/additions.py) calls that
    jit: str = ""  # "on" or "off"; empty for the backend's default
    policy: str = ""  # Keras's dtype policy; empty for its default
    sources: Mapping[str, str] = field(default_factory=dict)  # package in a local folder -> hash of its code
    build: str = ""  # of the backend; empty if none fits the device
    lock_sha256: str = ""  # empty for an environment of the user's own
    versions: Mapping[str, str] = field(default_factory=dict)  # that the guest must find: {keras, backend}
    variables: Mapping[str, str] = field(default_factory=dict)  # the backend's, {env} and the like not filled in
    passed: Mapping[str, str] = field(default_factory=dict)  # variables of --pass-env -> the start of their sha256
    init: str = "seeded"
    augment: bool = False
    # A feature's own work, in which nothing is timed: {"feature", "driver": a module of its guest, "at": where that
    # begins, and what it takes}.
    part: Mapping[str, Any] | None = None
    data_sha256: str = ""  # known once the arrays are prepared
    published_weights: str = ""  # the file's name, if there is one
    guest_sha256: str = ""  # of kbench's own code that runs in the backend's Python
    script: Mapping[str, Any] | None = None  # the request's, if it is one
    timeout: float = 3600.0  # seconds
    memory_limit_mib: float | None = None  # of its processes together

    @property
    def cell(self) -> Cell:
        """The part of it that results keep."""
        return Cell(**{one.name: getattr(self, one.name) for one in fields(Cell)})

    @property
    def arrays(self) -> tuple[str, str]:
        """The example, and the form of its arrays."""
        form = (self.values[axis.name] for axis in axes.of_cells() if axis.of_arrays)
        return self.example, " ".join(str(one) for one in form if one != "")

    @property
    def environment(self) -> tuple[str, str]:
        """The backend and build whose environment it runs in."""
        return self.backend, self.build

    @property
    def has_model(self) -> bool:
        """Whether it builds the example's model, or runs the program: its data are needed."""
        return self.part is None or self.part["at"] == "model"

    @property
    def takes_turns(self) -> bool:
        """Whether others of its example may run beside it, in turns."""
        return self.part is None or bool(self.part.get("in_turns"))

    @property
    def record(self) -> dict[str, Any]:
        """Its fields and its value on each axis, by name: what its guest is told."""
        of_run = ("values", "varied", "counted")
        return {**{name: of for name, of in asdict(self).items() if name not in of_run}, **self.values}

    @property
    def identity(self) -> str:
        """A hash of what it measures, without its limits. A value that is the default of its axis changes nothing."""
        usual = {axis.name: axis.default for axis in axes.of_cells()}
        known = replace(self, timeout=0.0, memory_limit_mib=None).record.items()
        measured = {name: value for name, value in known if name not in usual or value != usual[name]}
        return hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()


def of_build(build: Build, distribution: str, as_is: bool) -> dict[str, Any]:
    """The fields of a task that come from a build; `distribution` is its backend's."""
    locked = build.lock is not None and not as_is
    return {
        "build": build.name,
        "lock_sha256": lock_sha256(build) if locked else "",
        "versions": locked_versions(build, distribution) if locked else {},
        "variables": {**build.variables, **(build.locked_variables if locked else {})},
    }


def start_of_sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()[:DIGITS_OF_A_SECRET]


def in_process(task: CellTask) -> tuple[str, ...]:
    """The features whose guests do something in its process: driver, engine, its part's, and those in a program's."""
    part, program = task.part, task.script or {}
    of_driver = [one.feature for one in (hooks.guest_driver(task), hooks.engine(task)) if one and one.feature]
    of_part = [part["feature"], *part.get("with", ())] if part else []
    return tuple(dict.fromkeys([*of_driver, *of_part, *program.get("parts", ())]))


def with_guest(task: CellTask) -> CellTask:
    """The task with the hash of the code that does it, which belongs to its identity."""
    return replace(task, guest_sha256=guest_sha256(*map(hooks.guest_folder, in_process(task))))


@cache
def guest_sha256(*parts: Path) -> str:
    """Of all code below the guest's folder, and below those of features' parts of it."""
    of_each = [sources.sha256(folder) for folder in (GUEST, *parts)]
    return of_each[0] if not parts else hashlib.sha256(" ".join(of_each).encode()).hexdigest()


def locked_versions(build: Build, distribution: str) -> dict[str, str]:
    """The versions of Keras and of the backend in the build's lock file: {keras, backend}."""
    locked = pinned(lock_text(build))
    keras = keras_among(build.requirements)
    found = {"keras": locked.get(keras), "backend": locked.get(canonicalize_name(build.distribution or distribution))}
    return {name: version for name, version in found.items() if version}
