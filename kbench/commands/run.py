"""`run` and `script`: plan, prepare, measure, print the tables."""

from __future__ import annotations

import argparse
import sys

from kbench import store
from kbench.cluster import session
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning import plan
from kbench.session import choices, data, measure, prepare, terminal


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
    the_plan = data.chosen(plan.make(request, known, gpus, report=terminal.say))
    if options.dry_run or options.detail != terminal.QUIET:
        on_stdout = options.dry_run or options.format == terminal.TABLE  # else stdout is for a program
        terminal.print_plan(the_plan, prepare.to_make(the_plan), file=None if on_stdout else sys.stderr)
    if options.dry_run:
        return 0
    with prepare.reserved():
        the_plan, here = measure.new_run(the_plan, place, options, gpus)
        with store.filling(here.run):
            return measure.measure(the_plan, the_plan, here, gpus, options)
