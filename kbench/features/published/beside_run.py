"""`compare RUN published`: a run beside figures of the literature."""

from __future__ import annotations

import argparse

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.commands import choices
from kbench.commands.named_runs import described, rows_of
from kbench.errors import UserError
from kbench.features.published import figure_tables, figures
from kbench.features.published.values import PUBLISHED
from kbench.screen import terminal
from kbench.tables.csv import records_csv
from kbench.words.text import as_json


def print_beside(options: argparse.Namespace) -> int:
    """Compare a run with published figures; returns 0. Raises UserError."""
    wanted = choices.output(vars(options))
    runs = [text for text in options.runs if text != PUBLISHED]
    if len(runs) != 1:
        raise UserError(f"Name exactly one run with {PUBLISHED}: `compare latest {PUBLISHED}`.")
    if options.fail_above is not None:
        raise UserError(f"--fail-above is for runs: {PUBLISHED} figures were measured on other machines.")
    folder, record, backend = rows_of(runs[0], options.results)
    rows = [one for one in Analysis(store.measured_of(record)).rows if backend in ("", one.backend)]
    found, about = figures.beside_figures(rows, figures.read()), described(runs[0], folder, record)
    if not found:
        raise UserError(f"There is no published figure for any row of {runs[0]}; see `list {PUBLISHED}`.")
    if wanted.form == "table":
        terminal.print_text(figure_tables.text(found, about["machine"], terminal.width()))
    elif wanted.form == "markdown":
        terminal.print_text(figure_tables.markdown(found, about["machine"]))
    elif wanted.form == "csv":
        terminal.print_text(records_csv(figure_tables.records(found)).rstrip())
    else:
        terminal.print_text(as_json({"schema": 1, "run": about, "rows": figure_tables.records(found)}))
    return 0
