"""The values of the page's charts; charts.js draws them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from statistics import median
from typing import Any

import numpy as np

from kbench.additions import ReferenceLine
from kbench.analysis.learning import learning_curves
from kbench.analysis.times import step_times
from kbench.analysis.times.overall import PerformanceProfile
from kbench.analysis.times.shown_ratios import words as matrix_words
from kbench.comparison.scaling import Lines
from kbench.plots.convergence import METRICS, WIDE
from kbench.plots.scaling import ideal_label, line_styles
from kbench.plots.styles import Key, RowStyle, key, same_learning
from kbench.records import workloads
from kbench.records.values import OK, Measured
from kbench.summary import Summary
from kbench.words.text import plain, significant

_PHASES = {
    "import": "import",
    "data": "data",
    "build": "build",
    "probe": "first prediction, step on trial",
    "first_step": "first step",
}

TELLS = 1.25  # times: peaks of memory that are closer are not drawn
MOST_POINTS = 200  # of one curve; a screen shows hardly more
_REACH = 1.5  # times the longest bar: intervals are cut there, or they would squeeze the bars
_FEWEST_POINTS = 10
_POINTS_OF_A_PAGE = 40_000  # about 2 MB

Chart = dict[str, Any]  # JSON-able; "kind" says which function of charts.js draws it


@np.errstate(all="ignore")  # what is no number is left out
def of_example(
    rows: Sequence[Summary],
    measured: Sequence[Measured],
    styles: Mapping[Key, RowStyle],
    most: int,
    reference: ReferenceLine | None = None,
) -> list[Chart]:
    """The charts of one example, in the order of the page; `most` points a curve. None of what is outside Keras."""
    if not rows[0].work.compared:
        return []
    cells: dict[Key, list[Measured]] = {}
    for one in measured:
        cells.setdefault(key(one.cell), []).append(one)
    labels = {key(row): styles[key(row)].label for row in rows}
    charts: list[Chart] = []
    if rows[0].work.trains and (metric := _learnt(measured)):
        drawn = {key(row): labels[key(row)] for row in same_learning(rows)}
        charts += _curves(metric, cells, drawn, most, reference if metric == "val_accuracy" else None)
    bars = (_times(rows, labels), _phases(rows, cells, labels), _memory(rows, labels))
    return [chart for chart in (*bars, *charts) if chart]


def _learnt(measured: Sequence[Measured]) -> str | None:
    """The metric whose curves show most: the first that is not the same everywhere; None where all are flat or a
    single point.
    """
    for name in ("val_accuracy", "accuracy", "val_loss", "loss"):
        found = [learning_curves.curve(one, name).values.tolist() for one in measured]
        if max(map(len, found), default=0) > 1 and len({value for values in found for value in values}) > 1:
            return name
    return None


def _times(rows: Sequence[Summary], labels: Mapping[Key, str]) -> Chart | None:
    """Bars of the steady time with its 95 % interval, in the table's order; None of a single one."""
    found, in_words = [], []
    for row in rows:
        seconds = row.shown_seconds
        if seconds is None or not math.isfinite(seconds):
            continue
        interval = row.shown_interval
        label, ends = labels[key(row)], (interval.low, interval.high) if interval else (None, None)
        found.append((label, seconds, *ends, matrix_words(row)))
        in_words.append(f"{label} {significant(seconds)} s")
    if len(found) < 2:
        return None
    what = rows[0].work.time
    columns = _columns(("row", "seconds", "low", "high", "ratio"), found)
    longest = _REACH * max(columns["seconds"])
    highs = [high for high in columns["high"] if high is not None]
    cut = "Intervals that end at the right edge go on." if any(high > longest for high in highs) else ""
    title = f"{what}, with 95 % intervals" if highs else what
    return {**_chart("times", title, columns, in_words, cut), "x": what, "longest": longest if cut else None}


