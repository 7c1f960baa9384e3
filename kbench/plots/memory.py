"""The memory of each cell of an example over time, a line per process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kbench import axes
from kbench.plots.styles import OWN, Key, RowStyle, Style, key, legend, legend_columns, literal, points, render
from kbench.values import Measured

_WIDTH = 6.5  # inches, of the figure


def memory(measured: Sequence[Measured], looks: Mapping[Key, RowStyle], style: Style = OWN) -> dict[str, bytes]:
    """The plot of one example's or program's cells as {"png": ..., "svg": ...}; empty where none has two points."""
    drawn = [one for one in measured if len(one.outcome.memory) > 1 and _look(one, looks)]
    return render(lambda: _figure(drawn, looks, style), style) if drawn else {}


def _look(one: Measured, looks: Mapping[Key, RowStyle]) -> RowStyle | None:
    """Of its row; of a program, whose rows are of its lines, that of a row of its backend."""
    own = looks.get(key(one.cell))
    return own or next((look for at, look in looks.items() if at[axes.BACKEND] == one.cell.backend), None)


def _figure(measured: Sequence[Measured], looks: Mapping[Key, RowStyle], style: Style) -> Figure:
    lines: dict[str, Line2D] = {}
    width = style.size[0] if style.size else _WIDTH
    labels = dict.fromkeys(literal(look.label) for one in measured if (look := _look(one, looks)))
    rows = math.ceil(len(labels) / legend_columns([*labels], width))
    figure = Figure(figsize=style.size or (_WIDTH, 3.4 + 0.2 * rows), layout="constrained")
    panel = figure.subplots()
    for one in sorted(measured, key=lambda one: (one.cell.backend, one.cell.repeat)):
        if look := _look(one, looks):
            seconds, mib = zip(*one.outcome.memory, strict=True)
            panel.plot(seconds, mib, color=look.color, linestyle=look.line_style, linewidth=1.2)
            how: dict[str, Any] = {"color": look.color, "linestyle": look.line_style}
            lines[look.label] = Line2D([], [], label=literal(look.label), **how)
    figure.suptitle(literal(measured[0].cell.example), fontsize=points(11))
    panel.set(xlabel="seconds of the process", ylabel="memory (MiB)")
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(left=0.0)
    legend(figure, [*lines.values()], width)
    return figure
