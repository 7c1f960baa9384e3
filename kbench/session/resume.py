"""Continues a run: measures exactly the cells without a finished outcome, or whose files have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import hooks, store
from kbench.analysis.rows import Analysis
from kbench.cells import orphans
from kbench.errors import UserError
from kbench.machine import devices, provenance
from kbench.planning import request
from kbench.planning.plan import example_loader, make_plan
from kbench.planning.request import Request
from kbench.records.values import PRECISION
from kbench.selection import moved
from kbench.selection.known import known_backends
from kbench.session import events, measure, prepare, racing, record
from kbench.session.events import OnEvent, ignore, notes
from kbench.session.missing import missing, set_others_aside
from kbench.store import RunRecord, RunResults

LEFT = "code or settings of kbench; the run is complete, and is left as it is"


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
    """The request with what was not kept. Raises UserError if it is not given again, or nothing was left out."""
    if asked.script is not None:
        return hooks.programs().with_secrets(asked, (arguments, packages), known_backends(), run)
    if arguments or packages:
        raise UserError(f"{run} is not a run of a program: leave out --with and what follows --.")
    return asked


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
    tasks, changed, left = missing(plan, results, retried, budget is None)
    differences += [LEFT] if left else []
    further = "" if tasks else hooks.left_to_measure(plan, results)
    said = tuple(changed), tuple(differences), further
    on_event(events.RunResumed(results.folder, results.name, len(tasks), len(plan.tasks), *said))
    too_little = "" if budget is None else racing.too_little(plan, Analysis(results), budget)
    if not (tasks or further) and (budget is None or too_little):
        on_event(events.NothingMeasured(too_little))
        return results
    rest = replace(plan, tasks=tuple(tasks))
    # Any cell may be repeated, or looked into.
    needed = rest if plan.request.precision is None and not plan.request.asked else plan
    environments = prepare.make_environments(needed, prepare.to_make(needed), on_event)
    here = replace(here, run=results.folder, environments=environments)
    machine = record.machine(plan, here, gpus, command)
    set_others_aside(results, plan, tasks)
    resumed = {**machine, "cells": len(tasks), "changed": changed, "differences": differences}
    store.update(results.folder, **record.of_plan(plan, here), resumed=[*results.resumed, resumed])
    return measure.measure_cells(plan, rest, here, gpus, on_event)


def check_machine(now: Mapping[str, Any], results: RunRecord) -> None:
    """Raises UserError if the run is of another machine. `now`: the provenance of this one."""
    if other := provenance.machine_differences(now, results.provenance):
        raise UserError(
            f"{results.folder} was measured on another machine ({'; '.join(other)}): one table cannot have "
            "rows of two machines; start a new run here."
        )
