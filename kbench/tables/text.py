"""Tables for the terminal: at most 100 columns wide for backends and statuses of usual length."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from tabulate import tabulate

from kbench.summary import Summary
from kbench.tables.answers import above_tables
from kbench.tables.content import Table, tables
from kbench.words.text import at_blanks

_NARROWEST = 6  # columns of the terminal, of a column that is wrapped, if its words are not longer
_MOST_LINES = 4  # of titles that could be narrower


def text(summaries: Iterable[Summary], width: int = 100, repeat_command: str = "", shown: Sequence[str] = ()) -> str:
    """All tables, one per example. Where one is wider than `width`, columns are left out, and named. `repeat_command`
    repeats what could not be compared.
    """
    summaries = list(summaries)
    above = [at_blanks(sentence, width) for sentence in above_tables(summaries)]
    return "\n\n".join(
        [*above, together(tables(summaries, repeat_command, shown, brief=True), width, "in summary.md")]
    )


def together(found: Iterable[Table], width: int, elsewhere: str) -> str:
    """Tables one below the other; `elsewhere` says where the columns are that do not fit."""
    parts = []
    left_out: dict[str, None] = {}  # as a set that keeps its order
    for one in found:
        body, without = _body(one, width)
        parts.append(_with_notes(one, body, width, without))
        left_out |= dict.fromkeys(without)
    if left_out:
        parts.append(at_blanks(f"Not shown for lack of width: {', '.join(left_out)} ({elsewhere}).", width))
    return "\n\n".join(parts)


def table(one: Table, width: int) -> str:
    """One table with its notes, as `text` shows it."""
    body, without = _body(one, width)
    return _with_notes(one, body, width, without)


def _body(table: Table, width: int) -> tuple[str, tuple[str, ...]]:
    """The grid, and the columns that did not fit; the most important ones stay."""
    without = table.optional
    for column in _less_important(table):
        if _width(_wrapped(table, without, width), without) <= width:
            break
        without = (*without, column)
    fits = _wrapped(table, without, width)
    for column in reversed(table.optional):
        others = tuple(other for other in without if other != column)
        if _width(fits, others) <= width:
            without = others
    lines = next((lines for lines in range(1, _MOST_LINES) if _width(fits, without, lines) <= width), 0)
    return _grid(fits, without, lines), without


def _less_important(table: Table) -> list[str]:
    """What is left out if all optional columns are not enough, from the right: numbers, except the first, then texts,
    except the outermost, such as the backend and its status.
    """
    numbers = [name for name in table.columns if name not in (*table.text_columns, *table.optional)]
    kept = ("verdict", *table.optional)
    texts = [name for name in table.columns[1:-1] if name in table.text_columns and name not in kept]
    return [*numbers[:0:-1], *reversed(texts)]


def _wrapped(table: Table, without: tuple[str, ...], width: int) -> Table:
    """The table with its text columns, except the first, wrapped at blanks to fit into `width`; the widest most."""
    longest = {
        position: max((len(row[position]) for row in table.rows), default=0)
        for position, column in enumerate(table.columns)
        if position and column in table.text_columns and column not in without
    }
    found = table
    while (excess := _width(found, without) - width) > 0 and max(longest.values(), default=0) > _NARROWEST:
        position = max(longest, key=lambda position: longest[position])
        longest[position] = max(_NARROWEST, longest[position] - min(excess, 4))
        rows = [
            tuple(at_blanks(entry, longest.get(position, 999)) for position, entry in enumerate(row))
            for row in table.rows
        ]
        found = replace(table, rows=tuple(rows))
    return found


def _cells(table: Table, without: tuple[str, ...], lines: int) -> tuple[list[tuple[str, ...]], list[list[str]]]:
    """The titles in as many `lines` at most, or as narrow as their words and the columns below; and the rows."""
    shown = [number for number, column in enumerate(table.columns) if column not in without]
    titles = [_title(table.columns[n], max((_length(row[n]) for row in table.rows), default=0), lines) for n in shown]
    return [*zip_longest(*titles, fillvalue="")], [[row[number] for number in shown] for row in table.rows]


def _width(table: Table, without: tuple[str, ...], lines: int = 0) -> int:
    """How wide `_grid` is, found sooner."""
    heads, rows = _cells(table, without, lines)
    return sum(2 + max(map(_length, column)) for column in zip(*heads, *rows, strict=True)) - 2


def _grid(table: Table, without: tuple[str, ...], lines: int) -> str:
    heads, rows = _cells(table, without, lines)
    # The heads are rows like the others: as headers, tabulate would make each column two blanks wider.
    rules = ["-" * max(map(_length, column)) for column in zip(*heads, *rows, strict=True)]
    align = ["left" if one in table.text_columns else "right" for one in table.columns if one not in without]
    return tabulate([*heads, rules, *rows], tablefmt="plain", colalign=align, disable_numparse=True)


def _title(column: str, width: int, lines: int) -> list[str]:
    """The title in lines of that width; wider if it otherwise has more than `lines`. % stays beside its number."""
    together = column.replace(" %", "\xa0%").replace("% of", "%\xa0of")
    found = at_blanks(together, max(1, width)).split("\n")
    while lines and len(found) > lines:
        width += 1
        found = at_blanks(together, width).split("\n")
    return found


def _length(lines: str) -> int:
    return max(map(len, lines.split("\n")))


def _with_notes(table: Table, body: str, width: int, without: Collection[str]) -> str:
    """The whole table. `without`: columns that it does not show, so nothing explains them."""
    heading = [at_blanks(table.heading, width, "  ")] if table.heading else []
    heading += [at_blanks(table.answer, width)] if table.answer else []
    below = [at_blanks(note, width, "    ") for note in table.numbered]
    remarks = [at_blanks(remark, width) for remark in table.without(without)]
    return "\n".join([*heading, body, *below, *remarks])
