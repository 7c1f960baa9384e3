"""What a run still has to measure: cells without a finished outcome, and those whose files have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kbench import store
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.records.values import INTERRUPTED, UNAVAILABLE
from kbench.store import RunResults

# What has changed about a cell, by the field of its task; the first one that applies is reported.
CHANGED = {
    "example_sha256": "{0.example}: its file has changed",
    "lock_sha256": "{0.backend}: its lock file has changed",
    "sources": "{0.backend}: its source has changed",
    "data_sha256": "{0.example}: its data have changed",
    "guest_sha256": "kbench's own code for backends has changed",
}
OF_USER = ("example_sha256", "data_sha256")
OTHERWISE = "{0.example} on {0.backend}: its settings have changed"


def missing(
    plan: Plan, results: RunResults, retried: Collection[str], may_be_left: bool
) -> tuple[list[CellTask], list[str], bool]:
    """The tasks to measure, a line for each thing that has changed, and whether changes of kbench are left alone: no
    update of it makes a complete run an incomplete one.
    """
    outcomes = {one.cell.id: one.outcome.status for one in (*results.measured, *results.short)}
    found: list[CellTask] = []
    changed: list[tuple[CellTask, str]] = []
    updated = False
    for task in plan.tasks:
        status = outcomes.get(task.id, INTERRUPTED)
        if status == INTERRUPTED or status in retried:
            found.append(task)
        elif task.id not in plan.impossible:
            was = store.spec(results.folder, task)
            updated |= was.get("guest_sha256", task.guest_sha256) != task.guest_sha256
            if what := _change(task, was, status):
                changed.append((task, what))
    left = may_be_left and updated and not found and any(what not in OF_USER for _, what in changed)
    if left:
        changed = [(task, what) for task, what in changed if what in OF_USER]
    found += [task for task, _ in changed]
    # A short process says something only beside those of the other rows.
    beside = {(task.key.side_by_side, task.repeat) for task in found if task.timing}
    again = {task.id for task in plan.tasks if task.timing and (task.key.side_by_side, task.repeat) in beside}
    again |= {task.id for task in found}
    lines = dict.fromkeys(CHANGED.get(what, OTHERWISE).format(task) for task, what in changed)
    return [task for task in plan.tasks if task.id in again], list(lines), left


def set_others_aside(results: RunResults, plan: Plan, to_measure: Collection[CellTask]) -> None:
    """Move the files of the run's cells below `earlier/`, but for those of the plan that are not measured again."""
    kept = {task.id for task in plan.tasks} - {task.id for task in to_measure}
    for one in (*results.measured, *results.short):
        if one.cell.id not in kept:
            store.set_aside(results.folder, one.cell.id)


def _change(task: CellTask, was: Mapping[str, Any], status: str) -> str:
    """What has changed about a cell since its guest was started, a key of CHANGED or "settings"; empty if nothing."""
    # Without a spec no guest was started: there was no environment, or the cell could not run.
    if was.get("identity") == task.identity or (not was and status == UNAVAILABLE):
        return ""
    return next((name for name in CHANGED if was.get(name, getattr(task, name)) != getattr(task, name)), "settings")
