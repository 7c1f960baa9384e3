"""`compare` of two coverage runs, or of two backends of one: public names that broke, were fixed, added, removed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kbench import store
from kbench.commands.named_runs import located
from kbench.errors import UserError
from kbench.features.coverage import comparison_tables as tables
from kbench.features.coverage import versions as coverage
from kbench.features.coverage.results import is_coverage
from kbench.features.coverage.values import KIND
from kbench.features.coverage.versions import Side
from kbench.screen import terminal
from kbench.selection import names as selection
from kbench.store import LATEST, PUBLISHED
from kbench.words.text import listed


def instead(options: argparse.Namespace) -> int | None:
    """The exit status of `compare` of coverage runs; None if none of the runs is one. Raises UserError."""
    if len(options.runs) < 2 or PUBLISHED in options.runs:
        return None
    if _are_coverage(options.runs, options.results):
        return main(options)
    if options.fail_on:
        raise UserError("--fail-on is for coverage runs: of times, --fail-above RATIO.")
    return None


def _are_coverage(runs: Sequence[str], parent: Path) -> bool:
    """Whether one of the runs is of `coverage`. The latest is of the kind of those beside it."""
    named = [text for text in runs if text.partition(":")[0] != LATEST] or runs
    return any(is_coverage(store.read_record(located(text, parent, (KIND,))[0])) for text in named)


def main(options: argparse.Namespace) -> int:
    """Compare and print; returns 1 if --fail-on applies. Raises UserError."""
    if len(options.runs) != 2:
        raise UserError("Of coverage runs two are compared: name two, or two backends as RUN:BACKEND.")
    if options.fail_above is not None or options.allow:
        raise UserError("--fail-above and --allow are for times: of coverage runs, --fail-on broke,gone.")
    first, other = (_sides(text, options.results) for text in options.runs)
    alone = len(first) == len(other) == 1  # named, or the only ones
    pairs = list(zip(first, other, strict=True)) if alone else coverage.matching(first, other)
    if not pairs:
        raise UserError(
            f"{options.runs[0]} has {listed(first) or 'no backend'}, and {options.runs[1]} "
            f"{listed(other) or 'no backend'}: to compare different backends, name them, RUN:BACKEND."
        )
    found = [coverage.compared(first[one], other[two]) for one, two in pairs]
    made = partial(tables.made, found, width=terminal.width())
    terminal.print_text(made(options.format))
    failed = [change.name for one in found for change in one.changes if change.what in options.fail_on]
    if failed:
        print(f"kbench: {', '.join(options.fail_on)}: {listed(failed[:10])}.", file=sys.stderr)
    return 1 if failed else 0


def _sides(text: str, parent: Path) -> dict[str, Side]:
    """The backends of the run, or the one that is named."""
    folder, wanted = located(text, parent, (KIND,))
    record = store.read_record(folder)
    if not is_coverage(record) and text.partition(":")[0] == LATEST:
        newest = [run for run in store.by_time(parent) if is_coverage(store.read_record(run))]
        folder, record = (newest[0], store.read_record(newest[0])) if newest else (folder, record)
    if not is_coverage(record):
        raise UserError(f"{text} is no coverage run, and the other one is: compare two of one kind.")
    found = coverage.sides(store.measured_of(record), folder.name)
    if not wanted:
        return found
    name = selection.select_baseline(wanted, list(found), text.removesuffix(wanted))
    return {name: found[name]}
