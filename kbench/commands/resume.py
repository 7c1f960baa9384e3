"""`resume`: continues a run, measuring exactly the cells without a finished outcome."""

from __future__ import annotations

import argparse
from functools import partial

from kbench import store
from kbench.cli.arguments import program
from kbench.cluster import session
from kbench.commands import choices
from kbench.errors import UserError
from kbench.screen import finish
from kbench.screen.listener import Screen
from kbench.session import resume


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    wanted = choices.output(vars(options))
    run = store.find(options.run, options.results, timed=True).absolute()
    if store.is_packed(run):
        raise UserError(f"{options.run} is packed: unpack it first, with `{program()} unpack {options.run}`.")
    if store.is_cluster(run):
        if options.budget is not None or options.retry:
            raise UserError("A run on a cluster is resumed by its blocks: leave out --budget and --retry.")
        return session.go_on(run, options.on, wanted)
    if options.on:
        raise UserError(f"{run} was measured on one machine: leave out --on.")
    start = partial(
        resume.resume,
        run,
        retried=options.retry,
        budget=options.budget,
        arguments=options.arguments,
        packages=options.packages,
        command=choices.command_line(vars(options)),
    )
    return finish.measure_and_finish(start, Screen(wanted.detail, wanted.beside), wanted)
