"""How rows are printed: the format and columns that the user asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TextIO

from kbench import store
from kbench.machine.provenance import describe
from kbench.outputs.told import ToldRun
from kbench.screen import terminal
from kbench.screen.colors import painter
from kbench.screen.terminal import TABLE, USUAL, VERBOSE
from kbench.tables import at_a_glance, csv, interrupted, lost, markdown, overall, text
from kbench.tables.content import Table
from kbench.words.text import as_json, at_blanks, listed


@dataclass(frozen=True)
class Output:
    """What the user wants to see."""

    form: str = TABLE
    shown: tuple[str, ...] = ()  # columns; empty: the usual ones
    plots: bool = True  # whether they are drawn
    detail: str = USUAL  # of the progress
    outputs: bool = False  # whether the stdout of each cell is printed

    @property
    def beside(self) -> TextIO:
        """For what is no table: stderr if stdout is for another program."""
        return sys.stdout if self.form == TABLE else sys.stderr


def print_written(run: store.RunResults, wanted: Output) -> None:
    """Print where the results are."""
    earlier = "; plots/ is as it was" if any((run.folder / "plots").glob("*.png")) else ""
    plots = "; plots are in plots/" if wanted.plots else earlier
    parts = ["Tables", *["plots"] * wanted.plots, *["raw measurements"] * (not store.is_packed(run.folder))]
    terminal.print_folder(run.folder, listed(parts), f"report.html{plots}", wanted.beside)


def print_rows(analysis: ToldRun, wanted: Output) -> None:
    """Print the rows of a run in one of the formats, with remarks on the whole run that no answer makes."""
    run, rows = analysis.run, analysis.rows
    if wanted.form != TABLE:
        terminal.print_text(_as(wanted.form, analysis, wanted.shown))
        if wanted.form == "csv":  # which holds one table
            for remark in analysis.remarks:
                print(remark, file=sys.stderr)
    else:
        width = terminal.width()
        for sentence in analysis.answers:  # what the user asked for comes first
            print(f"\n{at_blanks(sentence, width)}")
        print()
        again = terminal.repeat_command(run, rows)
        if _is_short(analysis, wanted):
            terminal.print_text(at_a_glance.text(rows, width, again, painter(sys.stdout)))
        else:
            above = [*lost.sentences(rows), *([] if wanted.shown else overall.sentences(rows))]
            terminal.print_text(
                "\n\n".join([*(at_blanks(one, width) for one in above), text.text(rows, width, again, wanted.shown)])
            )
            for one in _further(analysis, on_screen=True):
                terminal.print_text("\n" + text.together([one], width, "in summary.md"))
        for remark in analysis.notes:
            if remark not in analysis.answers:
                print(f"\n{at_blanks(remark, width)}")


def _is_short(analysis: ToldRun, wanted: Output) -> bool:
    """Whether the run is told by its answer and a heat map; its tables are elsewhere."""
    more = any(one.on_screen for one in analysis.sections) or wanted.shown or wanted.detail == VERBOSE
    return at_a_glance.is_enough(analysis.rows) and not more


def _as(form: str, analysis: ToldRun, shown: tuple[str, ...]) -> str:
    """The rows as Markdown, CSV or JSON."""
    run, remarks = analysis.run, analysis.remarks
    rows, machine = analysis.rows, describe(run.provenance)
    if form == "markdown":
        notes = [f"**Note:** {markdown.escape(one)}" for one in remarks]
        tables = [markdown.markdown(rows, terminal.repeat_command(run, rows), shown)]
        tables += [markdown.together([one]) for one in _further(analysis)]
        return "\n\n".join([*notes, *tables, f"Machine: {markdown.escape(machine)}."])
    if form == "csv":
        return csv.summary_csv(rows, shown).rstrip()
    about = {"name": run.name, "created": run.created, "machine": machine, "remarks": remarks}
    return as_json({"schema": 1, **about, "rows": csv.summary_records(rows, shown)})


def _further(analysis: ToldRun, on_screen: bool = False) -> list[Table]:
    """Tables below those of the examples: epochs of what was interrupted, and those of features."""
    lost_epochs = interrupted.table(analysis.run.measured)
    further = [lost_epochs] if lost_epochs else []
    for section in analysis.sections:
        if section.on_screen:
            further += section.on_screen if on_screen else section.tables
    return [*further, *analysis.tables]
