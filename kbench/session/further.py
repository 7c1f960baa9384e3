"""Further processes of an example's rows, which only time some steps: several short ones say more than a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kbench import store
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.records.axes import Point
from kbench.records.values import OK

# A row's third process is left out if starting it takes longer than this, on cores of its own: the second buys most.
LONG_START = 6.0
_OF_START = ("import", "data", "build", "first_step")


def of_rows(plan: Plan, run: Path, tasks: Sequence[CellTask], again: bool = False) -> list[CellTask]:
    """The short processes to start beside each other, now that these whole ones of a ranking have ended.

    None where there is nothing to compare, or where cells do not take turns. again: more of them, of rows that have
    some.
    """
    request, first = plan.request, tasks[0]
    if not wanted(request) or first.script is not None or first.part is not None:
        return []
    ok = [task for task in tasks if not task.timing and store.outcome(run, task).status == OK]
    if len(ok) < 2 or any(task.device != "cpu" for task in ok) or (first.repeat > 1 and not again):
        return []
    places = [place for task in ok for place in request.short.get(task.row_id, ())]
    repeats = [*(repeat for repeat, _ in places), *(one.repeat for one in plan.tasks if one.key in keys_of(ok))]
    repeat = 1 + max(repeats)
    found = [
        replace(task, repeat=repeat, timing=number)
        for task in ok
        for number in range(1, 1 + _count(request, run, task, len(ok)))
    ]
    # Those of a row do not follow each other: if memory is short, each row has one.
    return sorted(found, key=lambda task: task.timing)


def without(plan: Plan) -> list[list[CellTask]]:
    """The whole processes that took turns and have no short ones yet."""
    groups: dict[Point, list[CellTask]] = {}
    for task in plan.to_measure():
        if task.repeat == 1 and not task.timing:
            groups.setdefault(task.key.side_by_side, []).append(task)
    short = plan.request.short
    return [group for group in groups.values() if not any(task.row_id in short for task in group)]


def keys_of(tasks: Sequence[CellTask]) -> set[object]:
    return {task.key for task in tasks}


def wanted(request: Request) -> bool:
    """Whether rows get short processes: not if their number was given, or where a single one is enough."""
    return bool(request.precision and request.budget and request.processes > 1 and request.interleave == "on")


def added(plan: Plan, tasks: Sequence[CellTask]) -> Plan:
    """The plan with these short processes, which `resume` finds in the request."""
    short = dict(plan.request.short)
    for task in tasks:
        short[task.row_id] = (*short.get(task.row_id, ()), task.place)
    return replace(plan, request=replace(plan.request, short=short), tasks=(*plan.tasks, *tasks))


def _count(request: Request, run: Path, task: CellTask, together: int) -> int:
    """How many short ones: one fewer where starting takes long, as long as there is one. So many whole ones started
    side by side, each of which could use all cores.
    """
    count = request.processes - 1
    phases = store.read_events(store.cell_folder(run, task).events).phases
    long = sum(phases.get(name, 0.0) for name in _OF_START) > LONG_START * max(1.0, together / task.threads)
    return max(1, count - 1) if long and request.processes == Request.processes else count
