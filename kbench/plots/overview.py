"""All examples and backends in one plot: times the fastest, or times the baseline, as a heat map with numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm
from matplotlib.figure import Figure

from kbench.analysis.times.overall import ranked
from kbench.analysis.times.shown_ratios import open_rankings, shown_ratio, sure_ratio, words
from kbench.plots.styles import (
    OWN,
    Key,
    RowStyle,
    Style,
    headed,
    key,
    literal,
    luminance,
    place_labels,
    points,
    render,
)
from kbench.records.values import NO_DIFFERENCE, NOT_COMPARED
from kbench.summary import Summary
from kbench.words.text import plain

_COLORS = "YlOrBr"  # light for the fastest; stays in order in grey print
_BOTH_SIDES = "PuOr_r"  # for a baseline: violet is faster, orange slower, white equal
_WIDEST = 4.0  # the smallest ratio with the darkest colour, so that small differences look small
# Below this relative luminance white text has the better contrast (WCAG 2: equal at about 0.18).
_DARK = 0.18
_MARKS = {NO_DIFFERENCE: "~: no difference shown", NOT_COMPARED: "?: could not be compared"}


def overview(
    kinds: Mapping[str, Sequence[Summary]], styles: Mapping[Key, RowStyle], style: Style = OWN
) -> dict[str, bytes]:
    """The plot as {"png": ..., "svg": ...}, kinds of machines one below the other; empty if no row is timed."""
    timed = {name: rows for name, rows in kinds.items() if any(shown_ratio(row) is not None for row in rows)}
    return render(lambda: _figure(timed, styles, style), style) if timed else {}


def _figure(kinds: Mapping[str, Sequence[Summary]], styles: Mapping[Key, RowStyle], style: Style = OWN) -> Figure:
    """A heat map for each kind; the titles of several are their names."""
    everyone = [row for rows in kinds.values() for row in rows]
    fastest_first = ranked(everyone)
    columns = sorted({styles[key(row)].column for row in everyone})
    columns.sort(key={styles[key(row)].column: fastest_first.index(row.backend) for row in everyone}.__getitem__)
    examples = {name: list(dict.fromkeys(map(place_labels(rows), rows))) for name, rows in kinds.items()}
    heights = [len(found) for found in examples.values()]
    baseline = next((row.baseline for row in everyone if row.baseline), "")
    norm, colors = scale([ratio for row in everyone if (ratio := sure_ratio(row)) is not None], bool(baseline))
    size = style.fit(2.2 + 0.82 * len(columns), 0.7 + 0.8 * len(kinds) + 0.4 * sum(heights))
    figure = Figure(figsize=size, layout="constrained")
    all_axes = figure.subplots(len(kinds), squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, rows) in zip(all_axes, kinds.items(), strict=True):
        place = place_labels(rows)
        cells = {(place(row), styles[key(row)].column): row for row in rows}
        _heat_map(axes, cells, examples[name], columns, norm, colors)
        if len(kinds) > 1:
            axes.set_title(literal(name, 80), fontsize=points(9), loc="left")
    title = f"steady epoch time, x {literal(baseline, 40) if baseline else 'fastest'}"
    marks = "; ".join(mark for verdict, mark in _MARKS.items() if any(row.verdict == verdict for row in everyone))
    figure.suptitle(headed(f"{title} ({marks})" if marks else title, style), fontsize=points(10))
    return figure


def _heat_map(
    axes: Axes,
    cells: Mapping[tuple[str, str], Summary],
    examples: Sequence[str],
    columns: Sequence[str],
    norm: LogNorm,
    colors: Colormap,
) -> None:
    """Draw the rows, which are given by example and label."""
    grid = np.full((len(examples), len(columns)), math.nan)
    for (example, column), row in cells.items():
        if (ratio := sure_ratio(row)) is not None:
            grid[examples.index(example), columns.index(column)] = ratio
    axes.grid(visible=False)
    axes.set_facecolor("#eeeeee")
    not_shown = open_rankings(cells.values())
    # Drawn as shapes and not as an image, so that print and SVG stay sharp.
    axes.pcolormesh(np.ma.masked_invalid(grid), cmap=colors, norm=norm, edgecolors="white", linewidth=1.5)
    for (example, column), row in cells.items():
        ratio = sure_ratio(row)
        axes.text(
            columns.index(column) + 0.5,
            examples.index(example) + 0.5,
            words(row),
            ha="center",
            va="center",
            fontsize=points(8.5 if shown_ratio(row) is not None else 7),
            fontweight="bold" if ratio == 1.0 and row.ranking not in not_shown else "normal",
            color="white" if ratio is not None and luminance(colors(norm(ratio))) < _DARK else "#222222",
        )
    axes.set_xticks(np.arange(len(columns)) + 0.5, [_broken(column) for column in columns], fontsize=points(8))
    axes.set_yticks(np.arange(len(examples)) + 0.5, [literal(example, 40) for example in examples])
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)


def scale(ratios: Sequence[float], both_sides: bool) -> tuple[LogNorm, Colormap]:
    """Colours from 1 up for ratios to the fastest; symmetric around 1 for a baseline."""
    known = [ratio for ratio in ratios if 0 < ratio < math.inf]
    widest = max([_WIDEST, *known, *(1 / ratio for ratio in known if both_sides)])
    norm = LogNorm(1 / widest if both_sides else 1.0, widest, clip=True)
    return norm, colormaps[_BOTH_SIDES if both_sides else _COLORS]


def _broken(label: str) -> str:
    """The label on several lines, to fit into a column."""
    parts = re.split(r"(?<=/)|(?=[@+])|\s+", plain(label))  # a variant's version and settings, too
    lines = [line for part in parts for line in (re.split("(?==)", part) if len(part) > 13 else [part]) if line]
    return "\n".join(literal(line, 15) for line in lines)
