"""Several kinds of machines in one table: which backend is fastest where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbench import axes
from kbench.axes import Point
from kbench.summary import Summary
from kbench.tables.content import Table, marks
from kbench.tables.csv import csv_text, summary_columns
from kbench.text import MISSING, format_ratio, plain, significant
from kbench.values import OK

Rows = Mapping[str, Sequence[Summary]]  # by the kind of machine


def table(rows: Rows) -> Table:
    """A line for each row of the tables, and a column for each kind of machine."""
    lines: dict[tuple[tuple[str, ...], Point], dict[str, Summary]] = {}
    everyone = [row for found in rows.values() for row in found]
    others = [axis for axis in axes.within_backends(row.key for row in everyone) if axis.name != axes.DEVICE]
    for machine, found in rows.items():
        for row in found:
            key = row.key.without([axes.DEVICE])
            names = (row.example, row.backend, *(axes.value_shown(axis, key) for axis in others))
            lines.setdefault((names, key), {})[machine] = row
    examples = list(dict.fromkeys(row.example for row in everyone))
    return Table(
        heading="Kinds of machines: steady time, and x fastest on the same machine",
        columns=("example", "backend", *(axis.title for axis in others), *map(plain, rows)),
        rows=tuple(
            (*map(plain, names), *(_entry(found.get(machine)) for machine in rows))
            for (names, _), found in sorted(lines.items(), key=lambda line: examples.index(line[0][0][0]))
        ),
        text_columns=frozenset({"example", "backend", *(axis.title for axis in others if not axis.number)}),
        remarks=tuple(marks(row.verdict for row in everyone)),
    )


def _entry(row: Summary | None) -> str:
    """Such as `2.91 s (1.49)`."""
    if row is None:
        return MISSING
    if row.status != OK or row.epoch_seconds is None:
        return row.status
    ratio = row.relative_to_fastest
    return f"{significant(row.epoch_seconds)} s ({MISSING if ratio is None else format_ratio(ratio, row.verdict)})"


def machines_csv(rows: Rows) -> str:
    """The columns of summary.csv, and the kind of machine as the last one."""
    everyone = [row for found in rows.values() for row in found]
    kinds = [machine for machine, found in rows.items() for _ in found]
    return csv_text({**summary_columns(everyone), "machine": kinds})
