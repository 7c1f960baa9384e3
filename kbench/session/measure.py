"""Measures a request: `kbench.measure`. Prints nothing; what happens is told to whoever listens."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kbench import hooks, store
from kbench.additions import EndedRun
from kbench.analysis.growing import GrowingRun
from kbench.analysis.times import settling, spreads
from kbench.cells import compiling, launcher, orphans, runner
from kbench.cells.place import Place
from kbench.cells.runner import Listener
from kbench.cells.spec import RunPaths
from kbench.errors import Interrupted, Stopped, UserError
from kbench.machine import devices
from kbench.planning.plan import Plan, make_plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import Device, Outcome
from kbench.selection.known import known_backends
from kbench.session import data, events, further, interrupts, known_spreads, prepare, racing, record
from kbench.session.events import OnEvent, ignore, notes
from kbench.store import RunResults


def measure(
    request: Request,
    folder: Path,
    on_event: OnEvent = ignore,
    *,
    name: str | None = None,
    command: str = "",
    only: Callable[[CellTask], bool] | None = None,
    place: Place | None = None,
) -> RunResults:
    """Measure what is asked for, as a new run below `folder`, the results folder; returns its measurements.

    `name` is that of the run's own folder, the current time if it is not given. `command` is kept with the results:
    how they came about. `only` leaves cells out; `place` is this machine's, where several have a worker each. Raises
    UserError; once there is something to be resumed, that is Stopped, or Interrupted if the user ended it.
    """
    parent = check_folder(request, folder, name)
    gpus = devices.gpus()
    plan = planned(request, on_event, gpus)
    if only is not None:
        plan = replace(plan, tasks=tuple(filter(only, plan.tasks)))
    if place is not None:
        plan = replace(plan, tasks=place.own(plan.tasks))
    missing = prepare.to_make(plan)
    on_event(events.Planned(plan, tuple(missing)))
    with prepare.reserved():
        plan, run_paths = new_run(plan, parent, missing, on_event, name=name, command=command, gpus=gpus)
        run_paths = replace(run_paths, place=place)
        if place is not None:
            place.check_environments(plan.to_measure(), run_paths.environments)
        with store.filling(run_paths.run):
            return measure_cells(plan, plan, run_paths, gpus, on_event)


def planned(request: Request, on_event: OnEvent = ignore, gpus: Sequence[Device] | None = None) -> Plan:
    """What `measure` would do. Raises UserError."""
    gpus = devices.gpus() if gpus is None else gpus
    return data.chosen(make_plan(request, known_backends(), gpus, report=notes(on_event)))


def check_folder(request: Request, folder: Path, name: str | None = None) -> Path:
    """The results folder, absolute. Raises UserError at once, not after minutes, if no run can be made there."""
    parent = folder.absolute()  # a guest starts in another folder
    if name is not None:
        store.check_name(parent, name)
    if request.script:
        hooks.programs().check(request, parent)
    existing = next(one for one in (parent, *parent.parents) if one.exists())
    if not existing.is_dir():
        raise UserError(f"{existing} is not a folder: choose another place with --results.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{existing} is not writable: choose another place with --results.")
    return parent


def new_run(
    plan: Plan,
    parent: Path,
    missing: Sequence[str],
    on_event: OnEvent,
    *,
    name: str | None,
    command: str,
    gpus: Sequence[Device],
    **more: object,
) -> tuple[Plan, RunPaths]:
    """Make data, the `missing` environments and the run's folder; `more` is kept with the plan. Raises UserError."""
    plan, run_paths = prepare.arrays(plan, on_event)
    # Before the run's folder is created: a wrong --python is an error here.
    run_paths = replace(run_paths, environments=prepare.make_environments(plan, missing, on_event))
    machine = record.machine(plan, run_paths, gpus, command)
    machine["process_spreads"] = spreads.record(known_spreads.priors(plan))
    with hooks.programs().input(on_event) if plan.request.script else contextlib.nullcontext() as given:
        run = store.create(parent, provenance=machine, name=name, **record.of_plan(plan, run_paths, **more))
        if given:
            store.keep_stdin(run, given)
    for backend, build in plan.environments():
        if build.resolved and build.lock:  # it was made for this run
            store.keep_lock(run, backend.name, build.lock)
    on_event(events.RunCreated(run))
    return plan, replace(run_paths, run=run)


def measure_cells(
    plan: Plan, to_run: Plan, run_paths: RunPaths, gpus: Sequence[Device], on_event: OnEvent
) -> RunResults:
    """Run the cells of `to_run`, and repeats where rows of the whole plan are undecided; then what is left of what
    explains it. Raises as `measure` does.
    """
    if plan.request.worker_per_machine and run_paths.place is None:
        raise UserError("A worker per machine needs a cluster: name it with --on, and start a new run.")
    with interrupts.ended_as_interrupted():
        try:
            run = GrowingRun(run_paths.run)
            plan = _measure_cells(plan, to_run, run_paths, run, on_event)
            there, further = run.now().run, partial(run_cells, on_event=on_event)
            hooks.after_measuring(EndedRun(plan, run_paths, there.measured, further, on_event))
            store.record_end(run_paths.run, record.at_end(plan, gpus, there.provenance))
            analysis = run.now()
            known_spreads.keep(analysis)
            return analysis.run
        except KeyboardInterrupt:
            raise Interrupted(run_paths.run) from None
        except UserError as error:
            raise Stopped(str(error), run_paths.run) from error