def _curves(
    metric: str,
    cells: Mapping[Key, Sequence[Measured]],
    labels: Mapping[Key, str],
    most: int,
    reference: ReferenceLine | None,
) -> list[Chart]:
    drawn = {label: points for row, label in labels.items() if (points := curve(cells.get(row, ()), metric, most))}
    longest = max((len(one.epochs) for group in cells.values() for one in group), default=0)
    seconds = [points[-1].seconds for points in drawn.values()]
    first = min((points[0].seconds for points in drawn.values()), default=0.0)
    shared = _chart(
        "curve",
        "",
        _columns(
            ("row", "epoch", "seconds", "value", "spread", "repeats"),
            [(label, *astuple(point)) for label, points in drawn.items() for point in points],
        ),
        [f"{label} ends at {significant(points[-1].value, 4)}" for label, points in drawn.items()],
        " ".join(
            [
                *([f"{most} of {longest:,} epochs of each curve are drawn."] if longest > most else []),
                *([f"Grey line: {reference.in_words}."] if reference else []),
            ]
        ),
    )
    name = METRICS[metric]
    shared |= {"metric": name, "accuracy": "accuracy" in metric}
    shared |= {"reference": reference.value, "ends": list(reference.ends)} if reference else {}
    wide = first > 0 and max(seconds) / min(seconds) > WIDE
    # The chart against seconds takes the values of the one before it.
    return [
        {**shared, "title": f"{name} against epochs", "x": "epoch", "log": False},
        {**shared, "title": f"{name} against seconds", "x": "seconds", "log": wide, "columns": None},
    ]


@dataclass(frozen=True)
class ChartPoint:
    """One epoch of a row: means over the repeats."""

    epoch: int
    seconds: float  # of training until its end
    value: float
    spread: float | None  # sample standard deviation over the repeats; None where there is one
    repeats: int


