"""`run`: plan, make what is missing, measure, tabulate."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from kbench import paths, store
from kbench.cells import workdir
from kbench.cli import arguments
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.session import choices, measure, prepare, record, terminal


def main(options: argparse.Namespace) -> int:
    """Measure what the options ask for; returns the exit status."""
    known = choices.known_backends()
    gpus = devices.gpus()
    request = choices.request(options, known, gpus)
    place = paths.expanded(str(options.results)).absolute()  # a guest starts in another folder
    measure.check_place(place, options.name)
    if request.script:
        workdir.check(paths.expanded(request.examples[0]), place)
    the_plan = plan.make(request, known, gpus, report=terminal.say)
    _print_plan(the_plan, options)
    if options.dry_run:
        return 0
    with prepare.reserved():
        the_plan, here = prepare.arrays(the_plan)
        # Before the run's folder is made, for a wrong --python is found out here.
        here = replace(here, environments=prepare.make_environments(the_plan))
        machine = record.machine(the_plan, here, gpus, [*arguments.program().split(), *options.argv])
        run = store.create(place, record.plan_record(the_plan, here), machine, options.name)
        if request.script:
            prepare.keep_input(run)
        record.keep_locks(the_plan, run)
        with store.filling(run):
            return measure.measure(the_plan, the_plan, replace(here, run=run), gpus, options)


def _print_plan(the_plan: Plan, options: argparse.Namespace) -> None:
    """On stdout, but for what a program reads from there; with --quiet only where nothing else was asked for."""
    if options.dry_run or options.detail != terminal.QUIET:
        alone = options.dry_run or options.format == terminal.TABLE
        terminal.print_plan(the_plan, prepare.to_make(the_plan), file=None if alone else sys.stderr)
