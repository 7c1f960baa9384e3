"""`parity`: checks whether backends compute the same outputs, layers, loss and steps on one batch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kbench import store
from kbench.commands import choices
from kbench.commands.choices import Options
from kbench.errors import Interrupted, UserError
from kbench.features.parity import agreement, check, reading, tables
from kbench.features.parity.check import DEFAULT_FORM
from kbench.features.parity.values import Agreement
from kbench.features.script import choosing
from kbench.features.script.told import at_fault
from kbench.machine import devices
from kbench.machine.provenance import describe
from kbench.screen import finish as finishing
from kbench.screen import terminal
from kbench.screen.listener import Screen
from kbench.screen.output import Output
from kbench.selection.known import known_backends
from kbench.session import interrupts, measure, prepare
from kbench.store import RunResults
from kbench.store.files import replace as replace_file
from kbench.tables import markdown
from kbench.words.text import as_json, at_blanks

EXTENT = "parity: one batch, dropout off"  # in the plan, instead of a profile


def main(options: argparse.Namespace) -> int:
    """Compute, compare and print the tables; returns the exit status. Raises UserError."""
    return _run(vars(options))


def _run(options: Options) -> int:
    choices.check_one_value_each(options)
    _check(options)
    request = choices.request(options, known_backends(), devices.gpus())
    form = options["form"] or (DEFAULT_FORM if request.script else "right")
    wanted = choices.output(options)
    if options["dry_run"]:
        measure.check_folder(request, options["results"], options["name"])
        plan = check.planned(request, form)
        terminal.print_plan(plan, prepare.to_make(plan), EXTENT, wanted.beside)
        return 0
    name, command = options["name"], choices.command_line(options)
    screen = Screen(plan=wanted.beside, extent=EXTENT)
    with interrupts.ended_as_interrupted():
        try:
            there = check.check_parity(request, options["results"], screen, form=form, name=name, command=command)
        except Interrupted as interrupted:
            finish(store.read(interrupted.run), wanted)
            print("kbench: interrupted; what was computed is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        agree = finish(there, wanted)
    return 0 if agree and finishing.status(there) == 0 else 1


def finish(read: RunResults, wanted: Output) -> bool:
    """Write the tables and print them; returns whether everything compared is the same or explained."""
    rows = reading.rows(read)
    of_all = "recurrent layers in the form that ships" if read.plan.get("form") == DEFAULT_FORM else ""
    command = str(read.provenance.get("command_line", ""))
    faults = at_fault.sentences(read)
    page = tables.page(read.name, describe(read.provenance), command, rows, of_all, faults)
    shown = tables.text(rows, of_all, terminal.width()) if wanted.form == terminal.TABLE else ""
    for sentence in faults:
        print(f"\n{at_blanks(sentence, terminal.width())}", file=wanted.beside)
    terminal.print_text(
        f"\n{shown}" if shown else _as(rows, of_all, wanted.form)
    )  # first: the folder may be read-only
    store.make_folder(read.folder)
    replace_file(read.folder / "parity.csv", tables.csv(rows), durable=False)
    replace_file(read.folder / "parity.md", page, durable=False)
    terminal.print_folder(read.folder, "Tables and arrays", "parity.md", wanted.beside)
    return agreement.passes([row for row in rows if row.verdict in agreement.VERDICTS])


def _as(rows: Sequence[Agreement], of_all: str, form: str) -> str:
    """The tables as Markdown, CSV or JSON."""
    if form == "markdown":
        return markdown.together(tables.tables(rows, of_all))
    if form == "csv":
        return tables.csv(rows).rstrip()
    return as_json({"schema": 1, "rows": tables.records(rows)})


def _check(options: Options) -> None:
    """Raises UserError if options for examples are combined with options for a script."""
    if options["file"] is None and options["module"] is None:
        choosing.check_no_program(options)
        return
    if options["examples"] is not None:
        raise UserError("--examples and --script: give one or the other.")
    if options["form"] == "right" or options["batch_size"]:
        raise UserError("A script runs as it is: --form right and --batch-size are for examples.")
