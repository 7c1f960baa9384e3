"""`report`: a run's tables and plots, made anew from what was measured."""

from __future__ import annotations

import argparse

from kbench import paths, results
from kbench.commands import screen
from kbench.commands.parity import show
from kbench.results import parity


def main(options: argparse.Namespace) -> int:
    """Rebuild what is derived and print the tables. Raises UserError."""
    run = results.find(options.run, paths.expanded(str(options.results)))
    if parity.is_parity(results.read(run)):
        show(run)
        return 0
    results.rebuild(run)
    screen.print_tables(results.read(run))
    screen.print_folder(run)
    return 0
