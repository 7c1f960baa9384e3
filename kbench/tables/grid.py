"""Plain lists of things, as a table, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tabulate import tabulate

from kbench.tables.json import as_json
from kbench.tables.markdown import escape
from kbench.wording import MISSING, no_formula


@dataclass(frozen=True)
class Grid:
    """Heads and rows of text; some columns wrap at a width."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    wrapped: Mapping[str, int] = field(default_factory=dict)


def printed(grids: Mapping[str, Grid], form: str) -> str:
    """The grids by name; a CSV holds one of them."""
    if form == "json":
        return as_json(
            {name: [dict(zip(one.heads, row, strict=True)) for row in one.rows] for name, one in grids.items()}
        )
    if form == "csv":
        (only,) = grids.values()
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(
            [only.heads, *([_cell(text) for text in row] for row in only.rows)]
        )
        return file.getvalue().rstrip()
    return "\n\n".join((_markdown if form == "markdown" else _text)(one) for one in grids.values())


def _cell(text: str) -> str:
    """Numbers, and the dash of an empty cell, stay as they are; other text is no formula."""
    try:
        float(text)
    except ValueError:
        return text if text == MISSING else no_formula(text)
    return text


def _text(one: Grid) -> str:
    widths = [one.wrapped.get(head) for head in one.heads]
    return tabulate(one.rows, headers=one.heads, maxcolwidths=widths if any(widths) else None)


def _markdown(one: Grid) -> str:
    rows = [[escape(entry) for entry in row] for row in one.rows]
    return tabulate(rows, headers=[escape(head) for head in one.heads], tablefmt="pipe", disable_numparse=True)
