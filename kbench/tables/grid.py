"""Plain lists of things, as a table, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tabulate import tabulate

from kbench.tables.json import as_json
from kbench.tables.markdown import escape
from kbench.text import MISSING, no_formula

_NARROWEST = 10  # columns of the terminal, of a column that is wrapped


@dataclass(frozen=True)
class Grid:
    """Heads and rows of text; some columns wrap at a width."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    wrapped: Mapping[str, int] = field(default_factory=dict)


def printed(grids: Mapping[str, Grid], form: str, width: int = 100) -> str:
    """The grids by name; a CSV holds one of them. Tables of text are as narrow as `width` where that can be."""
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
    return "\n\n".join(_markdown(one) if form == "markdown" else _text(one, width) for one in grids.values())


def _cell(text: str) -> str:
    """Numbers, and the dash of an empty cell, stay as they are; other text is no formula."""
    try:
        float(text)
    except ValueError:
        return text if text == MISSING else no_formula(text)
    return text


def _text(one: Grid, width: int) -> str:
    limits = dict(one.wrapped)
    text = _tabulated(one, limits)
    own = {head: max(map(len, column)) for head, *column in zip(one.heads, *one.rows, strict=True)}
    for head in list(own)[:1]:
        del own[head]  # a name is not broken
    while own and (excess := max(map(len, text.splitlines())) - width) > 0:
        widths = {head: min(wide, limits.get(head, wide)) for head, wide in own.items()}
        head = max(widths, key=lambda head: widths[head])
        if widths[head] <= _NARROWEST:
            break
        # Not all at once from one column: what is left of it should not be the narrowest.
        limits[head] = max(_NARROWEST, widths[head] - min(excess, 4))
        text = _tabulated(one, limits)
    return text


def _tabulated(one: Grid, limits: Mapping[str, int]) -> str:
    widths = [limits.get(head) for head in one.heads]
    return tabulate(one.rows, headers=one.heads, maxcolwidths=widths if limits else None)


def _markdown(one: Grid) -> str:
    rows = [[escape(entry) for entry in row] for row in one.rows]
    return tabulate(rows, headers=[escape(head) for head in one.heads], tablefmt="pipe", disable_numparse=True)
