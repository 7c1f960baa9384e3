"""`run` and `script`: plan, prepare, measure, print the tables."""

from __future__ import annotations

import argparse
from functools import partial

from kbench.commands import choices
from kbench.machine import devices
from kbench.screen import finish, terminal
from kbench.screen.listener import Screen
from kbench.selection.known import known_backends
from kbench.session import measure, prepare


def main(options: argparse.Namespace) -> int:
    """Measure the request; returns the exit status. Raises UserError."""
    request = choices.request(vars(options), known_backends(), devices.gpus())
    wanted = choices.output(vars(options))
    results, name = options.results, options.name
    if options.dry_run:
        measure.check_folder(request, results, name)
        plan = measure.planned(request, Screen())
        terminal.print_plan(plan, prepare.to_make(plan))
        return 0
    start = partial(
        measure.measure,
        request,
        results,
        name=name,
        command=choices.command_line(vars(options)),
    )
    return finish.measure_and_finish(start, Screen(wanted.detail, wanted.beside, outputs=wanted.outputs), wanted)
