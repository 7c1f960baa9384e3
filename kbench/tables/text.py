"""Tables for the terminal: at most 100 columns wide for backends and statuses of usual length."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest

from tabulate import tabulate

from kbench.tables.content import Table, tables
from kbench.values import Summary

_NARROWEST = 13  # columns of the terminal, of a column that is wrapped


def text(summaries: Iterable[Summary], width: int = 100) -> str:
    """All tables, one per example. Where one is wider than `width`, optional columns are left out, and named."""
    return together(tables(summaries), width, "in summary.md")


def together(found: Iterable[Table], width: int, elsewhere: str) -> str:
    """Tables one below the other; `elsewhere` says where the columns are that do not fit."""
    parts = []
    left_out: dict[str, None] = {}  # as a set that keeps its order
    for one in found:
        body, without = _body(one, width)
        parts.append(_with_notes(one, body, width))
        left_out |= dict.fromkeys(without)
    if left_out:
        parts.append(textwrap.fill(f"Left out here for width, and {elsewhere}: {', '.join(left_out)}.", width))
    return "\n\n".join(parts)


def table(one: Table, width: int) -> str:
    """One table with its notes, as `text` shows it."""
    return _with_notes(one, _body(one, width)[0], width)


def _body(table: Table, width: int) -> tuple[str, tuple[str, ...]]:
    """The grid, and the optional columns that did not fit; the most important ones stay."""
    without = table.optional
    grid = _grid(table, without)
    if _length(grid) > width:
        return _grid(_wrapped(table, without, width), without), without
    for column in reversed(table.optional):
        others = tuple(other for other in without if other != column)
        wider = _grid(table, others)
        if _length(wider) <= width:
            grid, without = wider, others
    return grid, without


def _wrapped(table: Table, without: tuple[str, ...], width: int) -> Table:
    """The table with its text columns wrapped, except the first, the widest ones most, to fit into `width`."""
    longest = {
        place: max((len(row[place]) for row in table.rows), default=0)
        for place, column in enumerate(table.columns)
        if place and column in table.text_columns and column not in without
    }
    found = table
    while (excess := _length(_grid(found, without)) - width) > 0 and max(longest.values(), default=0) > _NARROWEST:
        place = max(longest, key=lambda place: longest[place])
        longest[place] = max(_NARROWEST, longest[place] - min(excess, 4))
        rows = [
            tuple("\n".join(textwrap.wrap(entry, longest.get(place, 999))) for place, entry in enumerate(row))
            for row in table.rows
        ]
        found = replace(table, rows=tuple(rows))
    return found


def _grid(table: Table, without: tuple[str, ...]) -> str:
    shown = [(place, column) for place, column in enumerate(table.columns) if column not in without]
    rows = [[row[place] for place, _ in shown] for row in table.rows]
    titles = [
        column
        if column in table.text_columns and any(len(column) <= _length(row[place]) for row in table.rows)
        else _narrow(column)
        for place, column in shown
    ]
    # The heads are rows like the others: as headers, tabulate would make each column two blanks wider.
    heads = list(zip_longest(*(title.split("\n") for title in titles), fillvalue=""))
    rules = ["-" * max(map(_length, column)) for column in zip(*heads, *rows, strict=True)]
    return tabulate(
        [*heads, rules, *rows],
        tablefmt="plain",
        colalign=["left" if column in table.text_columns else "right" for _, column in shown],
        disable_numparse=True,
    )


def _length(lines: str) -> int:
    return max(map(len, lines.split("\n")))


def _with_notes(table: Table, body: str, width: int) -> str:
    heading = [textwrap.fill(table.heading, width, subsequent_indent="  ")] if table.heading else []
    heading += [textwrap.fill(table.answer, width)] if table.answer else []
    below = [textwrap.fill(note, width, subsequent_indent="    ") for note in table.numbered]
    return "\n".join([*heading, body, *below, *(textwrap.fill(remark, width) for remark in table.remarks)])


def _narrow(column: str) -> str:
    """The column's title on several lines where it is wider than most of its numbers."""
    if len(column) <= 7:
        return column
    if column == "val. accuracy":
        return "val.\nacc."
    if column == "% of limit":
        return "% of\nlimit"
    return re.sub(" (?!%)", "\n", column) if " " in column else column.replace("/", "\n/")
