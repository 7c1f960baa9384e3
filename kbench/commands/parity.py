"""`parity`: checks whether backends compute the same outputs, layers, loss and steps on one batch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kbench import store
from kbench.cli.options import OPTIONS
from kbench.errors import UserError
from kbench.machine import devices
from kbench.machine.provenance import describe
from kbench.parity import agreement, reading
from kbench.planning import plan
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask
from kbench.session import choices, data, interrupts, measure, output, prepare, terminal
from kbench.store.files import replace as replace_file
from kbench.tables import parity as tables
from kbench.values import Backend, Device

PROFILE = "parity"
DEFAULT_FORM = "default"
TIMEOUT = 3600.0  # against a hang


def main(options: argparse.Namespace) -> int:
    """Compute, compare and print the tables; returns the exit status. Raises UserError."""
    known = choices.known_backends()
    gpus = devices.gpus()
    _check(options)
    request = choices.request(options, known, gpus)
    request = replace(request, profile="full", timeout=request.timeout or TIMEOUT)
    form = options.form or (DEFAULT_FORM if request.script else "right")
    known = {name: _in_form(backend, form) for name, backend in known.items()}
    place = measure.place(options, request)
    the_plan = data.chosen(_plan(request, known, gpus))
    beside = None if options.format == terminal.TABLE else sys.stderr
    terminal.print_plan(the_plan, prepare.to_make(the_plan), "parity: one batch, dropout off", beside)
    if options.dry_run:
        return 0
    with prepare.reserved():
        kept = {"kind": reading.KIND, "form": form}
        the_plan, here = measure.new_run(the_plan, place, options, gpus, **kept)
        with store.filling(here.run), interrupts.ended_as_interrupted():
            try:
                measure.run_cells(the_plan, here)
            except KeyboardInterrupt:
                show(here.run, options.format, options.export)
                print("kbench: interrupted; what was computed is kept.", file=sys.stderr)
                return interrupts.INTERRUPTED_STATUS
            agree = show(here.run, options.format, options.export)
    named = request.named_backends, request.named_examples
    return 0 if agree and plan.acceptable(*named, store.read(here.run).measured) else 1


def _in_form(backend: Backend, form: str) -> Backend:
    """The backend with its recurrent layers as they ship, or in the right form."""
    if form == DEFAULT_FORM:
        return replace(backend, recurrent={}, fixed_batch=(), ordered_updates=False)
    return replace(backend, explained=tuple(one for one in backend.explained if not one.as_shipped))


def show(run: Path, form: str = terminal.TABLE, files: Sequence[Path] = ()) -> bool:
    """Write the tables and print them; returns whether everything compared is the same or explained."""
    read = store.read(run)
    rows = reading.rows(read)
    of_all = "recurrent layers in the form that ships" if read.plan.get("form") == DEFAULT_FORM else ""
    command = str(read.provenance.get("command_line", ""))
    page = tables.page(read.name, describe(read.provenance), command, rows, of_all)
    terminal.print_parity(rows, of_all, form)  # first: the folder may be read-only
    output.export(files, partial(terminal.parity_as, rows, of_all))
    replace_file(run / "parity.csv", tables.csv(rows), durable=False)
    replace_file(run / "parity.md", page, durable=False)
    terminal.print_folder(run, "Tables and arrays", "parity.md", None if form == terminal.TABLE else sys.stderr)
    return agreement.passes([row for row in rows if row.verdict in agreement.VERDICTS])


def _check(options: argparse.Namespace) -> None:
    """Raises UserError if options for examples are combined with options for a script."""
    if options.file is None and options.module is None:
        if options.arguments or options.packages or options.shims:
            raise UserError(
                "--with, --shims and what follows -- are for a program of your own: name it with --script."
            )
        return
    if options.examples != OPTIONS["--examples"]["default"]:
        raise UserError("--examples and --script: give one or the other.")
    if options.form == "right" or options.batch_size:
        raise UserError("A script runs as it is: --form right and --batch-size are for examples.")


def _plan(request: Request, known: Mapping[str, Backend], gpus: Sequence[Device]) -> Plan:
    """A cell for each example and backend; without training if the backend cannot train."""
    if request.script:
        made = plan.make(request, known, gpus)
        return replace(made, tasks=tuple(map(_small, made.tasks)))
    full, forward = plan.make(request, known, gpus), plan.make(request, known, gpus, task="infer")
    pairs = zip(full.tasks, forward.tasks, strict=True)
    tasks = [other if one.id in full.verdicts else one for one, other in pairs]
    neither = {cell: verdict for cell, verdict in forward.verdicts.items() if cell in full.verdicts}
    return replace(forward, tasks=tuple(map(_small, tasks)), verdicts=neither)


def _small(task: CellTask) -> CellTask:
    """The task with one batch per step, or fewer if the data has fewer."""
    return replace(
        task,
        profile=PROFILE,
        samples=min(task.samples, max(agreement.STEPS) * task.batch_size),
        validation_samples=0,
        epochs=0,
        parity={"steps": tuple(agreement.STEPS)},
    )
