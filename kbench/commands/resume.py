"""`resume`: continues a run, measuring exactly the cells without a finished outcome."""

from __future__ import annotations

import argparse
from functools import partial

from kbench import hooks, store
from kbench.cli.arguments import program
from kbench.commands import choices
from kbench.errors import UserError
from kbench.screen import finish
from kbench.screen.listener import Screen
from kbench.session import resume


def main(options: argparse.Namespace) -> int:
    """Measure what is missing and print the tables of the whole run; returns the exit status. Raises UserError."""
    wanted = choices.output(vars(options))
    resumed = [name for name, kind in hooks.run_kinds().items() if kind.is_resumed]
    run = store.find(options.run, options.results, timed=True, kinds=resumed).absolute()
    if store.is_packed(run):
        raise UserError(f"{options.run} is packed: unpack it first, with `{program()} unpack {options.run}`.")
    kind = hooks.kind_of(store.read_record(run))
    if kind and kind.is_resumed:
        return kind.resume(run, options)
    start = partial(
        resume.resume,
        run,
        retried=options.retry,
        budget=options.budget,
        arguments=options.arguments,
        packages=getattr(options, "packages", ()),  # of the feature that runs programs
        command=choices.command_line(vars(options)),
    )
    return finish.measure_and_finish(start, Screen(wanted.detail, wanted.beside), wanted)