def _measure_cells(plan: Plan, to_run: Plan, run_paths: RunPaths, run: GrowingRun, on_event: OnEvent) -> Plan:
    """Do so; returns the plan with its repeats."""
    spent, began = racing.spent(run.now().run), time.monotonic()
    budget = plan.request.budget if plan.request.precision else None
    until = None if budget is None else began + budget - spent
    untold = [task.example for task in to_run.tasks][-1:]

    def tell(example: str) -> None:
        """That all cells of the example have ended."""
        with contextlib.suppress(UserError):  # the run continues; the error is reported at its end
            on_event(events.ExampleEnded(run.now(), example))

    def add(plan: Plan, tasks: list[CellTask]) -> None:
        """Measure further tasks of the plan, all of one place."""
        if untold:  # what is known is told meanwhile
            tell(untold.pop())
        store.update(run_paths.run, **record.of_plan(plan, run_paths))
        what = axes.titled(tasks[0].example, dict(tasks[0].key.only(tasks[0].varied).values))
        on_event(events.Repeating(what, tuple(dict.fromkeys(task.backend for task in tasks))))
        run_cells(replace(plan, tasks=tuple(tasks)), caching, on_event, until)

    def short_ones(tasks: Sequence[CellTask]) -> Sequence[CellTask]:
        """Short processes of these rows, which the plan gets, whatever the budget: one process says too little."""
        nonlocal plan
        if more := further.of_rows(plan, run_paths.run, tasks):
            plan = further.added(plan, more)
            store.update(run_paths.run, **record.of_plan(plan, run_paths))
        return more

    with compiled_code(run_paths.run) as folder, _trained_weights(run_paths.run, plan) as weights:
        caching = replace(run_paths, compiled=folder, trained=weights)
        compiled = run_cells(to_run, caching, on_event, until, tell, short_ones)
        for group in further.without(plan):  # as in a run that was stopped before them
            if more := short_ones(group):
                run_cells(replace(plan, tasks=tuple(more)), caching, on_event, until)
        clock = racing.Clock(spent, lambda: time.monotonic() - began, compiled)
        before, planned = run.now(), {task.id for task in plan.tasks}
        plan = racing.repeat_until_decided(plan, run, add, clock, {task.id for task in to_run.tasks})
        if added := {task.id for task in plan.tasks} - planned:
            after = run.now()
            cells = [one for one in (*after.run.measured, *after.run.short) if one.cell.id in added]
            on_event(events.Repeated(settling.gain(before.rows, after.rows, cells)))
        return plan


@contextlib.contextmanager
def compiled_code(run: Path) -> Iterator[Path]:
    """A folder that the processes of a row share, empty at first; backends that need it make it."""
    folder = run / "compiled"
    shutil.rmtree(folder, ignore_errors=True)  # of a kbench that was killed
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _trained_weights(run: Path, plan: Plan) -> Iterator[Path | None]:
    """A folder for the weights with which short processes begin; None if there are no such processes."""
    if not further.wanted(plan.request):
        yield None
        return
    folder = run / "trained"
    shutil.rmtree(folder, ignore_errors=True)  # as above
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_cells(
    plan: Plan,
    run_paths: RunPaths,
    on_event: OnEvent,
    until: float | None = None,
    tell: Callable[[str], None] | None = None,
    further: Callable[[Sequence[CellTask]], Sequence[CellTask]] = lambda tasks: (),
    at_once: int = 1,
) -> float:
    """Run the cells and record them in the run's folder. See `runner.run`.

    Returns the seconds that were spent on compiling first. `tell` is called when an example has ended, except the
    last. `until`: when, on the clock, no repeat is begun any more. `further`, `at_once`: see `runner.run`. Raises
    UserError if results cannot be written; earlier measurements are kept.
    """
    mark = orphans.mark(run_paths.run)
    start = partial(launcher.launch, mark=mark)
    open_cells = Counter(task.example for task in plan.tasks)

    def example_ended(example: str) -> None:
        if tell and not open_cells[example] and open_cells.total():
            tell(example)

    def more(tasks: Sequence[CellTask]) -> Sequence[CellTask]:
        found = further(tasks)
        open_cells.update(task.example for task in found)
        if found:
            on_event(events.CellsAdded(tuple(found)))
        else:
            example_ended(tasks[0].example)
        return found

    def ended(task: CellTask, outcome: Outcome) -> None:
        on_event(events.CellEnded(run_paths.run, task, outcome))
        open_cells[task.example] -= 1
        if task.timing:
            example_ended(task.example)

    listener = Listener(
        started=lambda task: on_event(events.CellStarted(task)),
        epoch=lambda task, progress: on_event(events.CellProgress(task, progress)),
        ended=ended,
        note=notes(on_event),
    )
    # The first example is compiled first; all others only after its table.
    first = [task for task in plan.tasks if task.example == plan.tasks[0].example]
    rest = [task for task in plan.tasks if task.example != plan.tasks[0].example]
    to_compile, compiled = [first, *([rest] if rest else [])], 0.0

    def before(task: CellTask) -> None:
        nonlocal compiled
        if to_compile and task in to_compile[0]:
            compiled += compiling.compile_first(
                to_compile.pop(0),
                plan.impossible,
                run_paths,
                start,
                notes(on_event),
                lambda text: on_event(events.Compiling(text)),
            )

    with orphans.ended_with_this_process(mark):
        on_event(events.CellsStarted(run_paths.run, plan, until))
        try:
            in_turns = plan.in_turns()
            runner.run(plan.tasks, plan.impossible, run_paths, start, listener, in_turns, at_once, before, more)
        finally:
            on_event(events.CellsEnded(run_paths.run))
    return compiled
