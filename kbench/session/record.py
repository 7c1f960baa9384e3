"""Makes the contents of run.json: the plan, the machine, and each backend's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from kbench import hooks, store
from kbench.base.masking import without_passwords
from kbench.cells import spec
from kbench.cells.spec import RunPaths
from kbench.environments import ensure, packages
from kbench.machine import devices, provenance
from kbench.planning.plan import Plan
from kbench.records import axes
from kbench.records.values import Device, Environment


def of_plan(plan: Plan, run_paths: RunPaths, **more: object) -> dict[str, dict[str, Any]]:
    """The request, and the plan: cells, backends, examples, and `more` on what kind of run it is."""
    asked = asdict(plan.request)  # not by msgspec, which omits defaults
    asked["example_settings"] = msgspec.to_builtins(plan.request.example_settings)
    if plan.request.script:
        asked["script"] = plan.request.script.kept()
    cells, data = [task.cell for task in plan.tasks], {key[0]: one for key, one in run_paths.data.items()}
    record = store.plan_record(cells, plan.backends, plan.examples, data, **more)
    return {"request": asked, "plan": record}


def machine(plan: Plan, run_paths: RunPaths, gpus: Sequence[Device], command: str) -> dict[str, Any]:
    """Facts that all cells share: the machine, the environments, and what features measure. Takes about a second."""
    read = provenance.read(gpus, command) | {"environments": of_environments(plan, run_paths)}
    return read | hooks.of_machine(plan, {})


def at_end(plan: Plan, gpus: Sequence[Device], before: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that may have changed when all cells have ended; `before`: those of the run so far. Takes a second."""
    earlier = before.get("ended")
    return provenance.ended(gpus) | hooks.of_machine(plan, earlier if isinstance(earlier, Mapping) else {})


def cell_variables(passed: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of every cell on any backend; `passed` are those of --pass-env."""
    return spec.environment_variables(os.environ, passed, {}, Path())


def of_environments(plan: Plan, run_paths: RunPaths) -> dict[str, dict[str, Any]]:
    """Each backend's environment: its lock, its packages with their versions, the variables that matter."""
    first = dict(reversed(list(run_paths.environments)))
    used = {task.environment: run_paths.devices[task.device] for task in plan.tasks}
    return {
        name if build == first[name] else f"{name} ({build})": {
            "build": one.build,
            "as_is": one.folder is None,
            "lock_sha256": one.lock_sha256,
            "packages": packages.packages(one),
            "variables": _variables(plan, run_paths, one, used[name, build]),
        }
        for (name, build), one in run_paths.environments.items()
        if isinstance(one, Environment)
    }


def _variables(plan: Plan, run_paths: RunPaths, environment: Environment, device: Device) -> dict[str, str]:
    """The variables that matter, as the backend's cells get them."""
    script = plan.request.script is not None
    own = ensure.variables(
        environment, max(plan.request.numbers_on(axes.THREADS)), compiled="" if script else "{compiled}"
    )
    pinned = devices.pin_variables(device)
    given = spec.environment_variables(os.environ, {**run_paths.passed, **own}, pinned, Path(), of_program=script)
    if device.uuid:  # it identifies the card
        given = {name: value.replace(device.uuid, device.label) for name, value in given.items()}
    kept = spec.that_matter(given, own).items()
    return {name: without_passwords(provenance.without_home(value)) for name, value in kept}
