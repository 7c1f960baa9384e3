"""The memory of each cell of an example over time, a line per process."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kbench.plots.styles import (
    OWN,
    Key,
    RowStyle,
    Style,
    key,
    legend,
    legend_columns,
    literal,
    points,
    render,
    titled,
)
from kbench.records import axes
from kbench.records.values import Measured

_WIDTH = 6.5  # inches, of the figure


def memory(measured: Sequence[Measured], styles: Mapping[Key, RowStyle], style: Style = OWN) -> dict[str, bytes]:
    """The plot of one example's or program's cells as {"png": ..., "svg": ...}; empty where none has two points.

    A cell is drawn like its row; of a program, whose rows are of its lines, like the first row of its backend.
    """
    of_backends = {at[axes.BACKEND]: how for at, how in reversed([*styles.items()])}
    drawn = [
        (one, how)
        for one in sorted(measured, key=lambda one: (one.cell.backend, one.cell.repeat))
        if len(one.outcome.memory) > 1 and (how := styles.get(key(one.cell)) or of_backends.get(one.cell.backend))
    ]
    return render(lambda: _figure(drawn, style), style) if drawn else {}


def _figure(drawn: Sequence[tuple[Measured, RowStyle]], style: Style) -> Figure:
    width, _ = style.fit(_WIDTH)
    lines: dict[str, dict[str, Any]] = {
        how.label: {"color": how.color, "linestyle": how.line_style, "label": literal(how.label)} for _, how in drawn
    }
    rows = math.ceil(len(lines) / legend_columns([one["label"] for one in lines.values()], width))
    figure = Figure(figsize=style.fit(_WIDTH, 3.4 + 0.2 * rows), layout="constrained")
    panel = figure.subplots()
    for one, how in drawn:
        panel.plot(*zip(*one.outcome.memory, strict=True), linewidth=1.2, **lines[how.label])
    example = drawn[0][0].cell.example
    figure.suptitle(titled(example, example, style), fontsize=points(11))
    panel.set(xlabel="seconds of the process", ylabel="memory (MiB)")
    panel.set_ylim(bottom=0.0)
    panel.set_xlim(left=0.0)
    legend(figure, [Line2D([], [], **line) for line in lines.values()], width)
    return figure
