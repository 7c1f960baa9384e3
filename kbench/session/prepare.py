"""Prepares a run: arrays, published weights and environments."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from kbench import hooks, store
from kbench.base import paths
from kbench.cache import folder
from kbench.cells import compiling, launcher, orphans, runner
from kbench.cells.spec import LOAD, RunPaths
from kbench.datasets import as_keras
from kbench.datasets.as_keras import Served
from kbench.environments import ensure, interpreters
from kbench.errors import Unavailable, UserError
from kbench.machine import devices
from kbench.planning.plan import Plan
from kbench.records.values import CHANNELS_LAST, OK, Environment, Example
from kbench.selection import beside, of_its_time
from kbench.session import data as run_data
from kbench.session import interrupts, making
from kbench.session.events import OnEvent, SessionNote, notes
from kbench.store.events import read_events

OWN_DATA = "own_data.npz"  # as the guest calls it


def reserved() -> AbstractContextManager[None]:
    """A context in which `clean` removes nothing."""
    return folder.in_use(paths.cache_folder())


def to_make(plan: Plan) -> list[str]:
    """The backends whose environments are missing. Raises UserError if the Python that is named for one is no use."""
    missing = []
    for backend, build in plan.environments():
        choice = plan.request.python(backend.name)
        as_is = choice is not None and choice.as_is
        if not as_is and ensure.find(backend, build, explicit=choice) is None:
            if choice:
                interpreters.fitting(backend, choice.path)
            missing.append(backend.name)
    return missing


def arrays(plan: Plan, on_event: OnEvent) -> tuple[Plan, RunPaths]:
    """The plan with data in its tasks, and all paths but environments and the run's folder. Raises UserError."""
    of_name = {example.name: example for example in plan.examples}
    weights = _published_weights(plan)
    script = plan.request.script
    run_paths = RunPaths(
        run=Path(),
        devices={one.label: one for one in plan.devices},
        examples={name: example.path for name, example in of_name.items()},
        data={},
        published_weights=weights,
        environments={},
        pairs=_pairs(plan),
        in_place=_in_place(plan),
        passed=plan.request.passed(),
        arguments=script.arguments if script else (),
        cells=hooks.programs().cells(plan.examples[0].path) if script else (),
        keras_files=_keras_files(plan),
        frameworks=plan.frameworks,
        gpus=plan.gpus,
    )
    # A signal must not leave the folder, which may hold gigabytes.
    with interrupts.ended_as_interrupted(), tempfile.TemporaryDirectory(prefix="kbench-") as apart:
        own: dict[str, Path] = {}
        for example in (of_name[name] for name in dict.fromkeys(task.example for task in plan.to_measure())):
            if example.own_data and plan.request.script is None:
                own[example.name] = _own_data(plan, example, replace(run_paths, run=Path(apart)), on_event)
        plan, data = run_data.prepared(plan, own, on_event)
    tasks = []
    for task in plan.tasks:
        found = data.get(task.arrays)
        file = weights[task.example].name if task.example in weights and task.part is None else ""
        tasks.append(replace(task, data_sha256=found.sha256 if found else "", published_weights=file))
    return replace(plan, tasks=tuple(tasks)), replace(run_paths, data=data)


def _in_place(plan: Plan) -> dict[tuple[str, str], Path]:
    """The files that are measured in place of the examples'."""
    examples = {one.name: one for one in plan.examples}
    backends = {one.name: one for one in plan.backends}
    on = {one.label: one for one in plan.devices}
    found = {
        names: hooks.in_place(task, examples[names[0]], backends[names[1]], on[task.device], plan.backends)
        for names, task in {(one.example, one.backend): one for one in plan.to_measure()}.items()
    }
    return {names: one.file for names, one in found.items() if one is not None}


def _pairs(plan: Plan) -> dict[str, str]:
    """Backend -> a sentence, where its Keras and its framework were released at two times."""
    backends = {one.name: one for one in plan.backends}
    versions = {task.backend: task.versions for task in plan.to_measure()}
    return {name: text for name, one in versions.items() if (text := of_its_time.hint(backends[name], one))}


def _keras_files(plan: Plan) -> dict[str, Served]:
    """What the script and the examples that load their own data seem to want of Keras's datasets."""
    script = plan.request.script
    if script:
        text = hooks.programs().text(plan.examples[0].path, script.module)
    else:
        text = "\n".join(beside.text(one.path) for one in plan.examples if one.own_data)
    return as_keras.files(text, plan.request.data_folder)


def _own_data(plan: Plan, example: Example, run_paths: RunPaths, on_event: OnEvent) -> Path:
    """The file with the result of load_data, from the first backend with Keras that has an environment."""
    why = ""
    tasks = {task.backend: task for task in reversed(plan.to_measure()) if task.example == example.name}
    for backend, build in plan.environments():
        if backend.name not in tasks or not backend.keras_backend:  # the example imports Keras
            continue
        try:
            made = ensure.ensure(backend, build, explicit=plan.request.python(backend.name), report=notes(on_event))
        except Unavailable as error:
            why = str(error)
            continue
        task = tasks[backend.name].at(task=LOAD, image_data_format=CHANNELS_LAST, device=devices.CPU.label)
        task = replace(task, epochs=0, part=None, build=build.name)
        run_paths = replace(run_paths, devices={task.device: devices.CPU}, environments={task.environment: made})
        mark = orphans.mark(run_paths.run)
        with orphans.ended_with_this_process(mark):
            on_event(SessionNote(f"{example.path.name}: load_data() runs on {backend.name}, for all backends"))
            start = partial(launcher.launch, mark=mark)
            outcome = launcher.run_to_completion(runner.measure(task, run_paths, start, compiling.SILENT))
        if outcome.status != OK:
            reason = outcome.reason.rstrip(".")
            raise UserError(f"load_data of {example.path.name} gave no data on {backend.name}: {reason}.")
        cell = store.cell_folder(run_paths.run, task)
        for note in read_events(cell.events).facts.notes:
            on_event(SessionNote(f"{example.path.name}: {note}."))
        return cell.path / OWN_DATA
    raise UserError(f"There is no backend for load_data of {example.path.name}: {why.rstrip('.')}.")


def _published_weights(plan: Plan) -> dict[str, Path]:
    """Example -> the file with its published weights, if the user's folder or kbench's own has it."""
    own = paths.cache_folder() / "data" / "files"
    return {
        example.name: folder / example.published_weights
        for example in plan.examples
        for folder in (own, plan.request.data_folder)  # the last one with the file counts
        if folder and example.published_weights and (folder / example.published_weights).is_file()
    }


def make_environments(
    plan: Plan, missing: Sequence[str], on_event: OnEvent
) -> dict[tuple[str, str], Environment | str]:
    """Backend and build -> their environment, or why there is none; `missing` are told to be made."""
    made: dict[tuple[str, str], Environment | str] = {}
    for backend, build in plan.environments():
        try:
            choice = plan.request.python(backend.name)
            with making.telling(backend.name, missing, on_event):
                environment = ensure.ensure(backend, build, explicit=choice, report=notes(on_event))
                made[backend.name, build.name] = hooks.with_packages(environment, plan.request, notes(on_event))
        except Unavailable as error:
            on_event(SessionNote(f"{backend.name}: unavailable: {error}"))
            made[backend.name, build.name] = str(error)
    return made
