"""Examples and backends as one table of ratios to the fastest: the answer at a glance."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

from tabulate import tabulate

from kbench.analysis.times.overall import ranked
from kbench.analysis.times.shown_ratios import shown_ratio, sure_ratio, words
from kbench.records import axes
from kbench.records.values import NO_DIFFERENCE, NOT_COMPARED, UNSUPPORTED
from kbench.summary import Summary
from kbench.words.text import MISSING, plain

Paint = Callable[
    [str, float | None], str
]  # an entry and its ratio, None where it says nothing -> the entry in colour

_MARKS = {NO_DIFFERENCE: "~: no difference shown", NOT_COMPARED: "?: could not be compared"}


def unpainted(entry: str, ratio: float | None) -> str:
    """The entry as it is."""
    return entry


def text(rows: Sequence[Summary], width: int, paint: Paint = unpainted) -> str:
    """A line for each example, or where that is wider than `width`, for each backend; below, what its marks mean."""
    best: dict[tuple[str, str], Summary] = {}  # of several layouts the fastest
    place = _places(rows)
    for row in sorted(rows, key=lambda row: shown_ratio(row) or float("inf")):
        best.setdefault((place(row), row.backend), row)
    examples = list(dict.fromkeys(map(place, rows)))
    backends = ranked(rows)
    lines = _grid("example", examples, backends, best, paint)
    if _width(lines) > width:
        turned = {(backend, example): row for (example, backend), row in best.items()}
        lines = _grids(backends, examples, turned, paint, width)
    baseline = next((row.baseline for row in rows if row.baseline), "")
    what = f"Time, as a multiple of that of {plain(baseline)}" if baseline else "Times slower than the fastest"
    verdicts = {row.verdict for row in best.values()}
    meant = [meaning for verdict, meaning in _MARKS.items() if verdict in verdicts]
    meant += ["-: not supported"] if any(row.status == UNSUPPORTED for row in best.values()) else []
    return "\n".join([f"{what}:", lines, *([f"{'; '.join(meant)}."] if meant else [])])


def _places(rows: Sequence[Summary]) -> Callable[[Summary], str]:
    """What names the rows that are ranked together: `mnist_mlp (batch 32)`."""
    varying = [axis for axis in axes.varying(row.ranking for row in rows) if axis.name != axes.EXAMPLE]
    return lambda row: plain(axes.titled(row.example, {axis.name: row.ranking[axis.name] for axis in varying}))


def _grid(
    head: str, names: Sequence[str], columns: Sequence[str], rows: dict[tuple[str, str], Summary], paint: Paint
) -> str:
    titles = [_broken(plain(column)) for column in columns]
    heads = list(zip_longest([head], *titles, fillvalue=""))
    entries = [[plain(name), *(_entry(rows.get((name, column)), paint) for column in columns)] for name in names]
    table = [*heads, *entries]
    return tabulate(table, tablefmt="plain", colalign=["left", *["right"] * len(columns)], disable_numparse=True)


def _grids(
    names: Sequence[str], columns: Sequence[str], rows: dict[tuple[str, str], Summary], paint: Paint, width: int
) -> str:
    """One grid, or several one below the other where it would be wider."""
    lines = _grid("backend", names, columns, rows, paint)
    if _width(lines) <= width or len(columns) == 1:
        return lines
    half = (len(columns) + 1) // 2
    return "\n\n".join(_grids(names, some, rows, paint, width) for some in (columns[:half], columns[half:]))


def _entry(row: Summary | None, paint: Paint) -> str:
    if row is None:
        return MISSING
    return paint(MISSING if row.status == UNSUPPORTED else words(row), sure_ratio(row))


def _broken(name: str) -> list[str]:
    """A title on several lines: behind a slash or an underscore, and before a setting."""
    return re.split(r"(?<=[/_])|(?=[@+(])", name)


def _width(lines: str) -> int:
    return max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines.split("\n"))
