"""Repeats undecided rows until all are decided or the time budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kbench import axes, store
from kbench.analysis import intervals
from kbench.analysis.call_sites import program_of
from kbench.analysis.machine_stability import disturbed_turns
from kbench.analysis.rows import open_rows, summarised
from kbench.axes import Point
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.store import RunResults
from kbench.summary import Summary

MOST_REPEATS = intervals.INTERIM_ANALYSES  # of a cell


@dataclass(frozen=True)
class Clock:
    """What counts against the budget."""

    before: float  # seconds of the run's cells in earlier sessions
    elapsed: Callable[[], float]  # seconds of the clock since this session's first cell
    compiling: float = 0.0  # of these, before the first cell


def repeat_until_decided(
    the_plan: Plan,
    run: Path,
    measure: Callable[[Plan, list[CellTask]], None],
    clock: Clock,
    fresh: Collection[str] = (),
) -> Plan:
    """Have `measure` repeat open rows, those of one ranking at a time, within the budget; returns the plan.

    `fresh`: the cells that have just been measured, which show whether other programs run now.
    """
    now = set(fresh)
    while the_plan.request.precision and the_plan.request.budget:
        there = store.read(run)
        elapsed = clock.elapsed()
        left = the_plan.request.budget - elapsed - clock.before
        # Starting processes and waiting takes its time beside the cells' own.
        measured = spent(there) - clock.before
        pace = (elapsed - clock.compiling) / measured if measured > 0 else 1.0
        seconds, tasks = cheapest(the_plan, there, now)
        if not tasks or seconds * pace > left:
            break
        now |= {task.id for task in tasks}
        extra = dict(the_plan.request.extra_repeats)
        for task in tasks:
            extra[task.row_id] = tuple(sorted({*extra.get(task.row_id, ()), task.repeat}))
        request = replace(the_plan.request, extra_repeats=extra)
        the_plan = replace(the_plan, request=request, tasks=(*the_plan.tasks, *tasks))
        measure(the_plan, tasks)
    return the_plan


def cheapest(the_plan: Plan, there: RunResults, fresh: Collection[str] = ()) -> tuple[float, list[CellTask]]:
    """The seconds of the cheapest repeat of an example's open rows, and its tasks; none if there is none."""
    still_open = open_rows(summarised(there), the_plan.request.precision or math.inf)
    rounds = [_next(the_plan, rows) for ranking, rows in still_open.items() if not disturbed(there, ranking, fresh)]
    affordable = [(_cost(there, tasks), tasks) for tasks in rounds if tasks]
    return min(affordable, key=lambda one: one[0], default=(0.0, []))


def too_little(the_plan: Plan, there: RunResults, seconds: float) -> str:
    """Why a finished run is left as it is by so many seconds more; empty if they are enough for a repeat."""
    needed, tasks = cheapest(the_plan, there)
    if tasks and needed <= seconds:
        return ""
    if tasks:
        backends = ", ".join(dict.fromkeys(task.backend for task in tasks))
        return (
            f"Nothing was measured: {seconds:,.0f} s were too few. Measuring {tasks[0].example} again on {backends} "
            f"takes about {math.ceil(needed):,} s."
        )
    if open_rows(summarised(there), the_plan.request.precision or math.inf):
        return f"Nothing was measured: what is not settled has been measured {MOST_REPEATS} times, which is the most."
    return "Nothing was measured: every row is settled."


def spent(there: RunResults) -> float:
    """The total seconds of a run's cells."""
    return sum(one.outcome.seconds or 0.0 for one in there.measured)


def disturbed(there: RunResults, ranking: Point, fresh: Collection[str]) -> bool:
    """Whether other programs disturbed most turns of the last repeat in a ranking among the `fresh` cells; another
    would be no better. What disturbed an earlier session may have ended.
    """
    ranking = _of_cells(ranking)
    measured = [one for one in there.measured if one.cell.key.ranking == ranking and one.cell.id in fresh]
    last = max((one.cell.repeat for one in measured), default=1)
    turns = disturbed_turns([one for one in measured if one.cell.repeat == last])
    return 2 * sum(turns) > len(turns)


def _next(the_plan: Plan, rows: Sequence[Summary]) -> list[CellTask]:
    """Another repeat of each of these rows of a ranking; none if the limit is reached."""
    keys = {_of_cells(row.key) for row in rows}
    there = [task for task in the_plan.tasks if task.key in keys]
    repeat = 1 + max((task.repeat for task in there), default=0)
    if repeat > MOST_REPEATS:
        return []
    first = [task for task in there if task.repeat == 1]
    return [replace(task, repeat=repeat, seed=the_plan.request.seed_of(repeat)) for task in first]


def _of_cells(point: Point) -> Point:
    """The point of the cells behind a row, which may be a line of a program."""
    return point.changed(axes.EXAMPLE, program_of(str(point[axes.EXAMPLE])))


def _cost(there: RunResults, tasks: Sequence[CellTask]) -> float:
    """The expected seconds, as in the first repeat."""
    rows = {task.key for task in tasks}
    took = [one.outcome.seconds or 0.0 for one in there.measured if one.cell.repeat == 1 and one.cell.key in rows]
    return sum(took)
