"""The tables of `compare RUN published` for a page: with links to their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from kbench.features.published import figure_tables
from kbench.features.published.figures import FigureBesideRow
from kbench.tables.content import Table
from kbench.words.text import plain


def tables(found: Sequence[FigureBesideRow], addresses: Mapping[str, str]) -> list[Table]:
    """One for each example with published figures."""
    return [
        replace(table, rows=tuple((*row, _linked(source, addresses)) for *row, source in table.rows))
        for table in figure_tables.tables(found)
    ]


def _linked(text: str, addresses: Mapping[str, str]) -> str:
    """A source as a link if its address is known, then the marks of its notes."""
    source, blank, marks = text.partition(" [")
    if source not in addresses:
        return text
    link = Markup('<a href="{}" rel="noreferrer">{}</a>{}')
    return link.format(plain(addresses[source]), plain(source), blank + marks)
