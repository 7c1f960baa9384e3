"""The user's choice of columns: by the names of summary.csv, or by the headings of the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kbench.errors import UserError
from kbench.records import axes
from kbench.summary import Summary, figures
from kbench.tables.csv import summary_columns
from kbench.words.text import MISSING, meant, plain, significant

# What else people call a column.
_CALLED = {
    **dict.fromkeys(("time", "seconds/epoch", "epoch time", "duration"), "s/epoch"),
    **dict.fromkeys(("speed", "throughput"), "samples/s"),
    **dict.fromkeys(("memory", "ram"), "memory (MiB)"),
    **dict.fromkeys(("ratio", "relative", "speedup"), "times slower"),
}


def of_headings() -> dict[str, str]:
    """The column of summary.csv for each heading of a table."""
    return {
        **{heading: one.column or "" for one in figures().values() for heading in one.headings},
        "import (s)": "import_seconds",
        **{axis.title: axis.name for axis in axes.numbers()},
    }


def names() -> list[str]:
    """The columns of summary.csv."""
    return list(summary_columns([]))


def named(texts: Sequence[str]) -> tuple[str, ...]:
    """The columns of summary.csv that --columns names, each once. Raises UserError."""
    return tuple(dict.fromkeys(map(_named, texts)))


def chosen(
    usual: Mapping[str, Callable[[Summary], str]], rows: Sequence[Summary], shown: Sequence[str]
) -> dict[str, Callable[[Summary], str]]:
    """The columns of a table: those of the `usual` ones that are wanted, and others of summary.csv."""
    if not shown:
        return dict(usual)
    found: dict[str, Callable[[Summary], str]] = {}
    values, named = summary_columns(rows, shown), of_headings()
    for name in shown:
        headings = [heading for heading in usual if named.get(heading, heading) == name]
        found |= {heading: usual[heading] for heading in headings}
        if not headings and name != "example":  # which the heading of the table has
            found[name] = _cell(rows, values[name])
    return found


def texts(rows: Sequence[Summary], shown: Sequence[str]) -> set[str]:
    """Those of the wanted columns that have text."""
    found = summary_columns(rows, shown) if shown else {}
    return {name for name, values in found.items() if any(isinstance(value, str) for value in values)}


def _cell(rows: Sequence[Summary], values: Sequence[Any]) -> Callable[[Summary], str]:
    of_row = {id(row): value for row, value in zip(rows, values, strict=True)}

    def cell(row: Summary) -> str:
        value = of_row[id(row)]
        if isinstance(value, float):
            return significant(value, 4)
        return plain(str(value)) if value not in (None, "") else MISSING

    return cell


def _named(text: str) -> str:
    known, titles = names(), of_headings()
    headings = {heading.lower(): name for heading, name in titles.items()}
    wanted = text.strip().lower()
    if wanted in known:
        return wanted
    if wanted in headings:
        return headings[wanted]
    usual = ["backend", *titles, "verdict", "status"]
    often = ["backend", "s/epoch", "times slower", "verdict", "loss", "val. accuracy", "memory (MiB)", "status"]
    near = (
        _CALLED.get(wanted) or "" if wanted in ("all", *_CALLED) else meant(wanted, [*usual, *known])
    )  # which is like another
    hint = f"did you mean {near}?" if near else f"choose from {', '.join(often)}, or any column of summary.csv."
    raise UserError(f"--columns: there is no column {text[:50]!r}: {hint}")
