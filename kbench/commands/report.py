"""`report`: writes a run's tables, plots and pages again; or puts several runs on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench import store
from kbench.analysis.rows import summarised
from kbench.cluster import session
from kbench.commands import choices
from kbench.commands.parity import finish_parity
from kbench.errors import Refused, UserError
from kbench.parity import reading
from kbench.screen import output
from kbench.store import RunResults

if TYPE_CHECKING:
    from kbench.plots.look import Style


def main(options: argparse.Namespace) -> int:
    """Write the derived files and print the tables, or write the page of several runs. Raises UserError."""
    wanted = choices.output(vars(options))
    names = dict.fromkeys(options.runs) or ["latest"]
    runs = list(dict.fromkeys(store.find(name, options.results) for name in names))
    if len(runs) > 1:
        if options.export or options.columns or options.sort:
            raise UserError("--export, --columns and --sort are for the tables of one run: name one.")
        return _together(runs, options)
    if options.output:
        raise UserError("--output is for a page of several runs: name two, or leave it out.")
    (run,) = runs
    if store.is_cluster(run):
        if options.baseline or options.plot_style is not None or options.plot_size is not None:
            raise UserError(f"{run} is of several machines: --baseline and the look of plots are for one of them.")
        session.finish(run, wanted)
        return 0
    from kbench.outputs import one_run  # not above: pandas and matplotlib take a second to load

    measured = store.read(run)
    if reading.is_parity(measured):
        if options.plot_style is not None or options.plot_size is not None:
            raise UserError(f"{run} is of `parity`, which has no plots: leave --plot-style and --plot-size out.")
        finish_parity(measured, wanted)
        return 0
    baseline = _baseline(options, [measured])
    rows = summarised(measured, baseline)
    try:
        one_run.rebuild(measured, baseline, rows, _style(options), options.plots)
    except Refused:  # the results of somebody else, or on a full disk: they can be shown all the same
        output.print_rows(measured, rows, wanted)
        raise
    output.print_rows(measured, rows, wanted)
    output.print_written(measured, wanted)
    return 0


def _together(runs: Sequence[Path], options: argparse.Namespace) -> int:
    """Write one page of all the runs."""
    from kbench.outputs import several_runs

    read = [store.read(run) for run in runs]
    for run in read:
        if reading.is_parity(run):
            raise UserError(f"{run.folder} is of `parity`, which has a page of its own: leave it out.")
    page = options.output or options.results / "report.html"
    pictures, missing = several_runs.write_page(page, read, _baseline(options, read), _style(options), options.plots)
    print(f"{len(runs)} runs on one page: {page}")
    if pictures:
        count = len(pictures) // 2
        shown = "1 picture" if count == 1 else f"{count} pictures"
        print(f"Scaling lines: {shown}, PNG and SVG, in {pictures[0].parent}")
    for sentence in missing:
        print(sentence)
    return 0


def _style(options: argparse.Namespace) -> Style:
    """Style and size of the pictures."""
    from kbench.plots.look import chosen

    if options.plot_style == "":
        raise UserError("--plot-style is empty: name a style of matplotlib's, or an .mplstyle file.")
    if not options.plots and (options.plot_style or options.plot_size):
        raise UserError("--no-plots draws nothing: leave it out, or --plot-style and --plot-size.")
    return chosen(options.plot_style or "", options.plot_size)


def _baseline(options: argparse.Namespace, runs: Sequence[RunResults]) -> str:
    return choices.chosen_baseline(
        vars(options), dict.fromkeys(one.cell.backend for run in runs for one in run.measured)
    )
