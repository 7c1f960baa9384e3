"""`coverage`: what each of Keras's public names does on each backend, and whether it is right."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from kbench import axes, paths, store
from kbench.cli.options import RETRIED
from kbench.commands import choices
from kbench.comparison.coverage import compared_versions
from kbench.coverage import known, results
from kbench.coverage.values import NameResult
from kbench.errors import Interrupted, Stopped, UserError
from kbench.machine import devices
from kbench.machine.provenance import describe
from kbench.planning import request as requests
from kbench.planning.plan import is_acceptable
from kbench.planning.request import ChosenPython, Request
from kbench.report import coverage_page
from kbench.screen import terminal
from kbench.screen.finish import how_to_go_on
from kbench.screen.listener import Screen
from kbench.selection import names
from kbench.selection.known import known_backends
from kbench.session import cover, interrupts, prepare
from kbench.session.events import OnEvent
from kbench.store import RunResults
from kbench.store.files import replace as replace_file
from kbench.tables import coverage as tables
from kbench.tables import coverage_comparison
from kbench.text import as_json
from kbench.values import EXPORT, INTERRUPTED, NATIVE, OK, UNSUPPORTED, base

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
        only=options.only,
        quick=options.quick,
        name=options.name,
        command=choices.command_line(vars(options)),
    )
    return try_and_finish(start, Screen(plan=sys.stdout, extent=EXTENT), options.fail_on)


def try_and_finish(start: Callable[[OnEvent], RunResults], screen: Screen, fail_on: Sequence[str] = ()) -> int:
    """Have `start` try the cases, and finish the run; returns the exit status. Raises UserError."""
    with interrupts.ended_as_interrupted():
        try:
            read = start(screen)
        except Interrupted as interrupted:
            with contextlib.suppress(OSError):  # the terminal may be gone
                finish(store.read(interrupted.run))
                print("kbench: interrupted; what was tried is kept.", file=sys.stderr)
            return interrupts.INTERRUPTED_STATUS
        except Stopped as stopped:
            raise how_to_go_on(stopped) from stopped
        rows = finish(read)
    named = requests.read(read.request, read.folder).named_backends
    first = [one for one in read.measured if one.cell.repeat == 1 and one.cell.backend in named]
    failed = bool({*fail_on} & {row.state for row in rows}) or bool(_left(read))
    return 1 if failed or not is_acceptable(named, (cover.SUBJECT,), first) else 0


def finish(read: RunResults) -> list[NameResult]:
    """Print the short answer, write coverage.csv, .json and .html; returns a row for each name and backend."""
    rows = known.names(read)
    of_keras = _keras_backends(rows)
    terminal.print_text("\n" + (tables.text(rows, of_keras, terminal.width()) if rows else _nothing(read)))
    of_versions = compared_versions(read)
    if of_versions:
        terminal.print_text("\n" + coverage_comparison.text(of_versions, terminal.width()))
    store.make_folder(read.folder)
    content = {"schema": 1, "cases": tables.records(rows, of_keras)}
    replace_file(read.folder / "coverage.csv", tables.csv(rows, of_keras), durable=False)
    replace_file(read.folder / "coverage.json", as_json(content) + "\n", durable=False)
    about = coverage_page.About(
        name=read.name,
        machine=describe(read.provenance),
        left=_left(read),
        compared=[coverage_comparison.sentence(one) for one in of_versions],
        docs=_docs_from(read.folder),
    )
    replace_file(read.folder / "coverage.html", coverage_page.page(about, rows, of_keras), durable=False)
    terminal.print_folder(read.folder, "All cases, with a program for each that is not right", "coverage.html")
    _how_to_resume(read)
    return rows


def _how_to_resume(read: RunResults) -> None:
    """Print how to try what was not; nothing if all was."""
    shown = results.plan_of(read).shown
    first = [one for one in read.measured if one.cell.repeat == 1 and (not shown or one.cell.backend in shown)]
    unlisted = sorted({one.outcome.status for one in first if one.outcome.status != OK})
    if left := _left(read):
        terminal.print_sentence(f"Not tried: {left:,} cases; continue with `{terminal.resume_command(read.folder)}`.")
    elif INTERRUPTED in unlisted:
        terminal.print_sentence(f"Continue with `{terminal.resume_command(read.folder)}`.")
    elif again := [one for one in unlisted if one in RETRIED and one != UNSUPPORTED]:
        command = terminal.resume_command(read.folder, "--retry", ",".join(again))
        terminal.print_sentence(f"To try again the backends that were not run, continue with `{command}`.")


def _left(read: RunResults) -> int:
    """How many cases were not tried."""
    return sum(map(len, results.left(read.measured, results.plan_of(read).cases).values()))


def _docs_from(folder: Path) -> str:
    """The way from a page in the folder to what is known of backends; empty but in a checkout, or it would tell of
    folders of this machine.
    """
    docs = paths.project_folder("docs") / "parity.md"
    beside = docs.is_file() and folder.resolve().is_relative_to(docs.parents[1].resolve())
    return f"{os.path.relpath(docs.resolve(), folder.resolve())}#what-is-known" if beside else ""


def _nothing(read: RunResults) -> str:
    reasons = {one.cell.backend: one.outcome.reason for one in read.measured if one.outcome.reason}
    return "\n".join(["Nothing was tried.", *(f"{backend}: {reason}" for backend, reason in reasons.items())])


def _keras_backends(rows: Sequence[NameResult]) -> dict[str, str]:
    """What keras.json calls each backend of these rows."""
    of_name = known_backends()
    return {row.backend: of_name[base(row.backend)].keras_backend for row in rows if base(row.backend) in of_name}


def _request(options: choices.Options) -> Request:
    choices.check_one_value_each(options)
    of_name = known_backends()
    chosen = names.select_backends(options["backends"], of_name)
    without = [one.name for one in chosen.chosen if one.kind in (NATIVE, EXPORT)]
    if without:
        raise UserError(f"{without[0]} does not run Keras, whose public names are tried: leave it out.")
    pythons = choices.chosen_pythons(options, of_name)
    device = devices.choose(options["device"], devices.gpus())
    return Request(
        backends=tuple(one.name for one in chosen.chosen),
        examples=(cover.SUBJECT,),
        seed=options["seed"],
        named_backends=tuple(sorted(chosen.named)),
        pythons={name: ChosenPython(paths.portable(one.path), one.as_is) for name, one in pythons.items()},
        values=choices.values(options) | {axes.DEVICE: (device.label,), axes.THREADS: options["threads"] or (1,)},
        timeout=options["timeout"],
        memory_limit_mib=options["memory_limit_mib"],
        pass_env=choices.passed_variables(options),
    )
