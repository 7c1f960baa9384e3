"""Several kinds of machines in one table: which backend is fastest where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbench.analysis.times.shown_ratios import is_rough
from kbench.records import axes
from kbench.records.values import OK
from kbench.summary import Summary
from kbench.tables.content import Table, marks
from kbench.tables.csv import summary_csv
from kbench.words.text import MISSING, format_ratio, plain, significant

Rows = Mapping[str, Sequence[Summary]]  # by the kind of machine


def table(rows: Rows) -> Table:
    """A line for each row of the tables, and a column for each kind of machine."""
    everyone = _collected(rows)
    others = [axis for axis in axes.within_backends(row.key for row in everyone) if axis.name != axes.DEVICE]
    examples = list(dict.fromkeys(row.example for row in everyone))
    along = [axes.DEVICE, axes.MACHINE, *axes.common(row.key for row in everyone)]
    lines = axes.group_by_point(everyone, lambda row: row.key, along).items()
    shown = []
    for key, found in sorted(lines, key=lambda line: examples.index(line[1][0].example)):
        names = (found[0].example, found[0].backend, *(axes.value_shown(axis, key) for axis in others))
        on = {row.key[axes.MACHINE]: row for row in found}
        shown.append((*map(plain, names), *(_entry(on.get(machine)) for machine in rows)))
    return Table(
        heading="Kinds of machines: steady time, and x fastest on the same machine",
        columns=("example", "backend", *(axis.title for axis in others), *map(plain, rows)),
        rows=tuple(shown),
        text_columns=frozenset({"example", "backend", *(axis.title for axis in others if not axis.number)}),
        remarks=tuple(marks(row.verdict for row in everyone)),
    )


def machines_csv(rows: Rows) -> str:
    """The columns of summary.csv, and the kind of machine as the last one."""
    return summary_csv(_collected(rows))


def _collected(rows: Rows) -> list[Summary]:
    """The rows of all machines, each at its value on the axis of machines."""
    return [replace(row, point=row.key.changed(axes.MACHINE, name)) for name, found in rows.items() for row in found]


def _entry(row: Summary | None) -> str:
    """Such as `2.91 s (1.49)`."""
    if row is None:
        return MISSING
    if row.status != OK or row.epoch_seconds is None:
        return row.status
    ratio = row.relative_to_fastest
    shown = MISSING if ratio is None else format_ratio(ratio, row.verdict, is_rough(row))
    return f"{significant(row.epoch_seconds)} s ({shown})"
