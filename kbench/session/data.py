"""Chooses real or synthetic data for each dataset of a run, for all its examples, and prepares the arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from kbench import datasets
from kbench.base.arrays import Data
from kbench.datasets import REAL, SYNTHETIC, MissingFiles, Needed, Origin, addresses
from kbench.errors import UserError
from kbench.planning.plan import ASKED_FOR, Plan
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import Example
from kbench.session.events import OnEvent, SessionNote

AUTO: Final = "auto"

Key = tuple[str, str]  # CellTask.arrays


def chosen(plan: Plan) -> Plan:
    """The plan with the origin of each published dataset. Downloads nothing; asks addresses for seconds at most.

    Where settings ask for real data and for synthetic ones, and there are no real ones, those rows are left out; but
    not where they were there when the run began.
    """
    tasks, examples = _published(plan), {example.name: example for example in plan.examples}
    addresses.forget()

    def choose(name: str) -> Origin:
        source = _source(plan, name)
        if source == SYNTHETIC:
            return Origin(SYNTHETIC)
        forms = {(task.input, task.image_data_format) for task in tasks[name]}
        found = datasets.origin(
            examples[tasks[name][0].example].data, forms, _needed(tasks[name]), plan.request.data_folder
        )
        return replace(found, source=SYNTHETIC) if found.missing and source == AUTO else found

    with ThreadPoolExecutor() as pool:  # or each address that does not answer would take its time after the other
        found = dict(zip(tasks, pool.map(choose, tasks), strict=True))
    missing = [name for name, one in found.items() if one.missing and name not in plan.request.data_sources]
    absent = {task.id for name in missing for task in tasks[name] if _both(task)}
    return replace(plan, tasks=tuple(task for task in plan.tasks if task.id not in absent), data=found)


def _both(task: CellTask) -> bool:
    """Whether its example is measured with real data and with synthetic ones."""
    return axes.DATA in task.varied


def prepared(plan: Plan, own: Mapping[str, Path], on_event: OnEvent) -> tuple[Plan, dict[Key, Data]]:
    """The plan with what was chosen, and the arrays; `own` are files of load_data, by example. Raises UserError."""
    plan = plan if plan.data else chosen(plan)
    examples = {example.name: example for example in plan.examples}
    tasks = {task.arrays: task for task in _with_arrays(plan)}
    data: dict[Key, Data] = {}
    failed: dict[str, MissingFiles] = {}
    for key, task in tasks.items():
        try:
            data[key] = _arrays(plan, task, examples[task.example], own.get(task.example))
        except MissingFiles as error:
            failed[plan.dataset(task)] = error
    refused = [found for name, found in failed.items() if _source(plan, name) != AUTO]
    if refused:
        raise MissingFiles([one for found in refused for one in found.missing], refused[0].folder)
    origins = {**plan.data}
    for name, found in failed.items():
        origins[name] = Origin(SYNTHETIC, missing=found.missing)
        on_event(SessionNote(f"{name}: synthetic data instead of real ones, because {found}."))
    used = {plan.dataset(task) for task in plan.tasks}
    sources = {name: one.source for name, one in origins.items() if name in used}
    request = replace(plan.request, data_sources=sources)
    plan = replace(plan, data=origins, request=request)
    for key, task in tasks.items():
        if plan.dataset(task) in failed:
            data[key] = _arrays(plan, task, examples[task.example], None)
    return plan, data


def _source(plan: Plan, name: str) -> str:
    """What was asked for, or chosen when the run began, of a dataset of the plan."""
    request, (_, _, by_settings) = plan.request, name.partition(ASKED_FOR)
    wanted = by_settings or request.data_source
    return request.data_sources.get(name, wanted)


def _with_arrays(plan: Plan) -> list[CellTask]:
    return [task for task in plan.to_measure() if task.script is None and task.has_model]


def _published(plan: Plan) -> dict[str, list[CellTask]]:
    """The tasks of each published dataset."""
    names = {example.name: example.data for example in plan.examples}
    found: dict[str, list[CellTask]] = {}
    for task in _with_arrays(plan):
        if datasets.is_published(names[task.example]):
            found.setdefault(plan.dataset(task), []).append(task)
    return found


def _needed(tasks: list[CellTask]) -> Needed:
    return max(task.samples for task in tasks), max(task.validation_samples for task in tasks)


def _arrays(plan: Plan, task: CellTask, example: Example, own: Path | None) -> Data:
    origin = plan.data.get(plan.dataset(task))
    try:
        data = datasets.prepare(
            str(own or example.data),
            input=example.input,
            image_data_format=task.image_data_format,
            source=origin.source if origin else REAL,
            mirror=plan.request.data_folder,
            samples=task.samples,
            needed=_needed(_published(plan)[plan.dataset(task)]) if origin else None,
            progress=sys.stderr.isatty(),
        )
    except UserError as error:
        if own is None:
            raise
        raise UserError(str(error).replace(str(own), f"load_data of {example.path.name}")) from None
    if own is not None:
        data = replace(data, name=example.path.name)
    if task.task == "train" and not data.train_targets:
        raise UserError(f"{example.name} trains, and its data {data.name!r} has no labels.")
    for what, wanted, there in (
        ("samples", task.samples, data.samples),
        ("validation samples", task.validation_samples, data.validation_samples),
    ):
        if wanted > there > 0:
            raise UserError(
                f"{task.example} asks for {wanted} {what}, and its data {data.name!r} has {there}: give fewer "
                "--samples, or correct the example's PROFILES."
            )
    return data
