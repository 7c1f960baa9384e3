"""`resume`: go on with a run, measuring exactly the cells that have no finished outcome."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbench import arguments, devices, leftovers, paths, provenance, results, runner
from kbench.commands import cells, choices, preparing, replan, run
from kbench.errors import UserError
from kbench.plan import Plan, PlannedCell
from kbench.results import RunResults
from kbench.runner import Settings
from kbench.values import INTERRUPTED, UNAVAILABLE, Data, Measured

# What has changed about a cell, by the part of its identity.
CHANGED = {
    "example": "{example}: its file has changed",
    "lock": "{backend}: its lock file has changed",
    "data": "{example}: its data have changed",
    "settings": "{example} on {backend}: its settings have changed",
}


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    folder = results.find(options.run, paths.expanded(str(options.results))).absolute()
    with results.filling(folder):
        leftovers.end_of_run(folder)  # of a host that was killed together with its watchdog
        there = results.read(folder)
        if "kind" in there.plan:
            raise UserError(f"{folder} is a run of `{there.plan['kind']}`, which is computed anew and not resumed.")
        gpus = devices.gpus()
        the_plan = replan.again(there.plan.get("request"), choices.known_backends(), gpus, folder)
        now = provenance.read(gpus, [*arguments.program().split(), *options.argv])
        differences = _same_machine(there, now)
        data = preparing.arrays(the_plan)
        missing, changed = _missing(the_plan, there, data, run.settings(the_plan), options.retry)
        rest = replace(the_plan, cells=tuple(missing))
        print(f"Resuming {there.name}: {len(rest.cells)} of {len(the_plan.cells)} cells are to be measured.")
        for line in changed:
            print(f"  {line} since: measured again")
        for line in differences:
            print(f"  not as it was: {line}")
        if not missing:
            return run.finish(the_plan, folder)
        made = preparing.make_environments(rest)
        kept = {planned.cell.id for planned in the_plan.cells} - {planned.cell.id for planned in missing}
        for one in there.measured:
            if one.cell.id not in kept:
                results.set_aside(folder, one.cell.id)
        resumed = {**now, "cells": len(missing), "changed": changed, "differences": differences}
        results.update(folder, run.record(the_plan, data), resumed)
        return run.measure(
            the_plan, folder, lambda: cells.run(rest, folder, data, made, run.settings(the_plan), run.PACE)
        )


def _same_machine(there: RunResults, now: Mapping[str, Any]) -> list[str]:
    """What is not as it was, and yet the same machine. Raises UserError where it is another one."""
    hard, soft = provenance.differences(there.provenance, now)
    if hard:
        raise UserError(
            f"{there.folder} was measured on another machine ({'; '.join(hard)}): rows of two machines do not "
            "stand in one table; start a new run here."
        )
    return soft


def _missing(
    the_plan: Plan,
    there: RunResults,
    data: Mapping[tuple[str, str], Data],
    settings: Settings,
    retried: frozenset[str],
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
    was = results.identity(folder, one.cell)
    if not was:  # no guest was started: there was no environment, or it was known not to run
        return [] if one.outcome.status == UNAVAILABLE else ["settings"]
    is_now = runner.identity(preparing.job(planned, {}, data), settings)
    # The settings hold the cell's numbers, which come from the example's file: one reason is enough.
    return [part for part in CHANGED if is_now[part] != was.get(part)][:1]
