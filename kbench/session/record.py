"""What run.json keeps of a run: the plan, the machine, and each backend's environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbench import store
from kbench.cells import spec
from kbench.environments import ensure, packages
from kbench.machine import devices, peak_rates, provenance
from kbench.machine.host import caches_kib, known
from kbench.planning import saved_request
from kbench.planning.plan import Plan
from kbench.values import Data, Device, Environment


def plan_record(the_plan: Plan, data: Mapping[tuple[str, str], Data]) -> dict[str, object]:
    """The cells, backends and examples, and what was asked for."""
    request = the_plan.request
    return store.plan_record(
        [planned.cell for planned in the_plan.cells],
        the_plan.backends,
        the_plan.examples,
        {example: one for (example, _), one in data.items()},
        profile=request.profile,
        device=the_plan.device.label,
        image_data_format=request.image_data_format,
        seed=request.seed,
        seeds=request.seeds,
        baseline=request.baseline,
        augment=request.augment,
        init=request.init,
        data_source=request.data_source,
        pass_env=request.pass_env,
        threads=the_plan.threads,
        timeout=request.timeout,
        memory_limit_mib=request.memory_limit_mib,
        request=saved_request.record(the_plan),
    )


def machine(
    the_plan: Plan, gpus: Sequence[Device], argv: Sequence[str], made: Mapping[str, Environment | str]
) -> dict[str, Any]:
    """What all cells share: the machine, what its processor does at most, and the environments. About a second."""
    told = provenance.read(gpus, argv)
    told["environments"] = of_environments(the_plan, made)
    return told | _limits(the_plan)


def at_end(the_plan: Plan, gpus: Sequence[Device]) -> dict[str, Any]:
    """What changes while a run goes on, as it is when all cells have ended. About a second."""
    return provenance.ended(gpus) | _limits(the_plan)


def _limits(the_plan: Plan) -> dict[str, Any]:
    if the_plan.device.kind != "cpu":
        return {}
    largest = 1024 * max(known(caches_kib, dict[str, int]()).values(), default=0)
    return {"limits": peak_rates.measure(the_plan.threads, largest or None, cell_variables(the_plan))}


def cell_variables(the_plan: Plan) -> dict[str, str]:
    """The environment variables that every cell of the plan gets, whatever its backend."""
    return spec.environment_variables(os.environ, the_plan.request.passed(os.environ), {}, Path())


def of_environments(the_plan: Plan, made: Mapping[str, Environment | str]) -> dict[str, dict[str, Any]]:
    """Each backend's environment: its lock, its packages with their versions, the variables that matter."""
    return {name: _environment(the_plan, one) for name, one in made.items() if isinstance(one, Environment)}


def _environment(the_plan: Plan, environment: Environment) -> dict[str, Any]:
    return {
        "build": environment.build,
        "as_is": environment.folder is None,
        "lock_sha256": environment.lock_sha256,
        "packages": packages.packages(environment),
        "variables": _variables(the_plan, environment),
    }


def _variables(the_plan: Plan, environment: Environment) -> dict[str, str]:
    """The variables that matter, as the backend's cells get them."""
    own = ensure.variables(environment, the_plan.threads)
    pinned = devices.pin_variables(the_plan.device)
    given = spec.environment_variables(os.environ, {**the_plan.request.passed(os.environ), **own}, pinned, Path())
    if the_plan.device.uuid:  # which identifies the card
        given = {name: value.replace(the_plan.device.uuid, the_plan.device.label) for name, value in given.items()}
    return {name: provenance.without_home(value) for name, value in spec.that_matter(given, own).items()}
