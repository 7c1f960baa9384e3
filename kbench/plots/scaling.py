"""Throughput against batch size, threads or number of samples: a line per backend, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from kbench.comparison.scaling import BATCH_SIZE, SAMPLES, THREADS, Lines
from kbench.plots.look import OWN, Key, Look, Style, key, legend, legend_columns, line_of, literal, render
from kbench.values import Interval

AXES = {
    THREADS: "CPU threads",
    BATCH_SIZE: "batch size (samples per step)",
    SAMPLES: "samples per epoch",
}
_WIDTH = 6.5  # inches
_FEW = 8.0  # the ratio of largest to smallest value up to which ticks are evenly spaced
_IDEAL_COLOR = "#999999"


def scaling(lines: Lines, looks: Mapping[Key, Look], style: Style = OWN) -> dict[str, bytes]:
    """The picture of one example as {"png": ..., "svg": ...}."""
    return render(lambda: _figure(lines, looks, style), style)


def ideal_label(lines: Lines) -> str:
    """What the grey line is."""
    return "linear scaling" if lines.grows else "no change"


def _figure(lines: Lines, looks: Mapping[Key, Look], style: Style = OWN) -> Figure:
    shown = [looks[key(points[0].row)] for points in lines.rows]
    labels = [*(literal(look.label) for look in shown), ideal_label(lines)]
    width = style.size[0] if style.size else _WIDTH
    columns = legend_columns(labels, width)
    size = style.size or (_WIDTH, 3.4 + 0.2 * math.ceil(len(labels) / columns))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlabel=AXES[lines.variable], title=literal(lines.example))
    (ideal,) = axes.plot(*zip(*lines.ideal, strict=True), color=_IDEAL_COLOR, linewidth=0.8, zorder=1)
    handles = []
    for points, look in zip(lines.rows, shown, strict=True):
        at, throughput = [point.at for point in points], [point.throughput for point in points]
        ends = [one.interval or Interval(one.throughput, one.throughput) for one in points]
        errors = [
            [value - end.low for value, end in zip(throughput, ends, strict=True)],
            [end.high - value for value, end in zip(throughput, ends, strict=True)],
        ]
        axes.errorbar(
            at, throughput, errors, fmt="none", ecolor=look.color, elinewidth=1.0, capsize=2.4, capthick=1.0
        )
        axes.plot(at, throughput, **line_of(look))
        handles.append(Line2D([], [], label=literal(look.label), **line_of(look)))
    ideal.set_label(ideal_label(lines))
    intervals = any(point.interval for points in lines.rows for point in points)
    axes.set_ylabel("samples/s, 95 % interval" if intervals else "samples/s")
    if lines.ends:
        axes.set_ylim(*lines.ends)
    _mark(axes, sorted({point.at for points in lines.rows for point in points}), width)
    legend(figure, [*handles, ideal], width)
    return figure


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
