"""A run beside published figures: the tables of `compare RUN published`, with links to their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from kbench.comparison.published import FigureBesideRow
from kbench.comparison.published_accuracy import PublishedAccuracy
from kbench.tables import accuracies, published
from kbench.tables.content import Table
from kbench.words.text import plain

Marks = list[tuple[None, str]]  # a row's swatch, which it has none of, and its class


def tables(found: Sequence[FigureBesideRow], addresses: Mapping[str, str]) -> list[tuple[str, str, Table, Marks]]:
    """For each example with published figures: its name, facts, table, and the marks of its rows."""
    shown = []
    for name, table in zip(dict.fromkeys(one.row.example for one in found), published.tables(found), strict=True):
        rows = tuple((*row, _linked(source, addresses)) for *row, source in table.rows)
        marks: Marks = [(None, "own" if row[-1] == published.OWN else "") for row in table.rows]
        shown.append((name, table.heading.removeprefix(name).strip(" ()"), replace(table, rows=rows), marks))
    return shown


def reached(found: Sequence[PublishedAccuracy]) -> list[tuple[str, str, Table, None]]:
    """The same of accuracies."""
    shown = []
    for one in found:
        table = accuracies.table(one)
        shown.append((one.example, table.heading.removeprefix(plain(one.example)).strip(" ()"), table, None))
    return shown


def _linked(text: str, addresses: Mapping[str, str]) -> str:
    """A source as a link if its address is known, then the marks of its notes."""
    source, blank, marks = text.partition(" [")
    if source not in addresses:
        return text
    link = Markup('<a href="{}" rel="noreferrer">{}</a>{}')
    return link.format(plain(addresses[source]), plain(source), blank + marks)
