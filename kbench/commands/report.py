"""`report`: writes a run's tables, plots and pages again; or puts several runs on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench import hooks, store
from kbench.commands import choices
from kbench.errors import Refused, UserError
from kbench.outputs.told import ToldRun
from kbench.screen import output
from kbench.store import RunResults

if TYPE_CHECKING:
    from kbench.plots.styles import Style


def main(options: argparse.Namespace) -> int:
    """Write the derived files and print the tables, or write the page of several runs. Raises UserError."""
    wanted = choices.output(vars(options))
    names = dict.fromkeys(options.runs) or ["latest"]
    runs = list(dict.fromkeys(store.find(name, options.results) for name in names))
    if len(runs) > 1:
        if options.columns:
            raise UserError("--columns is for the tables of one run: name one.")
        read = [_timed(run) for run in runs]
        page = options.output or options.results / "report.html"
        baseline = _baseline(options.baseline, read)
        style = _style(options.plot_style, options.plot_size, wanted.plots)
        return _together(page, read, baseline, style, wanted.plots)
    if options.output:
        raise UserError("--output is for a page of several runs: name two, or leave it out.")
    (run,) = runs
    from kbench.outputs import one_run  # not above: matplotlib takes half a second to load

    measured = store.read(run)
    if kind := hooks.kind_of(measured):
        if options.plot_style is not None or options.plot_size is not None:
            raise UserError(f"{run} is of `{kind.name}`, which has no plots: leave --plot-style and --plot-size out.")
        return kind.report(measured, wanted)
    baseline = _baseline(options.baseline, [measured])
    analysis = ToldRun(measured, baseline)
    style = _style(options.plot_style, options.plot_size, wanted.plots)
    try:
        one_run.rebuild(analysis, style, wanted.plots)
    except Refused:  # the results of somebody else, or on a full disk: they can be shown all the same
        output.print_rows(analysis, wanted)
        raise
    output.print_rows(analysis, wanted)
    output.print_written(measured, wanted)
    return 0


def _timed(run: Path) -> RunResults:
    """The run, for a page of several. Raises UserError if it times nothing."""
    read = store.read(run)
    if kind := hooks.kind_of(read):
        raise UserError(f"{run} is of `{kind.name}`, which times nothing: leave it out.")
    return read


def _together(page: Path, runs: Sequence[RunResults], baseline: str, style: Style, plots: bool) -> int:
    """Write one page of all the runs."""
    from kbench.outputs import several_runs

    drawings, missing = several_runs.write_page(page, [ToldRun(run, baseline) for run in runs], style, plots)
    print(f"{len(runs)} runs on one page: {page}")
    if drawings:
        count = len(drawings) // 2
        shown = "1 plot" if count == 1 else f"{count} plots"
        print(f"Scaling lines: {shown}, PNG and SVG, in {drawings[0].parent}")
    for sentence in missing:
        print(sentence)
    return 0


def _style(style: str | None, size: tuple[float, float] | None, plots: bool) -> Style:
    """Style and size of the plots. Raises UserError."""
    from kbench.plots.styles import chosen

    if style == "":
        raise UserError("--plot-style is empty: name a style of matplotlib's, or an .mplstyle file.")
    if not plots and (style or size):
        raise UserError("--no-plots draws nothing: leave it out, or --plot-style and --plot-size.")
    return chosen(style or "", size)


def _baseline(baseline: str | None, runs: Sequence[RunResults]) -> str:
    return choices.chosen_baseline(baseline, dict.fromkeys(one.cell.backend for run in runs for one in run.measured))
