"""`compare`: compares runs, or backends of one run."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.base import paths
from kbench.cli.arguments import program
from kbench.commands.named_runs import described, rows_of
from kbench.errors import UserError
from kbench.features.compare import configuration, pairing, tables
from kbench.features.compare.configuration import Difference
from kbench.features.compare.pairing import ComparedRun
from kbench.features.compare.values import About, Pair
from kbench.records.values import OK
from kbench.screen import terminal
from kbench.selection.known import known_examples
from kbench.store import LATEST, REFERENCE
from kbench.tables.csv import records_csv
from kbench.words.text import as_json

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def main(options: argparse.Namespace) -> int:
    """Compare and print; returns 1 if --fail-above applies. Raises UserError."""
    if not 2 <= len(options.runs) <= len(_LETTERS):
        first = options.runs[0]
        if "," in first:
            raise UserError(f"Runs are named with blanks between them: `compare {' '.join(first.split(','))}`.")
        raise UserError(
            f"Name two runs to compare, or up to {len(_LETTERS)}: `compare {_two(first, options.results)}`, "
            "or two backends of one run: `compare latest:BACKEND latest:BACKEND`."
        )
    compared = [_side(letter, text, options.results) for letter, text in zip(_LETTERS, options.runs, strict=False)]
    found = pairing.pairs(compared, options.allow)
    if not any(pair.first and pair.other for pair in found):
        named = [
            f"{text} ({one.about.name})" * (text == LATEST) or text
            for text, one in zip(options.runs, compared, strict=True)
        ]
        raise UserError(
            f"{' and '.join(named)} have no example and backend in common; "
            "to compare different backends, name them: RUN:BACKEND."
        )
    both = [pair for pair in found if pair.first and pair.other]
    if all(pair.other_data for pair in both):
        words = " and ".join(dict.fromkeys(pair.other_data for pair in both))
        raise UserError(f"Nothing can be compared, because there are {words}: measure all with the same --data.")
    made = partial(_as, [one.about for one in compared], found, configuration.differences(compared))
    terminal.print_text(made(options.format))
    return _status(options.runs, found, options.fail_above)


def _as(abouts: list[About], found: list[Pair], differing: Sequence[Difference], form: str) -> str:
    """The comparison in a format; a CSV has only its rows."""
    if form == "table":
        return tables.text(abouts, found, terminal.width(), differing)
    if form == "markdown":
        return tables.markdown(abouts, found, differing)
    rows = [tables.record(abouts, pair) for pair in found]
    if form == "csv":
        return records_csv(rows).rstrip()
    runs, listed = [vars(about) for about in abouts], [vars(one) for one in differing]
    return as_json({"schema": 1, "runs": runs, "rows": rows, "configuration": listed})


def _status(runs: list[str], found: list[Pair], limit: float | None) -> int:
    """The exit status, with the reason on stderr. Raises UserError if nothing could be compared."""
    if all(pair.ratio is None and not pair.compared_epochs for pair in found):
        if unlike := _other_profile(runs, found):
            raise UserError(unlike)
        kinds = sorted({kind for pair in found for kind in pair.kinds})
        advice = f"to compare them anyway, add `--allow {','.join(kinds)}`." if kinds else "their rows say why."
        raise UserError(f"Nothing could be compared: {advice}")
    worse = [] if limit is None else pairing.regressions(found, limit)
    for pair in worse:
        shown = f"{pair.ratio:.3f} x" if pair.ratio is not None else "; ".join(pair.refused)
        print(f"kbench: {pair.row.example} on {pair.row.backend}, {pair.side} against A: {shown}.", file=sys.stderr)
    return 1 if worse else 0


def _two(first: str, results: Path) -> str:
    """Two runs that there are: this one, and the one that comes with a checkout or another of the user's."""
    if first.startswith(REFERENCE):
        return f"{LATEST} {first}"
    others = [one for one in store.names(results) if one != first]
    shipped = store.is_run(paths.project_folder("results") / REFERENCE)
    return shlex.join([first, REFERENCE if shipped or not others else others[0]])


def _other_profile(runs: list[str], found: list[Pair]) -> str:
    """What to say, with the command to type, if two of the runs are of different profiles; else empty."""
    for pair in found:
        first, other = pair.first, pair.other
        if not first or not other or first.profile == other.profile or not (first.status == other.status == OK):
            continue
        like = [one.row for one in found if one.side == pair.side and one.first and one.other]
        known = known_examples()
        backends = dict.fromkeys(row.backend for row in like)
        examples = dict.fromkeys(row.example if row.example in known else f"{row.example}.py" for row in like)
        profile = first.profile if runs[0] == REFERENCE else other.profile
        command = f"--backends {','.join(backends)} --examples {','.join(examples)} --profile {profile}"
        two = f"{runs[0]} is a {first.profile} run and {runs[_LETTERS.index(pair.side)]} a {other.profile} one"
        return f"{two}: measure with the same profile: `{program()} {command}`."
    return ""


def _side(letter: str, text: str, parent: Path) -> ComparedRun:
    folder, record, backend = rows_of(text, parent)
    about = About(letter, **described(text, folder, record))
    return pairing.side(about, Analysis(store.measured_of(record)), backend)
