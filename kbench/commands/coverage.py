"""`coverage`: what each of Keras's public names does on each backend, and whether it is right."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from kbench import axes, paths, store
from kbench.commands import choices
from kbench.coverage import results
from kbench.coverage.values import NameResult
from kbench.errors import Interrupted, UserError
from kbench.machine import devices
from kbench.planning.plan import is_acceptable
from kbench.planning.request import ChosenPython, Request
from kbench.report import coverage_page
from kbench.screen import terminal
from kbench.screen.listener import Screen
from kbench.selection import names
from kbench.selection.known import known_backends
from kbench.session import cover, interrupts, prepare
from kbench.store import RunResults
from kbench.store.files import replace as replace_file
from kbench.tables import coverage as tables
from kbench.text import as_json
from kbench.values import EXPORT, NATIVE, base

EXTENT = "coverage: every public name, a process lists them and others try them"  # in the plan, instead of a profile


def main(options: argparse.Namespace) -> int:
    """Try, compare and print; returns the exit status. Raises UserError."""
    request = _request(vars(options))
    if options.dry_run:
        plan = cover.planned(request)
        terminal.print_plan(plan, prepare.to_make(plan), EXTENT)
        return 0
    start = partial(
        cover.cover,
        request,
        options.results,
        Screen(plan=sys.stdout, extent=EXTENT),
        only=options.only,
        quick=options.quick,
        name=options.name,
        command=choices.command_line(vars(options)),
    )
    with interrupts.ended_as_interrupted():
        try:
            read = start()
        except Interrupted as interrupted:
            finish(store.read(interrupted.run))
            print("kbench: interrupted; what was tried is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        rows = finish(read)
    fails = {*options.fail_on} & {row.state for row in rows}
    named, first = [*request.named_backends], [one for one in read.measured if one.cell.repeat == 1]
    return (
        1
        if fails or not is_acceptable(named, (cover.SUBJECT,), [one for one in first if one.cell.backend in named])
        else 0
    )


def finish(read: RunResults) -> list[NameResult]:
    """Print the short answer, write coverage.csv, .json and .html; returns a row for each name and backend."""
    rows = results.names(read)
    of_keras = _keras_backends(rows)
    terminal.print_text("\n" + (tables.text(rows, of_keras, terminal.width()) if rows else _nothing(read)))
    store.make_folder(read.folder)
    content = {"schema": 1, "cases": tables.records(rows, of_keras)}
    replace_file(read.folder / "coverage.csv", tables.csv(rows, of_keras), durable=False)
    replace_file(read.folder / "coverage.json", as_json(content) + "\n", durable=False)
    replace_file(read.folder / "coverage.html", coverage_page.page(read.name, rows, of_keras), durable=False)
    terminal.print_folder(read.folder, "All cases, with a program for each that is not right", "coverage.html")
    return rows


def _nothing(read: RunResults) -> str:
    reasons = {one.cell.backend: one.outcome.reason for one in read.measured if one.outcome.reason}
    return "\n".join(["Nothing was tried.", *(f"{backend}: {reason}" for backend, reason in reasons.items())])


def _keras_backends(rows: Sequence[NameResult]) -> dict[str, str]:
    """What keras.json calls each backend of these rows."""
    known = known_backends()
    return {row.backend: known[base(row.backend)].keras_backend for row in rows if base(row.backend) in known}


def _request(options: choices.Options) -> Request:
    choices.check_one_value_each(options)
    known = known_backends()
    chosen = names.select_backends(options["backends"], known)
    without = [one.name for one in chosen.chosen if one.kind in (NATIVE, EXPORT)]
    if without:
        raise UserError(f"{without[0]} does not run Keras, whose public names are tried: leave it out.")
    pythons = choices.chosen_pythons(options, known)
    device = devices.choose(options["device"], devices.gpus())
    return Request(
        backends=tuple(one.name for one in chosen.chosen),
        examples=(cover.SUBJECT,),
        seed=options["seed"],
        named_backends=tuple(sorted(chosen.named)),
        pythons={name: ChosenPython(paths.portable(one.path), one.as_is) for name, one in pythons.items()},
        values=choices.values(options) | {axes.DEVICE: (device.label,)},
        timeout=options["timeout"],
        memory_limit_mib=options["memory_limit_mib"],
        pass_env=choices.passed_variables(options),
    )
