"""`resume`: continues a run, measuring exactly the cells without a finished outcome."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from kbench import store
from kbench.cli.arguments import program
from kbench.cluster import session
from kbench.commands import choices, coverage
from kbench.coverage.results import is_coverage
from kbench.coverage.values import KIND
from kbench.errors import UserError
from kbench.screen import finish
from kbench.screen.listener import Screen
from kbench.session import cover, resume


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    wanted = choices.output(vars(options))
    run = store.find(options.run, options.results, timed=True, kinds=(KIND,)).absolute()
    if store.is_packed(run):
        raise UserError(f"{options.run} is packed: unpack it first, with `{program()} unpack {options.run}`.")
    if store.is_cluster(run):
        if options.budget is not None or options.retry:
            raise UserError("A run on a cluster is resumed by its blocks: leave out --budget and --retry.")
        return session.go_on(run, options.on, wanted)
    if options.on:
        raise UserError(f"{run} was measured on one machine: leave out --on.")
    if is_coverage(store.read_record(run)):
        return _cover(run, options)
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


def _cover(run: Path, options: argparse.Namespace) -> int:
    """Try what is missing of a coverage run."""
    if options.budget is not None or options.packages or options.arguments:
        raise UserError(f"{run} is a coverage run, of which no row is open: leave out --budget and --with.")
    command = choices.command_line(vars(options))
    start = partial(cover.resume, run, retried=options.retry, command=command)
    return coverage.try_and_finish(start, Screen(options.detail, sys.stdout))
