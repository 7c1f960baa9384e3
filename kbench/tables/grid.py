"""Plain lists of things, as a table, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbench.tables import markdown, text
from kbench.tables.content import Table
from kbench.words.text import MISSING, as_json, no_formula


@dataclass(frozen=True)
class Grid:
    """Heads and rows of text."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def printed(grids: Mapping[str, Grid], form: str, width: int = 100) -> str:
    """The grids by name; a CSV holds one of them. Tables of text are as narrow as `width` where that can be."""
    if form == "json":
        return as_json(
            {name: [dict(zip(one.heads, row, strict=True)) for row in one.rows] for name, one in grids.items()}
        )
    if form == "csv":
        (only,) = grids.values()
        file = io.StringIO()
        rows = [[entry if _is_number(entry) else no_formula(entry) for entry in row] for row in only.rows]
        csv.writer(file, lineterminator="\n").writerows([only.heads, *rows])
        return file.getvalue().rstrip()
    tables = [_table(one) for one in grids.values()]
    return "\n\n".join(markdown.body(one) if form == "markdown" else text.table(one, width) for one in tables)


def _table(one: Grid) -> Table:
    of_numbers = {head for head, *column in zip(one.heads, *one.rows, strict=True) if all(map(_is_number, column))}
    return Table("", tuple(one.heads), tuple(map(tuple, one.rows)), frozenset(one.heads) - of_numbers)


def _is_number(entry: str) -> bool:
    """Or the dash of an empty cell."""
    try:
        float(entry.replace(",", ""))
    except ValueError:
        return entry == MISSING
    return True
