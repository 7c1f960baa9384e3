"""`report`: a run's tables, plots and pages, made anew from what was measured; or several runs on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kbench import paths, results
from kbench.commands import choices, screen
from kbench.commands.parity import show
from kbench.errors import UserError
from kbench.results import RunResults, parity
from kbench.stats import summarise


def main(options: argparse.Namespace) -> int:
    """Rebuild what is derived and print the tables, or where the page of several runs is. Raises UserError."""
    place = paths.expanded(str(options.results))
    names = dict.fromkeys(options.runs) or ["latest"]
    runs = list(dict.fromkeys(results.find(name, place) for name in names))
    if len(runs) > 1:
        return _together(runs, options, place)
    if options.output:
        raise UserError("--output is for a page of several runs: name two, or leave it out.")
    (run,) = runs
    measured = results.read(run)
    if parity.is_parity(measured):
        show(run, options.format)
        return 0
    baseline = _baseline(options, [measured])
    rows = summarise(measured.measured, baseline or measured.baseline, measured.limits)
    results.rebuild(measured, rows=rows)
    screen.print_results(measured, rows, options.format)
    return 0


def _together(runs: Sequence[Path], options: argparse.Namespace, place: Path) -> int:
    """Write one page of all the runs."""
    read = [results.read(run) for run in runs]
    for run in read:
        if parity.is_parity(run):
            raise UserError(f"{run.folder} is of `parity`, which has a page of its own: leave it out.")
    page = paths.expanded(str(options.output)) if options.output else place / "report.html"
    results.write_page(page, read, _baseline(options, read))
    print(f"{len(runs)} runs on one page: {page}")
    return 0


def _baseline(options: argparse.Namespace, runs: Sequence[RunResults]) -> str:
    return choices.chosen_baseline(options, dict.fromkeys(one.cell.backend for run in runs for one in run.measured))
