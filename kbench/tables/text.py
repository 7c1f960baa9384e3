"""Tables for the terminal: at most 100 columns wide for backends and statuses of usual length."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from tabulate import tabulate

from kbench.tables.content import Table, tables
from kbench.values import Summary


def text(summaries: Iterable[Summary], width: int = 100) -> str:
    """All tables, one per example, a blank line between them; headings and footnotes wrap at `width`."""
    return "\n\n".join(table(one, width) for one in tables(summaries))


def table(table: Table, width: int) -> str:
    """One table."""
    body = tabulate(
        table.rows,
        headers=[_narrow(column) for column in table.columns],
        tablefmt="simple",
        colalign=["left" if column in table.text_columns else "right" for column in table.columns],
        disable_numparse=True,
    )
    below = [f"[{number}] {note}" for number, note in enumerate(table.footnotes, 1)]
    return "\n".join(
        [
            textwrap.fill(table.heading, width, subsequent_indent="  "),
            body,
            *(textwrap.fill(note, width, subsequent_indent="    ") for note in below),
            *(textwrap.fill(remark, width) for remark in table.remarks),
        ]
    )


def _narrow(column: str) -> str:
    """The column's title on several lines where it is wider than most of its numbers."""
    if len(column) <= 7:
        return column
    return column.replace(" ", "\n") if " " in column else column.replace("/", "\n/")
