"""`resume`: go on with a run, measuring exactly the cells that have no finished outcome."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import paths, store
from kbench.cells import orphans, runner
from kbench.cells.runner import Settings
from kbench.cli import arguments
from kbench.errors import UserError
from kbench.machine import devices, provenance
from kbench.planning import saved_request
from kbench.planning.plan import Plan, PlannedCell
from kbench.session import choices, measure, prepare, record, terminal
from kbench.store import RunResults
from kbench.values import INTERRUPTED, UNAVAILABLE, Data, Device, Measured

# What has changed about a cell, by the part of its identity.
CHANGED = {
    "example": "{example}: its file has changed",
    "lock": "{backend}: its lock file has changed",
    "data": "{example}: its data have changed",
    "settings": "{example} on {backend}: its settings have changed",
}


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    folder = store.find(options.run, paths.expanded(str(options.results))).absolute()
    with store.filling(folder):
        there = store.read(folder)
        if "kind" in there.plan:
            raise UserError(f"{folder} is a run of `{there.plan['kind']}`, which is computed anew and not resumed.")
        orphans.end_of_run(folder)  # of a host that was killed together with its watchdog
        gpus = devices.gpus()
        the_plan = saved_request.again(there.plan.get("request"), choices.known_backends(), gpus, folder)
        with prepare.reserved(the_plan):
            return _go_on(the_plan, there, gpus, options)


def _go_on(the_plan: Plan, there: RunResults, gpus: Sequence[Device], options: argparse.Namespace) -> int:
    argv = [*arguments.program().split(), *options.argv]
    differences = _same_machine(there, provenance.read(gpus, argv))
    data = prepare.arrays(the_plan)
    missing, changed = _missing(the_plan, there, data, measure.settings(the_plan), options.retry)
    if options.detail != terminal.QUIET:
        out = sys.stdout if options.format == terminal.TABLE else sys.stderr
        print(f"Resuming {there.name}: {len(missing)} of {len(the_plan.cells)} cells are to be measured.", file=out)
        lines = [f"{one} since: measured again" for one in changed] + [f"not as it was: {one}" for one in differences]
        for line in lines:
            print(f"  {line}", file=out)
    if not missing:
        return measure.finish(the_plan, there.folder, options)
    _same_variables(the_plan, there.folder)
    rest = replace(the_plan, cells=tuple(missing))
    made = prepare.make_environments(rest)
    told = record.machine(the_plan, gpus, argv, made)
    kept = {planned.cell.id for planned in the_plan.cells} - {planned.cell.id for planned in missing}
    for one in there.measured:
        if one.cell.id not in kept:
            store.set_aside(there.folder, one.cell.id)
    resumed = {**told, "cells": len(missing), "changed": changed, "differences": differences}
    store.update(there.folder, record.plan_record(the_plan, data), resumed)
    return measure.measure(the_plan, rest, there.folder, data, made, gpus, options)


def _same_variables(the_plan: Plan, folder: Path) -> None:
    """Raises UserError where a variable that the run's cells were given with --pass-env is not there any more."""
    for name in the_plan.request.pass_env:
        if name not in os.environ:
            raise UserError(
                f"{folder} gave its cells the variable {name} (--pass-env), which is not set here: set it."
            )


def _same_machine(there: RunResults, now: Mapping[str, Any]) -> list[str]:
    """What is not as it was, and yet the same machine. Raises UserError where it is another one."""
    other = provenance.machine_differences(now, there.provenance)
    if other:
        raise UserError(
            f"{there.folder} was measured on another machine ({'; '.join(other)}): rows of two machines do not stand "
            "in one table; start a new run here."
        )
    return provenance.other_differences(now, there.provenance)


def _missing(
    the_plan: Plan,
    there: RunResults,
    data: Mapping[tuple[str, str], Data],
    settings: Settings,
    retried: Collection[str],
) -> tuple[list[PlannedCell], list[str]]:
    """The cells to measure, and a line for each thing that has changed."""
    measured = {one.cell.id: one for one in there.measured}
    missing, changed = [], dict[str, None]()
    for planned in the_plan.cells:
        one = measured.get(planned.cell.id)
        if one is None or one.outcome.status == INTERRUPTED or one.outcome.status in retried:
            missing.append(planned)
            continue
        what = _changes(planned, one, there.folder, data, settings)
        if what:
            missing.append(planned)
        for part in what:
            changed[CHANGED[part].format(example=planned.cell.example, backend=planned.cell.backend)] = None
    return missing, list(changed)


def _changes(
    planned: PlannedCell, one: Measured, folder: Path, data: Mapping[tuple[str, str], Data], settings: Settings
) -> list[str]:
    """The parts of CHANGED in which a cell is another one than was measured."""
    if planned.verdict is not None:
        return []
    was = store.identity(folder, one.cell)
    if not was:  # no guest was started: there was no environment, or it was known not to run
        return [] if one.outcome.status == UNAVAILABLE else ["settings"]
    is_now = runner.identity(prepare.job(planned, {}, data), settings)
    # The settings hold the cell's numbers, which come from the example's file: one reason is enough.
    return [part for part in CHANGED if is_now[part] != was.get(part)][:1]
