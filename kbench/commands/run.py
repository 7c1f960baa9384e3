"""`run` and `script`: plan, prepare, measure, print the tables."""

from __future__ import annotations

import argparse
import sys

from kbench import store
from kbench.cluster import session
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.session import choices, measure, prepare, terminal


def main(options: argparse.Namespace) -> int:
    """Measure the request; returns the exit status."""
    if getattr(options, "on", None):
        return session.start(options)
    if getattr(options, "spread", False) or getattr(options, "select", None):
        raise UserError("--spread and --select are for a cluster: name it with --on.")
    known = choices.known_backends()
    gpus = devices.gpus()
    request = choices.request(options, known, gpus)
    place = measure.place(options, request)
    the_plan = plan.make(request, known, gpus, report=terminal.say)
    _print_plan(the_plan, options)
    if options.dry_run:
        return 0
    with prepare.reserved():
        the_plan, here = measure.new_run(the_plan, place, options, gpus)
        with store.filling(here.run):
            return measure.measure(the_plan, the_plan, here, gpus, options)


def _print_plan(the_plan: Plan, options: argparse.Namespace) -> None:
    """Print the plan: on stderr if stdout is for a program; with --quiet only in a dry run."""
    if options.dry_run or options.detail != terminal.QUIET:
        alone = options.dry_run or options.format == terminal.TABLE
        terminal.print_plan(the_plan, prepare.to_make(the_plan), file=None if alone else sys.stderr)
