"""A cell as it travels from the plan to its guest: one value, whose fields are the keys of the guest's spec file."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kbench.paths import GUEST
from kbench.values import Build, Cell

FLOATX = "float32"
EPSILON = 1e-7
# Enough to see that a value is another one, and too little to find the value by.
DIGITS_OF_A_SECRET = 8


@dataclass(frozen=True, kw_only=True)
class CellTask(Cell):
    """All that measuring a cell takes, without a path of this machine."""

    task: str  # "train", "infer" or "script"
    input: str  # "image", "flat" or "sequence"
    example_sha256: str
    parameters: int | None  # what the example states
    keras_backend: str  # empty of a native backend
    kind: str = "keras"  # or "native", and then:
    framework: str = ""
    module: str = ""  # what Python imports
    twin_sha256: str = ""  # of the file that is measured
    constants: Mapping[str, Any] = field(default_factory=dict)  # of the example
    floatx: str = FLOATX
    epsilon: float = EPSILON
    recurrent: Mapping[str, str] = field(default_factory=dict)  # as the backend's file says, and so the next two
    fixed_batch: tuple[str, ...] = ()
    ordered_updates: bool = False
    jit: str = ""  # "on" or "off", if not as the backend has it
    policy: str = ""  # Keras's dtype policy, if not its own
    sources: Mapping[str, str] = field(default_factory=dict)  # package in the user's own folder -> hash of its code
    build: str = ""  # of the backend; empty where none fits the device
    lock_sha256: str = ""  # empty where an environment of the user's own is used as it is
    versions: Mapping[str, str] = field(default_factory=dict)  # that have to be found: {keras, backend}
    variables: Mapping[str, str] = field(default_factory=dict)  # the backend's, {env} and the like not filled in
    passed: Mapping[str, str] = field(default_factory=dict)  # variables of --pass-env -> the start of their sha256
    threads: int = 1
    init: str = "seeded"
    augment: bool = False
    parity: Mapping[str, tuple[int, ...]] | None = None  # what is computed where nothing is timed
    data_sha256: str = ""  # known once the arrays lie ready
    published_weights: str = ""  # the file's name, where there is one
    guest_sha256: str = ""  # of kbench's own code that runs in the backend's Python
    script: Mapping[str, Any] | None = None  # the request's, if it is one
    timeout: float = 3600.0  # seconds
    memory_limit_mib: float | None = None  # of its processes together

    @property
    def cell(self) -> Cell:
        """What results keep of it."""
        return Cell(**{one.name: getattr(self, one.name) for one in fields(Cell)})

    @property
    def identity(self) -> str:
        """A hash of what it measures; its limits are no part of that."""
        measured = asdict(replace(self, timeout=0.0, memory_limit_mib=None))
        return _sha256(json.dumps(measured, sort_keys=True).encode())


def of_build(build: Build, distribution: str, as_is: bool) -> dict[str, Any]:
    """The fields of a task that come from a build; `distribution` is its backend's."""
    locked = build.lock is not None and not as_is
    return {
        "build": build.name,
        "lock_sha256": _sha256(build.lock.read_bytes()) if build.lock and locked else "",
        "versions": locked_versions(build, distribution) if locked else {},
        "variables": {**build.variables, **(build.locked_variables if locked else {})},
    }


def start_of_sha256(secret: str) -> str:
    return _sha256(secret.encode(errors="surrogateescape"))[:DIGITS_OF_A_SECRET]


@cache
def guest_sha256(folder: Path = GUEST) -> str:
    """Of all code below the guest's folder: names and contents."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def locked_versions(build: Build, distribution: str) -> dict[str, str]:
    """The exact versions of Keras and of the backend that the build's lock file promises: {keras, backend}."""
    if build.lock is None:
        return {}
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\;]+)", build.lock.read_text("utf-8"), re.MULTILINE)
    locked = {canonicalize_name(name): version for name, version in pinned}
    asked = [canonicalize_name(Requirement(one).name) for one in build.requirements]
    keras = next((name for name in asked if name.startswith("keras")), canonicalize_name("keras"))  # or a fork of it
    found = {"keras": locked.get(keras), "backend": locked.get(canonicalize_name(build.distribution or distribution))}
    return {name: version for name, version in found.items() if version}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
