"""`list suites` and `list published`."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict
from pathlib import Path

from kbench.errors import UserError
from kbench.features.published import figure_tables, figures, suites
from kbench.features.published.values import PUBLISHED, SUITES
from kbench.screen import terminal
from kbench.selection.known import known_examples
from kbench.tables import grid
from kbench.tables.csv import records_csv
from kbench.words.text import as_json, nearest

_SUITES = ["suite", "examples", "varies", "what it is"]


def print_listed(options: argparse.Namespace) -> int | None:
    """Print the list; returns the exit status, or None if something else is listed. Raises UserError."""
    if options.what == PUBLISHED:
        _print_published(options.workload, options.format)
        return 0
    if options.workload and options.what == "runs":
        raise UserError(f"`list runs` shows all runs; `report {options.workload}` shows one.")
    if options.workload:
        raise UserError(f"{options.workload!r} is for {PUBLISHED}: `list {PUBLISHED} {options.workload}`.")
    if options.what != SUITES:
        return None
    if options.variables:
        raise UserError("--variables are those of backends: `list backends --variables`.")
    shown = {SUITES: grid.Grid(_SUITES, [_suite(*one) for one in suites.files().items()])}
    terminal.print_text(grid.printed(shown, options.format, terminal.width()))
    return 0


def _print_published(workload: str | None, form: str) -> None:
    known = figures.read()
    workloads = list(dict.fromkeys(one.workload for one in known))
    if workload:
        if workload not in workloads:
            hint = nearest(workload, workloads)
            raise UserError(f"There is no published figure of {workload!r}{hint}")
        known = [one for one in known if one.workload == workload]
    if form == "csv":
        terminal.print_text(records_csv([asdict(one) for one in known]).rstrip())
    elif form == "json":
        terminal.print_text(as_json([asdict(one) for one in known]))
    else:
        examples, where = known_examples(), figure_tables.WHERE
        heads, rows = figure_tables.figure_rows(known) if workload else figure_tables.workload_rows(known, examples)
        terminal.print_text(grid.printed({PUBLISHED: grid.Grid(heads, rows)}, form, terminal.width()))
        if form == "table":
            said = where if workload else f"{figure_tables.covered(known, examples)} {where}"
            terminal.print_text(textwrap.fill(said, terminal.width(), initial_indent="\n"))


def _suite(name: str, path: Path) -> list[str]:
    suite = suites.load(path)
    return [name, ", ".join(suite.examples), ", ".join(suites.varied(suite)), suite.title]
