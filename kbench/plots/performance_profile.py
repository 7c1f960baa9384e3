"""The performance profile of a run: in which share of its examples each backend is within a factor of the fastest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from kbench.analysis.times.overall import PerformanceProfile, profiles, scope
from kbench.plots.styles import (
    OWN,
    Key,
    RowStyle,
    Style,
    headed,
    key,
    legend,
    legend_columns,
    line_of,
    literal,
    points,
    render,
)
from kbench.summary import Summary

_WIDTH, _HEIGHT = 6.0, 3.2  # inches, of a panel
_ROOM = 1.05  # times the largest ratio, so that the last step is seen
_FAR = 400.0  # a ratio above which ticks are 1, 10, 100, ...


def performance_profile(
    summaries: Sequence[Summary], styles: Mapping[Key, RowStyle], style: Style = OWN
) -> dict[str, bytes]:
    """The plot as {"png": ..., "svg": ...}, a panel for each device and task; empty for fewer than three examples."""
    found = profiles(summaries)
    return render(lambda: _figure(found, of_backends(summaries, styles), style), style) if found else {}


def of_backends(summaries: Sequence[Summary], styles: Mapping[Key, RowStyle]) -> dict[str, RowStyle]:
    """The style of each backend as a whole: that of its first row, under its name alone."""
    found: dict[str, RowStyle] = {}
    for row in summaries:
        found.setdefault(row.backend, dataclasses.replace(styles[key(row)], label=row.backend))
    return found


def in_words(profile: PerformanceProfile, found: Sequence[PerformanceProfile]) -> str:
    """What the plot's title says, such as `share of 7 examples within x times the fastest`; `found`: the run's."""
    of_which = scope(profile, len({one.device for one in found}) > 1)
    return f"share of {profile.examples} examples{of_which} within x times the fastest"


def _figure(found: Sequence[PerformanceProfile], styles: Mapping[str, RowStyle], style: Style) -> Figure:
    names = [name for name in styles if any(name in one.ratios for one in found)]
    width, _ = style.fit(_WIDTH * len(found))
    columns = legend_columns([styles[name].label for name in names], width)
    size = style.fit(_WIDTH * len(found), _HEIGHT + 0.4 + 0.2 * math.ceil(len(names) / columns))
    figure = Figure(figsize=size, layout="constrained")
    for axes, profile in zip(figure.subplots(1, len(found), squeeze=False)[0], found, strict=True):
        _draw(axes, profile, styles)
        axes.set_ylabel("" if headed("title", style) else "share of examples")
        axes.set_title(headed(literal(in_words(profile, found)), style), fontsize=points(9), loc="left")
    handles = [Line2D([], [], label=literal(styles[name].label), **line_of(styles[name])) for name in sorted(names)]
    legend(figure, handles, width)
    return figure


def _draw(axes: Axes, profile: PerformanceProfile, styles: Mapping[str, RowStyle]) -> None:
    for name in profile.ratios:
        factors, shares = zip(
            *[*profile.steps(name), (profile.largest * _ROOM, profile.share(name, math.inf))], strict=True
        )
        axes.plot(factors, shares, drawstyle="steps-post", markevery=range(len(factors) - 1), **line_of(styles[name]))
    axes.set(
        xscale="log", xlim=(1.0, profile.largest * _ROOM), ylim=(0.0, 1.03), xlabel="x, the time over the fastest's"
    )
    subs = (1.0,) if profile.largest > _FAR else (1.0, 2.0, 5.0) if profile.largest > 2 else (1.0, 1.2, 1.5)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
