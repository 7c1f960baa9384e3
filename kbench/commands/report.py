"""`report`: a run's tables and plots, made anew from what was measured."""

from __future__ import annotations

import argparse

from kbench import paths, results
from kbench.commands import choices, screen
from kbench.commands.parity import show
from kbench.results import parity


def main(options: argparse.Namespace) -> int:
    """Rebuild what is derived and print the tables. Raises UserError."""
    run = results.find(options.run, paths.expanded(str(options.results)))
    measured = results.read(run)
    if parity.is_parity(measured):
        show(run)
        return 0
    baseline = choices.chosen_baseline(options, dict.fromkeys(one.cell.backend for one in measured.measured))
    results.rebuild(run, baseline)
    screen.print_tables(measured, baseline)
    screen.print_folder(run)
    return 0
