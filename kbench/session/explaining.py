"""Explains why rows differ: measures a script with one change at a time, compares the results, and times the parts of
a training step.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from kbench import store
from kbench.cells.spec import RunPaths
from kbench.parity import agreement, reading
from kbench.planning.plan import Plan
from kbench.planning.request import INSIDE, OTHER_JIT, SAME_BATCH
from kbench.planning.tasks import CellTask
from kbench.session import import_times, prepare, record
from kbench.session.events import Explaining, OnEvent
from kbench.store.files import os_errors_as_user_errors, read_bytes
from kbench.values import NATIVE, OK, SCRIPT, Measured

EPOCHS = 4  # of each fit
LEAST_LIMIT, LONGER = 20.0, 2.0  # seconds that a changed program may take; times as long as all cells took at first
_TOLD = {"layers": "what each layer costs", "trace": "traces of some steps"}
TRACE = "trace.json.gz"  # as kbench_guest.drivers.tracing names it


def explain(
    plan: Plan,
    run_paths: RunPaths,
    measured: Sequence[Measured],
    run_cells: Callable[[Plan, RunPaths], object],
    on_event: OnEvent,
) -> None:
    """Measure variants of the cells that ended ok, each as a run in the run's folder. Raises as that does."""
    script = plan.request.script
    assert script is not None
    first = _first(plan, measured)
    if not first:
        return
    with os_errors_as_user_errors("make", run_paths.run / store.EXPLAIN):
        (run_paths.run / store.EXPLAIN).mkdir(exist_ok=True)
    on_event(Explaining("Explaining: which packages importing Keras takes time for."))
    import_times.write(first, run_paths)
    called = [name for one in measured for name in one.facts.sites]
    fits = any(name.startswith("fit") for name in called)
    if not fits:
        on_event(Explaining("Nothing to explain by other data or jit_compile: the program does not call fit."))
    shorter = replace(script, max_epochs=min(EPOCHS, script.max_epochs or EPOCHS))
    variants = (
        (replace(shorter, variant=SAME_BATCH), "the first batch only"),
        (replace(shorter, variant=OTHER_JIT), "run_eagerly off, or jit_compile inverted"),
    )
    took = sum(one.outcome.seconds or 0.0 for one in measured if one.cell.repeat == 1)
    limit = max(LEAST_LIMIT, LONGER * took)  # a compiler may take minutes: then what it would bring is not known
    for changed, what in variants if fits else ():
        on_event(Explaining(f"Explaining: {what}."))
        changes = {"max_epochs": changed.max_epochs, "variant": changed.variant}
        tasks = tuple(
            replace(task, script={**(task.script or {}), **changes}, timeout=min(task.timeout, limit))
            for task in first
        )
        request = replace(plan.request, script=changed, repeats=1, precision=None, budget=None, extra_repeats={})
        part = replace(plan, request=request, tasks=tasks)
        run_cells(part, replace(run_paths, run=_made(part, run_paths, changed.variant, {})))
    if all(name.startswith("call,") for name in called):  # a loop of its own
        return
    on_event(Explaining("Explaining: results on the first batches."))
    tasks = tuple(replace(task, parity={"steps": tuple(agreement.STEPS)}) for task in first)
    part = replace(plan, tasks=tasks)
    run_cells(
        part, replace(run_paths, run=_made(part, run_paths, reading.KIND, {"kind": reading.KIND, "form": "default"}))
    )


def look_inside(
    plan: Plan,
    run_paths: RunPaths,
    measured: Sequence[Measured],
    run_cells: Callable[[Plan, RunPaths], object],
    on_event: OnEvent,
    *,
    layers: bool,
    trace: bool,
) -> None:
    """Time the parts of a training step of each cell that ended ok, or trace some of its steps, or both."""
    of_keras = [task for task in _first(plan, measured) if task.task in ("train", SCRIPT) and task.kind != NATIVE]
    trained = [task for task in of_keras if task.workers == 1]
    if not trained:
        on_event(Explaining("No step to explain: no cell that trains a Keras model with one worker ended ok."))
        return
    called = {name for one in measured for name in one.facts.sites}
    if plan.request.script and not any(name.startswith("fit") for name in called):
        on_event(Explaining("No training step to explain: the program does not call fit."))
        return
    what = tuple(name for name, wanted in (("layers", layers), ("trace", trace)) if wanted)
    on_event(Explaining(f"Explaining: {' and '.join(_TOLD[one] for one in what)}."))
    tasks = tuple(replace(task, inside={"what": what}, epochs=0, validation_samples=0) for task in trained)
    part = replace(plan, tasks=tasks)
    folder = _made(part, run_paths, INSIDE, {"kind": INSIDE})
    run_cells(part, replace(run_paths, run=folder))
    for task in tasks if trace else ():  # beside what it explains
        made = store.cell_folder(folder, task).path / TRACE
        if made.is_file():
            with os_errors_as_user_errors("move", made):
                made.replace(store.cell_folder(run_paths.run, task).path / TRACE)


def _first(plan: Plan, measured: Sequence[Measured]) -> list[CellTask]:
    """The cells that ended ok, one of each row."""
    ended = {one.cell.id for one in measured if one.outcome.status == OK}
    return [task for task in plan.to_measure() if task.repeat == 1 and task.id in ended]


def _made(part: Plan, run_paths: RunPaths, name: str, more: dict[str, object]) -> Path:
    """Create the folder of such a run. Raises UserError."""
    of_run = store.read_record(run_paths.run).provenance
    planned = record.of_plan(part, run_paths, **more)
    with os_errors_as_user_errors("make", run_paths.run / store.EXPLAIN):
        (run_paths.run / store.EXPLAIN).mkdir(exist_ok=True)
    made = store.create(run_paths.run / store.EXPLAIN, provenance=of_run, name=name, **planned)
    if (given := store.stdin(run_paths.run)).exists():
        with os_errors_as_user_errors("read", given):  # a program may have put something else there
            content = read_bytes(given, prepare.MOST_INPUT)
        store.keep_stdin(made, io.BytesIO(content))
    return made
