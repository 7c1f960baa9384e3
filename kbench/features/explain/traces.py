"""What --trace found: tables of the operations and functions that took most of some steps."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis.rows import Analysis
from kbench.features.explain.events import Busy, Traced
from kbench.features.explain.events import traced as of_trace
from kbench.features.explain.layers import looked_into
from kbench.records.values import Measured
from kbench.tables.content import Table
from kbench.words.text import plain, significant

MOST_SHOWN = 12


def tables(run: Analysis) -> list[Table]:
    """Two tables for each traced cell: its framework's operations, and Keras's functions."""
    return [table for one in looked_into(run) for table in _of_cell(one)]


def _of_cell(one: Measured) -> list[Table]:
    traced = of_trace(one.facts)
    if traced is None:
        return []
    where = f"{one.cell.example} on {one.cell.backend}"
    remarks = [f"{text}." for text in traced.missing]
    if traced.file:
        remarks.append(f"cells/{one.cell.id}/{traced.file} opens in Perfetto (ui.perfetto.dev).")
    found = [
        _table(f"{where}: operations", "operation", traced.operations, traced.steps, remarks),
        _table(f"{where}: functions of Keras", "function", traced.functions, traced.steps, _once(traced)),
    ]
    return [table for table in found if table.rows or table.remarks]


def _once(traced: Traced) -> list[str]:
    """What is said where a function that runs once in the traced fit is shown."""
    if all(one.calls >= traced.steps for one in traced.functions[:MOST_SHOWN]):
        return []
    return [f"The time of what runs once per fit is divided by its {traced.steps} steps."]


def _table(heading: str, what: str, busy: Sequence[Busy], steps: int, remarks: Sequence[str]) -> Table:
    rows = tuple(
        (plain(one.name), significant(1000 * one.seconds / steps), significant(one.calls / steps))
        for one in busy[:MOST_SHOWN]
    )
    return Table(
        heading=heading,
        columns=(what, "ms per step", "calls per step"),
        rows=rows,
        text_columns=frozenset({what}),
        remarks=tuple(plain(one) for one in remarks),
    )
