"""Convergence: a metric against epochs and against training seconds, a line per backend."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from kbench.additions import ReferenceLine
from kbench.analysis.learning import learning_curves
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
    points,
    render,
    titled,
)
from kbench.records.values import OK, Measured

# The first of these that any cell has is drawn.
METRICS = {
    "val_accuracy": "validation accuracy",
    "accuracy": "training accuracy",
    "val_loss": "validation loss",
    "loss": "training loss",
}
WIDE = 8.0  # the ratio of slowest to fastest above which a linear axis leaves the fastest no room
_REFERENCE = "#777777"
_MOST_LINES = 20  # of repeats: more would be a blot, and the band around their mean shows the same
_WIDTH = 9.0  # inches, of the figure


def convergence(
    measured: Sequence[Measured],
    styles: Mapping[Key, RowStyle],
    differing: Collection[Key] = (),
    style: Style = OWN,
    reference: ReferenceLine | None = None,
) -> dict[str, bytes]:
    """The plot of one example's cells as {"png": ..., "svg": ...}; empty where no cell has a metric.

    Up to 20 repeats are thin lines, their mean is a thick one with a band of one standard deviation, and a cell that
    did not end ok ends at a cross. The legend marks the `differing` rows, which were not measured like the others.
    Of a validation accuracy the `reference` is a grey line, with a band.
    """
    metric = next((name for name in METRICS if any(learning_curves.has(one, name) for one in measured)), None)
    if metric is None:
        return {}
    marked = {row: replace(how, label=f"{how.label} (differs)") for row, how in styles.items() if row in differing}
    drawn = [one for one in measured if learning_curves.has(one, metric)]
    shown = reference if metric == "val_accuracy" else None
    return render(lambda: _figure(drawn, {**styles, **marked}, metric, style, shown), style)


def _figure(
    measured: Sequence[Measured],
    styles: Mapping[Key, RowStyle],
    metric: str,
    style: Style = OWN,
    reference: ReferenceLine | None = None,
) -> Figure:
    rows: dict[Key, list[Measured]] = {}
    for one in sorted(measured, key=lambda one: styles[key(one.cell)].label):
        rows.setdefault(key(one.cell), []).append(one)
    width, _ = style.fit(_WIDTH)
    names = [_label(cells, styles[row]) for row, cells in rows.items()]
    names += [reference.in_words] if reference else []
    columns = legend_columns(names, width)
    figure = Figure(figsize=style.fit(_WIDTH, 3.6 + 0.2 * math.ceil(len(names) / columns)), layout="constrained")
    by_epoch, by_seconds = figure.subplots(1, 2, sharey=True)
    curves = {row: [learning_curves.curve(one, metric) for one in cells] for row, cells in rows.items()}
    handles = [_draw_row(by_epoch, by_seconds, cells, curves[row], styles[row]) for row, cells in rows.items()]
    if reference:
        handles.append(_draw_reference((by_epoch, by_seconds), reference))
    example = measured[0].cell.example
    figure.suptitle(titled(example, example, style), fontsize=points(11))
    by_epoch.set(xlabel="epoch", ylabel=METRICS[metric])
    by_epoch.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    by_seconds.set_xlabel("training time (s)")
    _scale_seconds(by_seconds, list(chain.from_iterable(curves.values())))
    legend(figure, handles, width)
    return figure


def _draw_row(
    by_epoch: Axes,
    by_seconds: Axes,
    cells: Sequence[Measured],
    curves: Sequence[learning_curves.Curve],
    how: RowStyle,
) -> Line2D:
    """Draw the repeats of one row and their mean in both panels; return the legend's entry."""
    ok = [curve for one, curve in zip(cells, curves, strict=True) if one.outcome.status == OK]
    cut_short = [curve for one, curve in zip(cells, curves, strict=True) if one.outcome.status != OK]
    mean = learning_curves.mean(ok)
    thin: dict[str, Any] = {"linestyle": how.line_style, "linewidth": 0.7, "alpha": 0.5}
    thick = line_of(how)
    for axes, along in ((by_epoch, "epochs"), (by_seconds, "seconds")):
        lines = [
            np.column_stack((getattr(curve, along), curve.values))
            for curve in [*(ok if 1 < len(ok) <= _MOST_LINES else []), *cut_short]
            if axes is by_epoch or not curve.cached
        ]
        # All at once: there may be a hundred repeats, and each separate line takes a millisecond.
        if lines:
            axes.add_collection(LineCollection(lines, colors=how.color, zorder=2, **thin))
        for curve in cut_short:
            axes.plot(getattr(curve, along)[-1:], curve.values[-1:], color=how.color, marker="x", linestyle="none")
        if mean is not None:
            if mean.spread is not None and np.isfinite(mean.spread).all():
                low, high = mean.values - mean.spread, mean.values + mean.spread
                axes.fill_between(getattr(mean, along), low, high, color=how.color, alpha=0.15, linewidth=0)
            axes.plot(getattr(mean, along), mean.values, markevery=max(1, len(mean.values) // 10), **thick)
    handle = thick if ok else {**thin, "color": how.color, "marker": "x"}
    return Line2D([], [], label=_label(cells, how), **handle)


def _draw_reference(panels: Sequence[Axes], reference: ReferenceLine) -> Line2D:
    """Draw its line in both panels; return the legend's entry."""
    for axes in panels:
        axes.axhspan(*reference.ends, color=_REFERENCE, alpha=0.25, linewidth=0, zorder=0)
        axes.axhline(reference.value, color=_REFERENCE, linewidth=1.2, linestyle=(0, (1, 1.5)), zorder=1)
    return Line2D([], [], color=_REFERENCE, linewidth=1.2, linestyle=(0, (1, 1.5)), label=reference.in_words)


def _label(cells: Sequence[Measured], how: RowStyle) -> str:
    """The legend's text for a row: its name, and its status if no repeat ended ok."""
    ended = any(one.outcome.status == OK for one in cells)
    return literal(how.label if ended else f"{how.label} ({cells[0].outcome.status})")


def _scale_seconds(axes: Axes, curves: Sequence[learning_curves.Curve]) -> None:
    """Linear from zero, or logarithmic if the rows are far apart."""
    ends = [curve.seconds[-1] for curve in curves if curve.seconds[0] > 0]
    if ends and max(ends) / min(ends) > WIDE:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.set_xlim(left=0.0)
