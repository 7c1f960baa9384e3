"""What a run needs before its first cell: environments, arrays, and the jobs made of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager

from kbench import datasets, paths
from kbench.cache import folder
from kbench.cells.runner import Job
from kbench.environments import ensure
from kbench.errors import Unavailable, UserError
from kbench.planning import plan
from kbench.planning.plan import Plan, PlannedCell
from kbench.session import terminal
from kbench.values import UNAVAILABLE, Data, Environment, Outcome


def reserved() -> AbstractContextManager[None]:
    """While it is entered, `clean` removes nothing."""
    return folder.in_use(paths.cache_folder())


def to_make(the_plan: Plan) -> list[str]:
    """The backends whose environments are not there yet."""
    missing = []
    for backend, build in the_plan.environments():
        choice = the_plan.pythons.get(backend.name)
        as_is = choice is not None and choice.as_is
        if not as_is and ensure.find(backend, build, explicit=choice) is None:
            missing.append(backend.name)
    return missing


def arrays(the_plan: Plan) -> dict[tuple[str, str], Data]:
    """(example, image_data_format) -> its arrays, for the cells that will run. Raises UserError."""
    prepared: dict[tuple[str, str], Data] = {}
    for planned in the_plan.cells:
        key = (planned.example.name, planned.cell.image_data_format)
        if planned.verdict is not None or key in prepared:
            continue
        data = datasets.prepare(
            planned.example.data,
            input=planned.example.input,
            image_data_format=planned.cell.image_data_format,
            source=the_plan.request.data_source,
            mirror=the_plan.request.data_dir,
            samples=planned.cell.samples,
            progress=sys.stderr.isatty(),
        )
        if planned.example.task == "train" and not data.train_labels:
            raise UserError(f"{planned.example.name} trains, and its data {data.name!r} has no labels.")
        _check_counts(planned, data)
        prepared[key] = data
    return prepared


def _check_counts(planned: PlannedCell, data: Data) -> None:
    """Raises UserError where the cell wants more samples than the data has."""
    cell = planned.cell
    for what, wanted, there in (
        ("samples", cell.samples, data.samples),
        ("validation samples", cell.validation_samples, data.validation_samples),
    ):
        if wanted > there > 0:
            raise UserError(
                f"{cell.example} asks for {wanted} {what}, and its data {data.name!r} has {there}: give fewer "
                "--samples, or correct the example's PROFILES."
            )


def make_environments(the_plan: Plan) -> dict[str, Environment | str]:
    """Backend -> its environment, or the sentence that says why there is none."""
    made: dict[str, Environment | str] = {}
    for backend, build in the_plan.environments():
        try:
            choice = the_plan.pythons.get(backend.name)
            made[backend.name] = ensure.ensure(backend, build, explicit=choice, report=terminal.say)
        except Unavailable as error:
            terminal.say(f"{backend.name}: unavailable: {error}")
            made[backend.name] = str(error)
    return made


def job(planned: PlannedCell, made: Mapping[str, Environment | str], data: Mapping[tuple[str, str], Data]) -> Job:
    environment = made.get(planned.backend.name)
    verdict = planned.verdict
    if isinstance(environment, str):
        verdict = verdict or Outcome(UNAVAILABLE, environment)
    return Job(
        cell=planned.cell,
        example=planned.example,
        backend=planned.backend,
        build=planned.build,
        environment=environment if isinstance(environment, Environment) else None,
        data=data.get((planned.example.name, planned.cell.image_data_format)),
        verdict=verdict,
        timeout=plan.timeout(planned.cell, planned.example.task),
    )
