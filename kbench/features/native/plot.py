"""What Keras costs: the ratio of each row of Keras to its framework without Keras, with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from kbench.features.native import comparison
from kbench.plots.styles import OWN, Key, RowStyle, Style, key, literal, points, render
from kbench.summary import Summary

_REACH = 3.0  # times the outermost ratios: longer intervals are cut, so that the points stay apart


def keras_cost(summaries: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style = OWN) -> dict[str, bytes]:
    """The plot as {"png": ..., "svg": ...}; empty if no framework was measured with and without Keras."""
    rows = [row for row in summaries if comparison.ratio(row) is not None]
    return render(lambda: _figure(rows, styles, style), style) if rows else {}


def _figure(rows: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style) -> Figure:
    figure = Figure(figsize=style.fit(6.5, 1.2 + 0.28 * len(rows)), layout="constrained")
    axes = figure.subplots()
    reached = [1.0]
    for position, row in enumerate(rows):
        how, ratio, interval = styles[key(row)], comparison.ratio(row) or 1.0, comparison.interval(row)
        if interval:
            axes.plot([interval.low, interval.high], [position, position], color=how.color, solid_capstyle="butt")
        axes.plot([ratio], [position], marker=how.marker, color=how.color, linestyle="none")
        reached += [ratio, *([interval.low, interval.high] if interval else [])]
    axes.axvline(1.0, color="#222222", linewidth=0.8)
    axes.set_xscale("log")
    ratios = [1.0, *(comparison.ratio(row) or 1.0 for row in rows)]
    least, most = max(min(reached), min(ratios) / _REACH), min(max(reached), max(ratios) * _REACH)
    axes.set_xlim(least / 1.1, most * 1.1)
    axes.set_xticks(_ticks(least / 1.1, most * 1.1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    labels = [literal(f"{row.title}: {styles[key(row)].label}", 60) for row in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=points(8))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_title("What Keras costs")
    what = ", 95 % interval" if any(comparison.interval(row) for row in rows) else ""
    axes.set_xlabel(f"steady epoch time, x the same framework without Keras{what}")
    return figure


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within the axis, more of them where it is short."""
    wide = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    fine = [*np.round(np.arange(0.5, 2.05, 0.1), 1).tolist(), *wide]
    return sorted({one for one in (fine if high / low < 3 else wide) if low <= one <= high})
