"""Tables for summary.md and for pasting: Markdown in which nothing from a result acts as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from kbench.summary import Summary
from kbench.tables.content import Table, tables
from kbench.words.text import plain

# An underscore within a word, as in mnist_cnn, is no markup.
_MARKUP = re.compile(r"[\\`*~$\[\]|&<>]|(?<![^\W_])_|_(?![^\W_])")
# Starts of lines that Markdown takes for a heading, list or rule; a dash alone is an empty cell.
_LINE = re.compile(r"^(?:[#+-]+(?=\s)|(?=[-=]{2,}$)|\d+(?=[.)]\s))")


def markdown(summaries: Iterable[Summary], repeat_command: str = "", shown: Sequence[str] = ()) -> str:
    """All tables as Markdown, one per example, each under its heading in bold. `repeat_command` as in `tables`."""
    return together(tables(summaries, repeat_command, shown))


def together(found: Iterable[Table]) -> str:
    """Tables as Markdown, each under its heading in bold."""
    return "\n\n".join(f"**{escape(table.heading)}**\n\n{body(table)}" for table in found)


def body(table: Table) -> str:
    """The table without its heading: its answer, a pipe table, its footnotes and remarks."""
    grid = tabulate(
        [[escape(cell) for cell in row] for row in table.rows],
        headers=[escape(column) for column in table.columns],
        tablefmt="pipe",
        colalign=["left" if column in table.text_columns else "right" for column in table.columns],
        disable_numparse=True,
    )
    below = "  \n".join(map(escape, [*table.numbered, *table.remarks]))  # two blanks: a line break in Markdown
    return "\n\n".join(part for part in (escape(table.answer), grid, below) if part)


def escape(text: str) -> str:
    """`text` as Markdown that shows just that: | ends no cell, and < begins no HTML."""
    entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    shown = _MARKUP.sub(lambda found: entities.get(found[0], f"\\{found[0]}"), plain(text))
    # A number is escaped after its digits, since a backslash before one would be shown.
    return _LINE.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", shown)


def code(text: str) -> str:
    """`text` as inline code, in a fence longer than any in it: a code span has no escapes."""
    line = plain(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"
