"""A run beside what others published: the tables of `compare RUN published`, with links to their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kbench.comparison.published import Held
from kbench.tables import published

_SOURCE = -1  # the column


def tables(found: Sequence[Held], addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """One for each example that has a figure in print, as the page's template takes them."""
    own = published.OWN
    return [
        {
            "name": name,
            "facts": table.heading.removeprefix(name).strip(" ()"),
            "columns": [(column, column not in table.text_columns) for column in table.columns],
            "rows": [(row[:_SOURCE], row[_SOURCE] == own, *_linked(row[_SOURCE], addresses)) for row in table.rows],
            "footnotes": table.footnotes,
            "remarks": table.remarks,
        }
        for name, table in zip(dict.fromkeys(one.row.example for one in found), published.tables(found), strict=True)
    ]


def _linked(text: str, addresses: Mapping[str, str]) -> tuple[str, str, str]:
    """A source, where it is found, and the marks of its notes; the address is empty where none is known."""
    source, _, marks = text.partition(" [")
    return (source, addresses.get(source, ""), f"[{marks}") if marks else (text, addresses.get(text, ""), "")