def points_each(curves: int) -> int:
    """How many points each of so many curves may have on one page."""
    return min(MOST_POINTS, max(_FEWEST_POINTS, _POINTS_OF_A_PAGE // max(1, curves)))


def curve(repeats: Sequence[Measured], metric: str, most: int) -> list[ChartPoint]:
    """The row's curve, at most `most` points: of its repeats that ended ok, or of all if none did."""
    chosen = [one for one in repeats if one.outcome.status == OK] or list(repeats)
    reported = [learning_curves.curve(one, metric) for one in chosen if learning_curves.has(one, metric)]
    mean = learning_curves.mean(reported)
    if mean is None:
        return []
    spread = [None] * len(mean.epochs) if mean.spread is None else mean.spread.tolist()
    every = list(zip(mean.epochs.tolist(), mean.seconds.tolist(), mean.values.tolist(), spread, strict=True))
    return [ChartPoint(*every[position], len(reported)) for position in thinned(len(every), most)]


def thinned(count: int, most: int) -> list[int]:
    """The positions of at most `most` of `count` values, evenly spread, including the first and the last."""
    positions: list[int] = np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()
    return positions


def _phases(
    rows: Sequence[Summary], cells: Mapping[Key, Sequence[Measured]], labels: Mapping[Key, str]
) -> Chart | None:
    """Where the time of a process went, medians over the repeats that ended ok and compiled."""
    found, in_words = [], []
    for row in rows:
        label = labels[key(row)]
        repeats = [one for one in cells.get(key(row), ()) if one.outcome.status == OK]
        ok = [_parts(one) for one in step_times.cold(repeats)]
        for name in dict.fromkeys(name for parts in ok for name in parts):
            found.append((label, name, median(parts.get(name, 0.0) for parts in ok)))
        if ok:
            in_words.append(f"{label} {significant(median(sum(parts.values()) for parts in ok))} s")
    if {name for _, name, _ in found} <= {"other"}:
        return None
    return _chart("phases", "where the time went", _columns(("row", "phase", "seconds"), found), in_words)


def _parts(one: Measured) -> dict[str, float]:
    """A cell's seconds by phase, in order; they add up to its guest's time."""
    work = workloads.workload_for(one.facts.task)
    parts = {name: one.phases[phase] for phase, name in _PHASES.items() if phase in one.phases}
    first = one.phases.get("first_epoch", 0.0) - one.phases.get("first_step", 0.0)
    parts[f"rest of {work.first}" if "first step" in parts else work.first] = max(0.0, first)
    parts[f"steady {work.units}"] = sum(epoch.seconds for epoch in step_times.steady(one.epochs))
    evaluation = sum(epoch.evaluation_seconds or 0.0 for epoch in one.epochs)
    parts["evaluation"] = evaluation + one.phases.get("evaluation", 0.0)
    if (whole := one.facts.guest_seconds) is not None:
        parts["other"] = max(0.0, whole - sum(parts.values()))
    return {name: seconds for name, seconds in parts.items() if seconds > 0}


def _memory(rows: Sequence[Summary], labels: Mapping[Key, str]) -> Chart | None:
    found, in_words = [], []
    for row in rows:
        if row.peak_memory_mib is None:
            continue
        label, imported = labels[key(row)], min(row.import_memory_mib or 0.0, row.peak_memory_mib)
        found += [(label, "after import", imported), (label, "more, at its peak", row.peak_memory_mib - imported)]
        in_words.append(f"{label} {significant(row.peak_memory_mib)} MiB")
    peaks = [row.peak_memory_mib for row in rows if row.peak_memory_mib is not None]
    if not peaks or max(peaks) < TELLS * min(peaks):  # summary.csv has it
        return None
    return _chart("memory", "peak memory", _columns(("row", "part", "mib"), found), in_words)


def of_scaling(lines: Lines, styles: Mapping[Key, RowStyle]) -> Chart:
    """Throughput along an axis."""
    found = []
    for line, row_style in zip(lines.lines, line_styles(lines, styles), strict=True):
        for point in line.points:
            ends = (point.interval.low, point.interval.high) if point.interval else (None, None)
            found.append((row_style.label, point.at, point.throughput, *ends))
    names = ", ".join(lines.left_out)
    left_out = f" Left out, since not measured like the others: {names}." if names else ""
    return {
        **_along(lines, "throughput", "throughput", "samples/s", found),
        "thinned": f"Grey: {ideal_label(lines)}, from the fastest.{left_out}",
        "ideal": _columns(("at", "throughput"), lines.ideal),
        "ends": [_short(end) for end in lines.ends] if lines.ends else None,
    }


def of_memory(lines: Lines, styles: Mapping[Key, RowStyle]) -> Chart | None:
    """Peak memory along the same; None if it is not known or nearly the same everywhere."""
    found = [
        (row_style.label, point.at, memory, None, None)
        for line, row_style in zip(lines.lines, line_styles(lines, styles), strict=True)
        for point in line.points
        if (memory := point.row.memory_mib)
    ]
    peaks = [memory for _, _, memory, *_ in found]
    if not peaks or max(peaks) < TELLS * min(peaks):
        return None
    return {**_along(lines, "peak memory", "mib", "MiB", found), "ideal": _columns(("at", "mib"), []), "ends": None}


def _along(lines: Lines, what: str, field: str, unit: str, found: Sequence[Sequence[Any]]) -> Chart:
    """The chart of (label, place on the axis, value, at least, at most)."""
    by_label: dict[str, list[str]] = {}
    for label, at, value, *_ in found:
        by_label.setdefault(label, []).append(f"{significant(value)} at {at:,}")
    in_words = [f"{label} {', '.join(shown)} {unit}" for label, shown in by_label.items()]
    columns = _columns(("row", "at", field, "low", "high"), found)
    chart = _chart("scaling", f"{lines.title}: {what} against {lines.axis.title}", columns, in_words)
    return {**chart, "x": lines.axis.title, "y": unit, "field": field}


def of_profile(profile: PerformanceProfile, title: str) -> Chart:
    """A performance profile."""
    found, in_words = [], []
    for name in profile.ratios:
        before = 0.0  # below the first step
        for factor, share in profile.steps(name):
            # A step has a corner on the line below it, too.
            found += [(name, factor, before)] if factor > 1 else []
            found.append((name, factor, share))
            before = share
        in_words.append(f"{name} is fastest in {profile.share(name, 1.0):.0%} and timed in {before:.0%}")
    columns = _columns(("row", "factor", "share"), found)
    return {
        **_chart("profile", title, columns, in_words),
        "x": "x, the time over the fastest's",
    }


def _chart(kind: str, title: str, columns: Mapping[str, Any], in_words: Sequence[str], thinned: str = "") -> Chart:
    return {"kind": kind, "title": title, "columns": columns, "in_words": "; ".join(in_words), "thinned": thinned}


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """The rows by column, floats short."""
    return {name: [_short(row[position]) for row in rows] for position, name in enumerate(names)}


def _short(value: Any) -> Any:
    """A float to seven digits, more than a chart shows; None if it is not finite."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.7g}") if math.isfinite(value) else None


def alternative(chart: Chart) -> str:
    """The chart in a sentence, for screen readers."""
    return plain(f"{chart['title']}: {chart['in_words']}. The table below has the values.")
