"""Runs the cells of a plan, writes and prints the tables. Shared by `run`, `resume` and `parity`."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kbench import paths, store
from kbench.analysis.call_sites import program_of
from kbench.analysis.rows import open_rows, summarised
from kbench.cells import compiling, launcher, orphans, runner, workdir
from kbench.cells.spec import Here
from kbench.cli import arguments
from kbench.errors import Refused, UserError
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.selection import scripts
from kbench.session import explaining, interrupts, output, prepare, racing, record, terminal, time_left
from kbench.session.progress import Progress
from kbench.summary import Summary
from kbench.values import Device, Outcome


def place(options: argparse.Namespace, asked: Request) -> Path:
    """The results folder. Raises UserError at once, not after minutes of preparation, if no run can be made there."""
    output.asked(options)
    parent: Path = options.results.absolute()  # a guest starts in another folder
    if options.name is not None:
        store.check_name(parent, options.name)
    if asked.script:
        workdir.check(scripts.root(paths.expanded(asked.examples[0]).absolute(), asked.script.module), parent)
    existing = next(folder for folder in (parent, *parent.parents) if folder.exists())
    if not existing.is_dir():
        raise UserError(f"{existing} is not a folder: choose another place with --results.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(f"{existing} is not writable: choose another place with --results.")
    return parent


def new_run(
    the_plan: Plan, parent: Path, options: argparse.Namespace, gpus: Sequence[Device], **more: object
) -> tuple[Plan, Here]:
    """Make data, environments and the run's folder; `more` is kept with the plan. Raises UserError."""
    the_plan, here = prepare.arrays(the_plan)
    # Before the run's folder is created: a wrong --python is an error here.
    shown = getattr(options, "detail", terminal.USUAL) != terminal.QUIET
    here = replace(here, environments=prepare.make_environments(the_plan, shown))
    machine = record.machine(the_plan, here, gpus, [*arguments.program().split(), *options.argv])
    with prepare.standard_input() if the_plan.request.script else contextlib.nullcontext() as given:
        planned = record.of_plan(the_plan, here, **more)
        run = store.create(parent, provenance=machine, name=options.name, **planned)
        if given:
            store.keep_stdin(run, given)
    for backend, build in the_plan.environments():
        if build.resolved and build.lock:  # it was made for this run
            store.keep_lock(run, backend.name, build.lock)
    return the_plan, replace(here, run=run)


