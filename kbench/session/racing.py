"""Measures open rows with further processes until all are settled or the time budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from kbench.analysis.growing import GrowingRun
from kbench.analysis.rows import Analysis, open_rows
from kbench.analysis.times import intervals
from kbench.analysis.times.machine_stability import disturbed_turns
from kbench.analysis.times.settling import MOST_PROCESSES, processes_to_settle
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.axes import Point, RowKey
from kbench.records.values import SCRIPT, Measured
from kbench.session import further
from kbench.store import RunResults
from kbench.summary import Summary

TRIES = 2
MOST_REPEATS = intervals.INTERIM_ANALYSES  # of a cell


@dataclass(frozen=True)
class Clock:
    """What counts against the budget."""

    before: float  # seconds of the run's cells in earlier sessions
    elapsed: Callable[[], float]  # seconds of the clock since this session's first cell
    compiling: float = 0.0  # of these, before the first cell


def repeat_until_decided(
    plan: Plan,
    run: GrowingRun,
    measure: Callable[[Plan, list[CellTask]], None],
    clock: Clock,
    fresh: Collection[str] = (),
) -> Plan:
    """Have `measure` repeat open rows, those of one ranking at a time, within the budget; returns the plan.

    `fresh`: the cells that have just been measured, which show whether other programs run now.
    """
    now = set(fresh)
    while plan.request.precision and plan.request.budget:
        analysis = run.now()
        elapsed = clock.elapsed()
        left = plan.request.budget - elapsed - clock.before
        # Starting processes and waiting takes its time beside the cells' own.
        measured = spent(analysis.run) - clock.before
        pace = (elapsed - clock.compiling) / measured if measured > 0 else 1.0
        seconds, tasks = cheapest(plan, analysis, now)
        if not tasks or seconds * pace > left:
            break
        now |= {task.id for task in tasks}
        plan = further.added(plan, tasks) if tasks[0].timing else _with_repeats(plan, tasks)
        measure(plan, tasks)
    return plan


def cheapest(plan: Plan, analysis: Analysis, fresh: Collection[str] = ()) -> tuple[float, list[CellTask]]:
    """The seconds and the tasks of the next processes: of the example whose first open row is expected to be settled
    soonest. None if there is none, as where no number of processes that kbench would start could settle a row.
    """
    results = analysis.run
    still_open = open_rows(analysis.rows, plan.request.precision or math.inf)
    found = []
    for ranking, rows in still_open.items():
        tasks = [] if disturbed(results, ranking, fresh) else _next(plan, results, rows)
        if not tasks:
            continue
        cost = _cost(results, tasks)
        to_settle = min((processes_to_settle(row, plan.request.precision) for row in rows[1:]), default=math.inf)
        if to_settle + len({*_places(results, rows[-1])}) <= MOST_PROCESSES:
            found.append((to_settle * cost / len(tasks), cost, tasks))
    _, seconds, tasks = min(found, key=lambda one: one[0], default=(0.0, 0.0, []))
    return seconds, tasks


def _places(results: RunResults, row: Summary) -> list[tuple[int, int]]:
    """The processes of a row so far."""
    key = _of_cells(row.key)
    return [one.cell.place for one in (*results.measured, *results.short) if one.cell.key == key]


def too_little(plan: Plan, analysis: Analysis, seconds: float) -> str:
    """Why a finished run is left as it is by so many seconds more; empty if they are enough for a repeat."""
    needed, tasks = cheapest(plan, analysis)
    if tasks and needed <= seconds:
        return ""
    if tasks:
        backends = ", ".join(dict.fromkeys(task.backend for task in tasks))
        return (
            f"Nothing was measured: {seconds:,.0f} s were too few. Measuring {tasks[0].example} again on {backends} "
            f"takes about {math.ceil(needed):,} s."
        )
    if open_rows(analysis.rows, plan.request.precision or math.inf):
        return (
            "Nothing was measured: no number of processes that kbench would start is expected to settle what is open."
        )
    return "Nothing was measured: every row is settled."


def spent(results: RunResults) -> float:
    """The total seconds of a run's cells."""
    return sum(one.outcome.seconds or 0.0 for one in (*results.measured, *results.short))


def disturbed(results: RunResults, ranking: Point, fresh: Collection[str]) -> bool:
    """Whether other programs disturbed most turns of the last repeat in a ranking among the `fresh` cells, or of the
    last TRIES of a program: another would be no better. What disturbed an earlier session may have ended.
    """
    ranking = _of_cells(ranking)
    cells = (*results.measured, *results.short)
    by_repeat: dict[int, list[Measured]] = {}
    for one in cells:
        if one.cell.key.ranking == ranking and one.cell.id in fresh:
            by_repeat.setdefault(one.cell.repeat, []).append(one)
    if not by_repeat:
        return False
    tries = TRIES if by_repeat[max(by_repeat)][0].cell.profile == SCRIPT else 1
    last = [disturbed_turns(by_repeat[repeat]) for repeat in sorted(by_repeat)[-tries:]]
    return len(last) == tries and all(2 * sum(turns) > len(turns) for turns in last)


def _with_repeats(plan: Plan, tasks: Sequence[CellTask]) -> Plan:
    extra = dict(plan.request.extra_repeats)
    for task in tasks:
        extra[task.row_id] = tuple(sorted({*extra.get(task.row_id, ()), task.repeat}))
    request = replace(plan.request, extra_repeats=extra)
    return replace(plan, request=request, tasks=(*plan.tasks, *tasks))


def _next(plan: Plan, results: RunResults, rows: Sequence[Summary]) -> list[CellTask]:
    """Further processes of each of these rows of a ranking: short ones if they can be, else whole ones; none if the
    limit is reached.
    """
    keys = {_of_cells(row.key) for row in rows}
    known = [task for task in plan.tasks if task.key in keys]
    first = [task for task in known if task.repeat == 1 and not task.timing]
    if short := further.of_rows(plan, results.folder, first, again=True):
        return short
    repeat = 1 + max((task.repeat for task in known), default=0)
    if repeat > MOST_REPEATS:
        return []
    return [replace(task, repeat=repeat, seed=plan.request.seed_of(repeat)) for task in first]


def _of_cells(point: Point) -> Point:
    """The point of the cells behind a row, which may be a line of a program."""
    return point.without([axes.SITE])


def _cost(results: RunResults, tasks: Sequence[CellTask]) -> float:
    """The expected seconds, as of the row's first process of the kind."""
    took: dict[tuple[RowKey, bool], float] = {}
    for one in (*results.measured, *results.short):
        took.setdefault((one.cell.key, bool(one.cell.timing)), one.outcome.seconds or 0.0)
    return sum(took.get((task.key, bool(task.timing)), took.get((task.key, False), 0.0)) for task in tasks)
