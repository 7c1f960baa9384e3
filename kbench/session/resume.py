"""Continues a run: measures exactly the cells without a finished outcome, or whose files have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import paths, store
from kbench.analysis.rows import Analysis
from kbench.cells import orphans
from kbench.errors import UserError
from kbench.machine import devices, provenance
from kbench.masking import MASK
from kbench.planning import request
from kbench.planning.plan import Plan, example_loader, make_plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.selection import moved, scripts
from kbench.selection.known import known_backends
from kbench.session import events, measure, prepare, racing, record
from kbench.session.events import OnEvent, ignore, notes
from kbench.store import RunRecord, RunResults
from kbench.values import INTERRUPTED, PRECISION, UNAVAILABLE

# What has changed about a cell, by the field of its task; the first one that applies is reported.
CHANGED = {
    "example_sha256": "{0.example}: its file has changed",
    "lock_sha256": "{0.backend}: its lock file has changed",
    "sources": "{0.backend}: its source has changed",
    "data_sha256": "{0.example}: its data have changed",
    "guest_sha256": "kbench's own code for backends has changed",
}
OF_USER = ("example_sha256", "data_sha256")
LEFT = "code or settings of kbench; the run is complete, and is left as it is"
OTHERWISE = "{0.example} on {0.backend}: its settings have changed"


def resume(
    run: Path,
    on_event: OnEvent = ignore,
    *,
    retried: Collection[str] = (),
    budget: float | None = None,
    arguments: Sequence[str] = (),
    packages: Sequence[str] = (),
    command: str = "",
) -> RunResults:
    """Measure what is missing of the run in the folder `run`; returns its measurements.

    `retried`: statuses of cells that are measured again. `budget`: for so many seconds repeat undecided rows.
    `arguments` and `packages` of a script, if they have secrets, which are not kept. Raises what `measure` does.
    """
    run = run.absolute()
    with store.filling(run):
        results = store.read(run)
        if "kind" in results.plan:
            raise UserError(f"{run} is a run of `{results.plan['kind']}`, which cannot be resumed: start a new one.")
        orphans.end_of_run(run)  # left by a host that was killed together with its watchdog
        asked = _with_secrets(
            where_they_are_now(request.read(results.request, run), results), arguments, packages, run
        )
        if budget is not None:
            more = racing.spent(results) + budget
            asked = replace(asked, precision=asked.precision or PRECISION, budget=more)
        with prepare.reserved():
            return _go_on(asked, results, on_event, retried, budget, command)


def where_they_are_now(asked: Request, results: RunRecord) -> Request:
    """The request with the paths of its examples, which may have moved with the run, or with kbench."""
    known = [str(one.get("sha256", "")) for one in results.examples.values()]
    if len(known) != len(asked.examples):
        return asked
    files = zip(asked.examples, known, strict=True)
    return replace(asked, examples=tuple(moved.found(*one, results.folder, example_loader(asked)) for one in files))


def _with_secrets(asked: Request, arguments: Sequence[str], packages: Sequence[str], run: Path) -> Request:
    """The request with what was not kept. Raises UserError if it is not given again."""
    given = list(packages)
    if asked.script and any(MASK in one for one in asked.script.packages):
        script = scripts.load(paths.with_home(asked.examples[0]), asked.script.module)
        given += scripts.pep723_requirements(script.path, known_backends()).packages
    return request.with_secrets(asked, arguments, given, run)


def _go_on(
    asked: Request,
    results: RunResults,
    on_event: OnEvent,
    retried: Collection[str],
    budget: float | None,
    command: str,
) -> RunResults:
    gpus = devices.gpus()
    plan = make_plan(asked, known_backends(), gpus, report=notes(on_event))
    now = provenance.read(gpus, command)
    check_machine(now, results)
    differences = provenance.other_differences(now, results.provenance)
    plan, here = prepare.arrays(plan, on_event)
    missing, changed, left = _missing(plan, results, retried, budget is None)
    differences += [LEFT] if left else []
    counts = len(missing), len(plan.tasks)
    on_event(events.RunResumed(results.folder, results.name, *counts, tuple(changed), tuple(differences)))
    too_little = "" if budget is None else racing.too_little(plan, Analysis(results), budget)
    if not missing and (budget is None or too_little):
        on_event(events.NothingMeasured(too_little))
        return results
    rest = replace(plan, tasks=tuple(missing))
    needed = rest if plan.request.precision is None else plan  # any cell may be repeated
    environments = prepare.make_environments(needed, prepare.to_make(needed), on_event)
    here = replace(here, run=results.folder, environments=environments)
    machine = record.machine(plan, here, gpus, command)
    kept = {task.id for task in plan.tasks} - {task.id for task in missing}
    for one in (*results.measured, *results.short):
        if one.cell.id not in kept:
            store.set_aside(results.folder, one.cell.id)
    resumed = {**machine, "cells": len(missing), "changed": changed, "differences": differences}
    store.update(results.folder, **record.of_plan(plan, here), resumed=[*results.resumed, resumed])
    return measure.measure_cells(plan, rest, here, gpus, on_event)


def check_machine(now: Mapping[str, Any], results: RunRecord) -> None:
    """Raises UserError if the run is of another machine. `now`: the provenance of this one."""
    if other := provenance.machine_differences(now, results.provenance):
        raise UserError(
            f"{results.folder} was measured on another machine ({'; '.join(other)}): one table cannot have "
            "rows of two machines; start a new run here."
        )


def _missing(
    plan: Plan, results: RunResults, retried: Collection[str], may_be_left: bool
) -> tuple[list[CellTask], list[str], bool]:
    """The tasks to measure, a line for each thing that has changed, and whether changes of kbench are left alone: no
    update of it makes a complete run an incomplete one.
    """
    outcomes = {one.cell.id: one.outcome.status for one in (*results.measured, *results.short)}
    missing: list[CellTask] = []
    changed: list[tuple[CellTask, str]] = []
    updated = False
    for task in plan.tasks:
        status = outcomes.get(task.id, INTERRUPTED)
        if status == INTERRUPTED or status in retried:
            missing.append(task)
        elif task.id not in plan.impossible:
            was = store.spec(results.folder, task)
            updated |= was.get("guest_sha256", task.guest_sha256) != task.guest_sha256
            if what := _change(task, was, status):
                changed.append((task, what))
    left = may_be_left and updated and not missing and any(what not in OF_USER for _, what in changed)
    if left:
        changed = [(task, what) for task, what in changed if what in OF_USER]
    missing += [task for task, _ in changed]
    # A short process says something only beside those of the other rows.
    beside = {(task.key.side_by_side, task.repeat) for task in missing if task.timing}
    again = {task.id for task in plan.tasks if task.timing and (task.key.side_by_side, task.repeat) in beside}
    again |= {task.id for task in missing}
    lines = dict.fromkeys(CHANGED.get(what, OTHERWISE).format(task) for task, what in changed)
    return [task for task in plan.tasks if task.id in again], list(lines), left


def _change(task: CellTask, was: Mapping[str, Any], status: str) -> str:
    """What has changed about a cell since its guest was started, a key of CHANGED or "settings"; empty if nothing."""
    # Without a spec no guest was started: there was no environment, or the cell could not run.
    if was.get("identity") == task.identity or (not was and status == UNAVAILABLE):
        return ""
    return next((name for name in CHANGED if was.get(name, getattr(task, name)) != getattr(task, name)), "settings")