def measure(the_plan: Plan, to_run: Plan, here: Here, gpus: Sequence[Device], options: argparse.Namespace) -> int:
    """Run the cells of `to_run` and print the tables of the whole plan; returns the exit status."""
    with interrupts.ended_as_interrupted():
        try:
            the_plan = measure_cells(the_plan, to_run, here, gpus, options)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish(the_plan, here.run, options)
                print("kbench: interrupted; what was measured is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except UserError as error:
            raise UserError(f"{str(error).rstrip('.')}; once that is fixed, {terminal.resuming(here.run)}") from error
        return finish(the_plan, here.run, options)


def measure_cells(
    the_plan: Plan, to_run: Plan, here: Here, gpus: Sequence[Device], options: argparse.Namespace
) -> Plan:
    """Run the cells of `to_run`, and repeats where rows are undecided; returns the plan with the repeats."""
    say = (lambda line: None) if options.detail == terminal.QUIET else terminal.say
    output = partial(terminal.show_output, here.run) if getattr(options, "show_output", False) else None

    spent, began = racing.spent(store.read(here.run)), time.monotonic()
    budget = the_plan.request.budget if the_plan.request.precision else None
    until = None if budget is None else began + budget - spent

    def add(the_plan: Plan, tasks: list[CellTask]) -> None:
        """Measure further tasks of the plan, all of the same example."""
        if show and last:  # what is known stands on the screen meanwhile
            show(last.pop())
        store.update(here.run, **record.of_plan(the_plan, here))
        backends = ", ".join(dict.fromkeys(task.backend for task in tasks))
        say(f"Measuring {tasks[0].example} again on {backends}: not yet clear which is faster.")
        run_cells(replace(the_plan, tasks=tuple(tasks)), caching, options.detail, cell_done=output, until=until)

    show = None if options.detail == terminal.QUIET else partial(_show_example, here.run)
    last = [task.example for task in to_run.tasks][-1:]  # which is not shown when it ends
    with _compiled_code(here.run) as folder:
        caching = replace(here, compiled=folder)
        compiled = run_cells(to_run, caching, options.detail, show, output, until)
        clock = racing.Clock(spent, lambda: time.monotonic() - began, compiled)
        the_plan = racing.race(the_plan, here.run, add, clock, {task.id for task in to_run.tasks})
    if getattr(options, "explain", False):
        explaining.explain(the_plan, here, partial(run_cells, detail=options.detail), say)
    store.record_end(here.run, record.at_end(the_plan, gpus, store.read_record(here.run).provenance))
    return the_plan


@contextlib.contextmanager
def _compiled_code(run: Path) -> Iterator[Path]:
    """A folder that the run's repeats share, empty at first; backends that need it make it."""
    folder = run / "compiled"
    shutil.rmtree(folder, ignore_errors=True)  # of a kbench that was killed
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def finish(the_plan: Plan, run: Path, options: argparse.Namespace, instead: str = "") -> int:
    """Print and write the tables, and how to continue, or a sentence `instead`; returns the exit status."""
    there, wanted, asked = store.read(run), output.asked(options), the_plan.request
    rows = summarised(there)
    try:
        output.print_rows(there, rows, wanted)  # first: to draw takes seconds
        sys.stdout.flush()
    finally:  # whoever reads that may have gone
        _write(there, rows, run, options)
    output.print_written(there, wanted.form, options.plots)
    beside = None if wanted.form == terminal.TABLE else sys.stderr
    if instead:
        terminal.print_sentence(instead, beside)
    elif asked.precision:  # else nothing is repeated, and what could not be compared says so and why
        terminal.print_open(there, open_rows(rows, asked.precision), beside)
    terminal.print_resuming(there, beside)
    return 0 if plan.acceptable(asked.named_backends, asked.named_examples, there.measured) else 1


def _write(there: store.RunResults, rows: Sequence[Summary], run: Path, options: argparse.Namespace) -> None:
    """Write what is derived from a run. Raises UserError."""
    from kbench.outputs import one_run  # not above: pandas and matplotlib take a second to load

    try:
        one_run.rebuild(there, rows=rows, plots=options.plots)
    except Refused as error:
        terminal.print_resuming(there, sys.stderr)
        raise UserError(f"{str(error).rstrip('.')}; once that is fixed, {terminal.reporting(run)}") from error


def run_cells(
    the_plan: Plan,
    here: Here,
    detail: str = terminal.USUAL,
    example_done: Callable[[str], None] | None = None,
    cell_done: Callable[[CellTask], None] | None = None,
    until: float | None = None,
) -> float:
    """Run the cells with a line of progress, and record them in the run's folder. See `runner.run`.

    Returns the seconds that were spent on compiling first. `cell_done` is called with each finished task,
    `example_done` with the name of each finished example except the last. `until`: when, on the clock, no repeat is
    begun any more. Raises UserError if results cannot be written; earlier measurements are kept.
    """
    mark = orphans.mark(here.run)
    start = partial(launcher.launch, mark=mark, gpu=here.device.index)
    took = time_left.earlier(the_plan.to_measure(), store.results_of(here.run))
    left = time_left.TimeLeft(the_plan.to_measure(), took, until)
    with orphans.ended_with_this_process(mark), Progress(the_plan.tasks, detail, left) as progress:
        listener = progress.listener
        open_cells = Counter(task.example for task in the_plan.tasks)

        def ended(task: CellTask, outcome: Outcome) -> None:
            listener.ended(task, outcome)
            if cell_done:
                cell_done(task)
            open_cells[task.example] -= 1
            if example_done and not open_cells[task.example] and open_cells.total():
                example_done(task.example)

        watched = replace(listener, ended=ended)
        in_turns = the_plan.in_turns()
        # The first example is compiled first; all others only after its table.
        first = [task for task in the_plan.tasks if task.example == the_plan.tasks[0].example]
        rest = [task for task in the_plan.tasks if task.example != the_plan.tasks[0].example]
        to_compile, compiled = [first, *([rest] if rest else [])], 0.0

        def before(task: CellTask) -> None:
            nonlocal compiled
            if to_compile and task in to_compile[0]:
                compiled += compiling.compile_first(
                    to_compile.pop(0), the_plan.verdicts, here, start, terminal.say, progress.compiling
                )

        runner.run(the_plan.tasks, the_plan.verdicts, here, start, watched, in_turns, before)
    return compiled


def _show_example(run: Path, example: str) -> None:
    """Print an example's result while others still run."""
    with contextlib.suppress(UserError):  # the run continues; the error is reported at its end
        there = store.read(run)
        rows = [row for row in summarised(there) if program_of(row.example) == example]
        terminal.show_example(rows, terminal.repeating(there))
