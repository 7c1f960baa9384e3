"""Explains why a script's rows differ: measures it with one change at a time, and compares the results."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kbench import store
from kbench.cells.spec import RunPaths
from kbench.parity import agreement, reading
from kbench.planning.plan import Plan
from kbench.planning.request import OTHER_JIT, SAME_BATCH
from kbench.session import prepare, record
from kbench.session.events import Explaining, OnEvent
from kbench.store.files import os_errors_as_user_errors, read_bytes
from kbench.values import OK

EPOCHS = 4  # of each fit


def explain(the_plan: Plan, here: RunPaths, run_cells: Callable[[Plan, RunPaths], object], on_event: OnEvent) -> None:
    """Measure variants of the cells that ended ok, each as a run in the run's folder. Raises as that does."""
    script = the_plan.request.script
    assert script is not None
    measured = store.read(here.run).measured
    ended = {one.cell.id for one in measured if one.outcome.status == OK}
    first = [task for task in the_plan.to_measure() if task.repeat == 1 and task.id in ended]
    if not first:
        return
    with os_errors_as_user_errors("make", here.run / store.EXPLAIN):
        (here.run / store.EXPLAIN).mkdir(exist_ok=True)
    called = [name for one in measured for name in one.facts.sites]
    fits = any(name.startswith("fit") for name in called)
    if not fits:
        on_event(Explaining("Nothing to explain by other data or jit_compile: the program does not call fit."))
    shorter = replace(script, max_epochs=min(EPOCHS, script.max_epochs or EPOCHS))
    variants = (
        (replace(shorter, variant=SAME_BATCH), "the first batch only"),
        (replace(shorter, variant=OTHER_JIT), "run_eagerly off, or jit_compile inverted"),
    )
    for changed, what in variants if fits else ():
        on_event(Explaining(f"Explaining: {what}."))
        tasks = tuple(replace(task, script=changed.kept()) for task in first)
        request = replace(the_plan.request, script=changed, repeats=1, precision=None, budget=None, extra_repeats={})
        part = replace(the_plan, request=request, tasks=tasks)
        run_cells(part, replace(here, run=_made(part, here, changed.variant, {})))
    if all(name.startswith("call,") for name in called):  # a loop of its own
        return
    on_event(Explaining("Explaining: results on the first batches."))
    tasks = tuple(replace(task, parity={"steps": tuple(agreement.STEPS)}) for task in first)
    part = replace(the_plan, tasks=tasks)
    run_cells(part, replace(here, run=_made(part, here, reading.KIND, {"kind": reading.KIND, "form": "default"})))


def _made(part: Plan, here: RunPaths, name: str, more: dict[str, object]) -> Path:
    """Create the folder of such a run. Raises UserError."""
    of_run = store.read_record(here.run).provenance
    planned = record.of_plan(part, here, **more)
    made = store.create(here.run / store.EXPLAIN, provenance=of_run, name=name, **planned)
    if (given := store.stdin(here.run)).exists():
        with os_errors_as_user_errors("read", given):  # a program may have put something else there
            content = read_bytes(given, prepare.MOST_INPUT)
        store.keep_stdin(made, io.BytesIO(content))
    return made
