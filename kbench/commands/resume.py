"""`resume`: continues a run, measuring exactly the cells without a finished outcome."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import paths, store
from kbench.cells import orphans
from kbench.cli import arguments
from kbench.cluster import session
from kbench.errors import UserError
from kbench.machine import devices, provenance
from kbench.masking import MASK
from kbench.planning import plan, request
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.selection import scripts
from kbench.session import choices, measure, output, prepare, racing, record, terminal
from kbench.store import RunResults
from kbench.values import INTERRUPTED, UNAVAILABLE, Device

# What has changed about a cell, by the field of its task; the first one that applies is reported.
CHANGED = {
    "example_sha256": "{0.example}: its file has changed",
    "lock_sha256": "{0.backend}: its lock file has changed",
    "sources": "{0.backend}: its source has changed",
    "data_sha256": "{0.example}: its data have changed",
    "guest_sha256": "kbench's own code for backends has changed",
}
OTHERWISE = "{0.example} on {0.backend}: its settings have changed"


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    output.asked(options)
    folder = store.find(options.run, options.results, timed=True).absolute()
    if store.is_cluster(folder):
        return session.go_on(folder, options)
    if options.on:
        raise UserError(f"{folder} was measured on one machine: leave out --on.")
    with store.filling(folder):
        there = store.read(folder)
        if "kind" in there.plan:
            raise UserError(f"{folder} is a run of `{there.plan['kind']}`, which cannot be resumed: start a new one.")
        orphans.end_of_run(folder)  # left by a host that was killed together with its watchdog
        gpus = devices.gpus()
        asked = request.read(there.request, folder)
        asked = _with_secrets(asked, options, folder)
        if options.budget is not None:
            more = racing.spent(there) + options.budget
            asked = replace(asked, precision=asked.precision or request.PRECISION, budget=more)
        the_plan = plan.make(asked, choices.known_backends(), gpus, report=terminal.say)
        with prepare.reserved():
            return _go_on(the_plan, there, gpus, options)


def _with_secrets(asked: Request, options: argparse.Namespace, folder: Path) -> Request:
    """The request with what was not kept. Raises UserError if it is not given again."""
    packages = list(options.packages)
    if asked.script and any(MASK in one for one in asked.script.packages):
        script = scripts.load(paths.expanded(asked.examples[0]), asked.script.module)
        packages += scripts.of_its_own(script.path, choices.known_backends()).packages
    return request.with_secrets(asked, options.arguments, packages, folder)


def _go_on(the_plan: Plan, there: RunResults, gpus: Sequence[Device], options: argparse.Namespace) -> int:
    argv = [*arguments.program().split(), *options.argv]
    now = provenance.read(gpus, argv)
    if other := provenance.machine_differences(now, there.provenance):
        raise UserError(
            f"{there.folder} was measured on another machine ({'; '.join(other)}): one table cannot have "
            "rows of two machines; start a new run here."
        )
    differences = provenance.other_differences(now, there.provenance)
    the_plan, here = prepare.arrays(the_plan)
    missing, changed = _missing(the_plan, there, options.retry)
    if options.detail != terminal.QUIET:
        out = sys.stdout if options.format == terminal.TABLE else sys.stderr
        print(f"Resuming {there.name}: {len(missing)} of {len(the_plan.tasks)} cells to measure.", file=out)
        lines = [f"{one} since: measured again" for one in changed] + [f"changed: {one}" for one in differences]
        for line in lines:
            print(f"  {line}", file=out)
    too_little = "" if options.budget is None else racing.too_little(the_plan, there, options.budget)
    if not missing and (options.budget is None or too_little):
        return measure.finish(the_plan, there.folder, options, too_little)
    rest = replace(the_plan, tasks=tuple(missing))
    needed = rest if the_plan.request.precision is None else the_plan  # any cell may be repeated
    here = replace(here, run=there.folder, environments=prepare.make_environments(needed))
    machine = record.machine(the_plan, here, gpus, argv)
    kept = {task.id for task in the_plan.tasks} - {task.id for task in missing}
    for one in there.measured:
        if one.cell.id not in kept:
            store.set_aside(there.folder, one.cell.id)
    resumed = {**machine, "cells": len(missing), "changed": changed, "differences": differences}
    store.update(there.folder, **record.of_plan(the_plan, here), resumed=[*there.resumed, resumed])
    return measure.measure(the_plan, rest, here, gpus, options)


def _missing(the_plan: Plan, there: RunResults, retried: Collection[str]) -> tuple[list[CellTask], list[str]]:
    """The tasks to measure, and a line for each thing that has changed."""
    outcomes = {one.cell.id: one.outcome.status for one in there.measured}
    missing, changed = [], dict[str, None]()
    for task in the_plan.tasks:
        status = outcomes.get(task.id, INTERRUPTED)
        if status == INTERRUPTED or status in retried:
            missing.append(task)
        elif task.id not in the_plan.verdicts and (what := _change(task, store.spec(there.folder, task), status)):
            missing.append(task)
            changed[what.format(task)] = None
    return missing, list(changed)


def _change(task: CellTask, was: Mapping[str, Any], status: str) -> str:
    """What has changed about a cell since its guest was started; empty if nothing."""
    # Without a spec no guest was started: there was no environment, or the cell could not run.
    if was.get("identity") == task.identity or (not was and status == UNAVAILABLE):
        return ""
    return next(
        (reported for name, reported in CHANGED.items() if was.get(name, getattr(task, name)) != getattr(task, name)),
        OTHERWISE,
    )
