"""Writes and prints what a coverage run came to, and how to continue it."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from kbench import store
from kbench.base import paths
from kbench.cli.options import RETRIED
from kbench.features.coverage import comparison_tables as coverage_comparison
from kbench.features.coverage import known, results, tables
from kbench.features.coverage import page as coverage_page
from kbench.features.coverage.cover import SUBJECT
from kbench.features.coverage.values import NameResult
from kbench.features.coverage.versions import compared_versions
from kbench.machine.provenance import describe
from kbench.planning import request as requests
from kbench.planning.plan import is_acceptable
from kbench.records.values import INTERRUPTED, OK, UNSUPPORTED, base
from kbench.screen import terminal
from kbench.selection.known import known_backends
from kbench.store import RunResults
from kbench.store.files import replace as replace_file
from kbench.words.text import as_json


def finish(read: RunResults, fail_on: Collection[str] = (), *, of_cluster: bool = False) -> int:
    """Print the short answer, write coverage.csv, .json and .html; returns the exit status: 1 if a backend that was
    named was not run, cases are left, or a name has a state in `fail_on`. `of_cluster`: it is resumed with others.
    """
    rows = known.names(read)
    of_keras = keras_backends(rows)
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
    if not of_cluster:
        _how_to_resume(read)
    named = requests.read(read.request, read.folder).named_backends
    first = [one for one in read.measured if one.cell.repeat == 1 and one.cell.backend in named]
    failed = bool({*fail_on} & {row.state for row in rows}) or bool(_left(read))
    return 1 if failed or not is_acceptable(named, (SUBJECT,), first) else 0


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
    plan = results.plan_of(read)
    return sum(map(len, results.left(read.measured, plan.cases, plan.without).values()))


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


def keras_backends(rows: Sequence[NameResult]) -> dict[str, str]:
    """What keras.json calls each backend of these rows."""
    of_name = known_backends()
    return {row.backend: of_name[base(row.backend)].keras_backend for row in rows if base(row.backend) in of_name}
