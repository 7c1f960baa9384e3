"""The user's choice of columns and order: by the names of summary.csv, or by the headings of the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class ColumnChoice:
    """Which columns are shown, by the names of summary.csv, and by which one rows are sorted."""

    columns: tuple[str, ...] = ()  # empty: the usual ones
    sort: str = ""
    descending: bool = False


ALL = ColumnChoice()


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


def shown(columns: Sequence[str], sort: str) -> ColumnChoice:
    """The choice in the user's words; with `-` before the one to sort by, the largest is first. Raises UserError."""
    descending = sort.startswith("-")
    by = _named(sort.removeprefix("-"), "--sort") if sort else ""
    return ColumnChoice(tuple(dict.fromkeys(_named(one, "--columns") for one in columns)), by, descending)


def in_order(rows: Sequence[Summary], shown: ColumnChoice) -> list[Summary]:
    """The rows of each example and task sorted; those without a value stay behind."""
    if not shown.sort:
        return list(rows)
    values = summary_columns(rows)[shown.sort]
    tables: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        tables.setdefault(row.title, []).append(number)

    def is_missing(number: int) -> bool:
        value = values[number]
        return value is None or value == "" or (isinstance(value, float) and math.isnan(value))

    found: list[int] = []
    for numbers in tables.values():
        known = [number for number in numbers if not is_missing(number)]
        found += sorted(known, key=lambda number: values[number], reverse=shown.descending)
        found += filter(is_missing, numbers)
    return [rows[number] for number in found]


def chosen(
    usual: Mapping[str, Callable[[Summary], str]], rows: Sequence[Summary], shown: ColumnChoice
) -> dict[str, Callable[[Summary], str]]:
    """The columns of a table: those of the `usual` ones that are wanted, and others of summary.csv."""
    if not shown.columns:
        return dict(usual)
    found: dict[str, Callable[[Summary], str]] = {}
    values, named = summary_columns(rows, shown.columns), of_headings()
    for name in shown.columns:
        headings = [heading for heading in usual if named.get(heading, heading) == name]
        found |= {heading: usual[heading] for heading in headings}
        if not headings and name != "example":  # which the heading of the table has
            found[name] = _cell(rows, values[name])
    return found


def texts(rows: Sequence[Summary], shown: ColumnChoice) -> set[str]:
    """Those of the wanted columns that have text."""
    found = summary_columns(rows, shown.columns) if shown.columns else {}
    return {name for name, values in found.items() if any(isinstance(value, str) for value in values)}


def _cell(rows: Sequence[Summary], values: Sequence[Any]) -> Callable[[Summary], str]:
    of_row = {id(row): value for row, value in zip(rows, values, strict=True)}

    def cell(row: Summary) -> str:
        value = of_row[id(row)]
        if isinstance(value, float):
            return significant(value, 4)
        return plain(str(value)) if value not in (None, "") else MISSING

    return cell


def _named(text: str, option: str) -> str:
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
    raise UserError(f"{option}: there is no column {text[:50]!r}: {hint}")
