"""Bars of seconds per epoch (or per 1,000 images) with their 95 % intervals, fastest first, the numbers beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kbench.analysis.times.shown_ratios import is_rough, shown_ratio
from kbench.plots.styles import OWN, Key, RowStyle, Style, key, literal, points, render, titled
from kbench.records.values import OK, Interval
from kbench.summary import Summary
from kbench.words.text import format_ratio, significant

_REACH = 1.5  # times the longest bar: intervals are cut there, or they would squeeze the bars


def bars(rows: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style = OWN) -> dict[str, bytes]:
    """One example's rows, in their order, as {"png": ..., "svg": ...}; empty where none is timed."""
    if all(seconds is None for seconds, _ in _times(rows)):
        return {}
    return render(lambda: _figure(rows, styles, style), style)


def _figure(rows: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style = OWN) -> Figure:
    figure = Figure(figsize=style.fit(6.5, 1.1 + 0.32 * len(rows)), layout="constrained")
    axes = figure.subplots()
    times = _times(rows)
    limit = _REACH * max(seconds or 0.0 for seconds, _ in times)
    ends = [max(seconds or 0.0, min(interval.high, limit) if interval else 0.0) for seconds, interval in times]
    longest = max(ends)
    for position, (row, (seconds, _)) in enumerate(zip(rows, times, strict=True)):
        how = styles[key(row)]
        hatch = None if how.line_style == "-" else "///"
        axes.barh(position, seconds or 0.0, height=0.68, color=how.color, edgecolor="white", linewidth=0, hatch=hatch)
        axes.text(ends[position] + 0.012 * longest, position, _label(row, seconds), va="center", fontsize=points(8))
    _draw_intervals(axes, [interval for _, interval in times], limit)
    axes.set_yticks(range(len(rows)), [literal(styles[key(row)].label, 48) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)  # fastest at the top
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    # Room for the label of the longest bar.
    axes.set_xlim(0.0, longest * 1.28 or 1.0)
    axes.set_xlabel(_axis(rows))
    axes.set_title(titled(rows[0].example, rows[0].example, style))
    return figure


def _draw_intervals(axes: Axes, intervals: Sequence[Interval | None], limit: float) -> None:
    """A line with a cap at each end, or an arrow where it is cut; outlined in white, since bars may be dark."""
    known = [(position, interval) for position, interval in enumerate(intervals) if interval]
    lows, highs = (np.array([getattr(interval, end) for _, interval in known]) for end in ("low", "high"))
    goes_on = highs > limit
    highs = np.where(goes_on, 0.98 * limit, highs)  # the arrow's head takes the rest
    for color, width, cap in (("white", 2.6, 3.4), ("#222222", 1.1, 2.6)):
        _, ends, _ = axes.errorbar(
            lows,
            [position for position, _ in known],
            xerr=(np.zeros(len(known)), highs - lows),
            xlolims=goes_on,
            fmt="none",
            ecolor=color,
            elinewidth=width,
            capsize=cap,
            capthick=width,
        )
        for end in ends:
            end.set_markerfacecolor(color)


def _has_steady(rows: Sequence[Summary]) -> bool:
    return any(row.epoch_seconds is not None for row in rows)


def _times(rows: Sequence[Summary]) -> list[tuple[float | None, Interval | None]]:
    """Each bar's length and its interval: the steady time, or that of the first epoch if no row has a steady one."""
    if not _has_steady(rows):
        return [(row.first_epoch_seconds, None) for row in rows]
    return [(row.shown_seconds, row.shown_interval) for row in rows]


def _axis(rows: Sequence[Summary]) -> str:
    work = rows[0].work
    if not _has_steady(rows):
        return f"{work.first} (s), compilation included"
    time = work.time.replace("samples", "images") if rows[0].input in ("image", "") else work.time
    about = [] if work.once else ["estimate"]
    about += ["95 % interval"] if any(interval for _, interval in _times(rows)) else []
    what = f"{time} ({', '.join(about)})" if about else time
    return f"{what}\n(x: to {literal(rows[0].baseline)})" if rows[0].baseline else what


def _label(row: Summary, seconds: float | None) -> str:
    relative = shown_ratio(row)
    shown = format_ratio(relative, row.verdict, is_rough(row)) if relative is not None else ""
    ratio = f"  ({shown}{'' if is_rough(row) else 'x'})" if shown else ""
    status = "" if row.status == OK else f"  {row.status}"
    status += f"  {row.unranked}" if row.unranked else ""
    return (f"{significant(seconds)} s{ratio}{status}" if seconds is not None else row.status).strip()
