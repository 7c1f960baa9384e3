"""Tables of a parity run: how far each backend is from the reference, and the first layer that differs."""

from __future__ import annotations

import io
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from csv import DictReader
from itertools import groupby

from kbench.features.parity.agreement import ALONE, NUMPY, ONLY, TOLERANCES
from kbench.features.parity.values import Agreement, Deviation
from kbench.records.backend_keys import QUANTITIES
from kbench.tables import text as plain_text
from kbench.tables.content import Table
from kbench.tables.csv import records_csv
from kbench.tables.entries import marked
from kbench.tables.markdown import body, escape
from kbench.words.text import MISSING, plain

_NAMES = ("example", "backend", "image_data_format", "device", "verdict", "reason", "reference")
_SHOWN = ("outputs", "loss", "1 step", "10 steps")
_FIRST = "first layer that differs"
MOST_WEIGHTS = 4  # kinds of weights that are listed
HARDLY = 0.01  # so little of a deviation is in what the optimizer trains
_STEPS = ("1 step, 10 steps: difference from the most central of the backends whose outputs agree.",)
_TEXT_COLUMNS = frozenset({"backend", "channels", _FIRST, "verdict"})


def tables(rows: Iterable[Agreement], facts: str = "") -> list[Table]:
    """One table per example; `facts` is what all of them have in common."""
    return [_table(list(group), facts) for _, group in groupby(rows, key=lambda row: row.example)]


def text(rows: Sequence[Agreement], facts: str = "", width: int = 100) -> str:
    """All tables for the terminal, and the tolerances below."""
    shown = [plain_text.table(table, width) for table in tables(rows, facts)]
    return "\n\n".join([*shown, textwrap.fill(tolerances(), width)])


def page(
    name: str, machine: str, command: str, rows: Sequence[Agreement], facts: str = "", faults: Iterable[str] = ()
) -> str:
    """parity.md: the tables on one page, with machine and command. faults: sentences on parts of Keras that raise."""
    parts = [f"# kbench parity: {escape(name)}", escape(headline(rows)), *map(escape, faults)]
    parts += [f"Machine: {escape(machine)}."] if machine else []
    parts += [f"Command: `{plain(command).replace('`', '')}`"] if command else []
    for table in tables(rows, facts):
        parts += [f"## {escape(table.heading)}", body(table)]
    return "\n\n".join([*parts, escape(tolerances())]) + "\n"


def csv(rows: Sequence[Agreement]) -> str:
    """One line a row of the tables, in full precision; empty where nothing was compared."""
    return records_csv([_record(row) for row in rows])


def records(rows: Sequence[Agreement]) -> list[dict[str, str]]:
    """One object a row, with the names and entries of the CSV."""
    return list(DictReader(io.StringIO(csv(rows))))


def _record(row: Agreement) -> dict[str, object]:
    """The order of its names is a promise: programs read the CSV by place."""
    of = row.deviations
    first = row.first or Deviation(math.nan)
    return {
        **{name: getattr(row, name) for name in _NAMES},
        **{what.replace(" ", "_"): of[what].size if what in of else None for what in QUANTITIES},
        "first_layer": first.layer,
        "first_layer_class": first.class_name,
        "first_layer_deviation": first.size if row.first else None,
        **{f"{what.replace(' ', '_')}_layer": of[what].layer if what in of else None for what in QUANTITIES[3:]},
        "notes": "; ".join(row.notes),
    }


def headline(rows: Sequence[Agreement]) -> str:
    """How many rows agree: one sentence."""
    counted = Counter(row.verdict for row in rows).most_common()
    listed = ", ".join(f"{number} {verdict}" for verdict, number in counted)
    return f"{len(rows)} cells: {listed}." if rows else "Nothing was compared."


def tolerances() -> str:
    """The tolerances as one sentence."""
    listed = ", ".join(f"{what} {TOLERANCES[what]:.0e}" for what in QUANTITIES)
    return f"Same means within: {listed}."


def _table(rows: Sequence[Agreement], facts: str) -> Table:
    footnotes: list[str] = []
    several = len({row.backend for row in rows}) < len(rows)
    named = list(dict.fromkeys(row.reference for row in rows if row.reference))
    shown = [what for what in _SHOWN if any(what in row.deviations for row in rows)] or _SHOWN
    against = "nothing to compare with"
    if named:
        of_several = f"{named[0]} backends" if named[0] != ONLY else ONLY
        against = "against the numpy reference" if named[0] == NUMPY else f"against the {of_several}"
    return Table(
        heading=plain(f"{rows[0].example} ({', '.join(part for part in (against, rows[0].device, facts) if part)})"),
        columns=("backend", *(["channels"] if several else []), *shown, _FIRST, "verdict"),
        rows=tuple(_cells(row, several, shown, footnotes) for row in rows),
        text_columns=_TEXT_COLUMNS,
        footnotes=tuple(footnotes),
        remarks=_STEPS if "1 step" in shown else (),
    )


def _cells(row: Agreement, with_channels: bool, shown: Sequence[str], footnotes: list[str]) -> tuple[str, ...]:
    layer = MISSING
    if row.first is not None:
        layer = f"{row.first.layer} ({row.first.class_name}) {_shown(row.first)}"
    channels = [plain(row.image_data_format.removeprefix("channels_"))] if with_channels else []
    sizes = [_shown(row.deviations.get(what)) for what in shown]
    return (plain(row.backend), *channels, *sizes, plain(layer), _verdict(row, footnotes))


def _verdict(row: Agreement, footnotes: list[str]) -> str:
    notes = ["nothing to compare it with"] if row.verdict == ALONE else []
    notes += [row.reason] if row.reason else []
    return marked(row.verdict, [*notes, *_where(row), *row.notes], footnotes)


def _where(row: Agreement) -> list[str]:
    """Which layer deviates most, if beyond the tolerance, and which of its weights."""
    return [
        f"after {what} the largest deviation is in {_named(deviation)}{_weights(deviation)}"
        for what, deviation in row.deviations.items()
        if what in QUANTITIES[3:] and not deviation.size <= TOLERANCES[what] and deviation.layer
    ]


def _weights(deviation: Deviation) -> str:
    """What deviates by kinds of weight, and what that means if the optimizer has no part in it."""
    listed = [
        f"{name.replace('_', ' ')} by {f'{size:.2g} times its norm' if size >= 1 else f'{size:.0e}'}"
        for name, size in list(deviation.by_weight.items())[:MOST_WEIGHTS]
    ]
    meant = ""
    if deviation.trained is not None and deviation.trained.size <= HARDLY * deviation.size:
        meant = "; predictions differ at once, training hardly"
    return f": {', '.join(listed)}{meant}" if listed else meant


def _named(deviation: Deviation) -> str:
    """The layer with its class, or `the loss`."""
    return deviation.layer if " " in deviation.layer else f"{deviation.layer} ({deviation.class_name})"


def _shown(deviation: Deviation | None) -> str:
    if deviation is None:
        return MISSING
    return "0" if deviation.size == 0 else f"{deviation.size:.1e}"


def counted(verdicts: Mapping[str, int]) -> str:
    """The verdicts, with how many rows have each."""
    return "; ".join(f"{number} {word}" for word, number in verdicts.items()) or MISSING
