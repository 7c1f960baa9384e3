"""Samples/s, milliseconds per step and peak memory against batch size, threads or samples: a line per backend."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kbench.comparison.scaling import Line, LinePoint, Lines
from kbench.plots.styles import (
    OWN,
    Key,
    RowStyle,
    Style,
    key,
    legend,
    legend_columns,
    line_of,
    literal,
    marker_of,
    render,
    titled,
)
from kbench.records import axes as axes_of
from kbench.records.values import Interval
from kbench.summary import Summary

_WIDTH, _HEIGHT = 4.0, 3.0  # inches, of a panel
_FEW = 8.0  # the ratio of largest to smallest value up to which ticks are evenly spaced
_IDEAL_COLOR = "#999999"


def scaling(lines: Lines, styles: Mapping[Key, RowStyle], style: Style = OWN) -> dict[str, bytes]:
    """The plot of one example along an axis as {"png": ..., "svg": ...}."""
    return render(lambda: _figure(lines, styles, style), style)


def ideal_label(lines: Lines) -> str:
    """What the grey line is."""
    return "linear scaling" if lines.axis.speeds_up else "no change"


def line_styles(lines: Lines, styles: Mapping[Key, RowStyle]) -> list[RowStyle]:
    """The style of each line: its backend's, with what else the lines differ in, and a marker of its own."""
    found: list[RowStyle] = []
    first = [styles[key(line.points[0].row)] for line in lines.lines]
    columns = list(dict.fromkeys(row_style.column for row_style in first))
    for line, row_style in zip(lines.lines, first, strict=True):
        others = [axes_of.shown(axis, line.key[axis.name]) for axis in lines.others]
        changes: dict[str, Any] = {"label": " ".join([row_style.column, *others])}
        if others:
            number = sum(one.column == row_style.column for one in found)
            marker, filled = marker_of(columns.index(row_style.column), number, len(columns))
            changes |= {"marker": marker, "filled": filled}
        found.append(dataclasses.replace(row_style, **changes))
    return found


def _figure(lines: Lines, styles: Mapping[Key, RowStyle], style: Style = OWN) -> Figure:
    panels = [one for one in _PANELS if any(_PANELS[one](point.row) for line in lines.lines for point in line.points)]
    shown = line_styles(lines, styles)
    labels = [*(literal(row_style.label) for row_style in shown), ideal_label(lines)]
    width, _ = style.fit(_WIDTH * max(2, len(panels)))
    columns = legend_columns(labels, width)
    size = style.fit(_WIDTH * max(2, len(panels)), _HEIGHT + 0.4 + 0.2 * math.ceil(len(labels) / columns))
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(titled(lines.title, lines.lines[0].points[0].row.example, style), fontsize="medium")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set(xscale="log", yscale="log", xlabel=lines.axis.title, ylabel=panel)
        if panel == _THROUGHPUT:
            axes.plot(*zip(*lines.ideal, strict=True), color=_IDEAL_COLOR, linewidth=0.8, zorder=1)
        for line, row_style in zip(lines.lines, shown, strict=True):
            _draw(axes, line, row_style, panel)
        if panel == _THROUGHPUT:
            if lines.ends:
                axes.set_ylim(*lines.ends)
            if any(point.interval for line in lines.lines for point in line.points):
                axes.set_ylabel(f"{panel}, 95 % interval")
        _mark(axes, sorted({point.at for line in lines.lines for point in line.points}), width / len(panels))
    handles = [Line2D([], [], label=literal(row_style.label), **line_of(row_style)) for row_style in shown]
    ideal = Line2D([], [], label=ideal_label(lines), color=_IDEAL_COLOR, linewidth=0.8)
    legend(figure, [*handles, ideal], width)
    return figure


_THROUGHPUT = "samples/s"
_PANELS: Mapping[str, Callable[[Summary], float | None]] = {
    _THROUGHPUT: lambda row: row.samples_per_second,
    "ms per step": lambda row: None if row.step_seconds_median is None else 1000 * row.step_seconds_median,
    "peak memory (MiB)": lambda row: row.memory_mib,
}


def _draw(axes: Axes, line: Line, row_style: RowStyle, panel: str) -> None:
    found = [(point, value) for point in line.points if (value := _PANELS[panel](point.row))]
    if not found:
        return
    at = [point.at for point, _ in found]
    if panel == _THROUGHPUT:
        ends = [_ends(point) for point, _ in found]
        errors = [
            [point.throughput - end.low for (point, _), end in zip(found, ends, strict=True)],
            [end.high - point.throughput for (point, _), end in zip(found, ends, strict=True)],
        ]
        axes.errorbar(
            at,
            [point.throughput for point, _ in found],
            errors,
            fmt="none",
            ecolor=row_style.color,
            elinewidth=1.0,
            capsize=2.4,
            capthick=1.0,
        )
    axes.plot(at, [value for _, value in found], **line_of(row_style))


def _ends(point: LinePoint) -> Interval:
    return point.interval or Interval(point.throughput, point.throughput)


def _mark(axes: Axes, values: Sequence[int], width: float) -> None:
    """Ticks at the measured values, as many as fit; and on the y axis 5 evenly spaced ones, or 1, 2, 5, 10, ..."""
    longest = max(len(f"{value:,}") for value in values)
    apart = math.log(max(2, values[-1] / values[0])) * (0.09 * longest + 0.08) / (0.75 * width)
    kept = [values[0]]
    for value in values[1:]:
        if math.log(value / kept[-1]) >= apart:
            kept.append(value)
    axes.set_xticks(kept, [f"{value:,}" for value in kept])
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0)) if high / low > _FEW else MaxNLocator(5, steps=[1, 2, 5, 10])
    )
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
