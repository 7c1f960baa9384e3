"""What the page's charts show, as plain values; how they are drawn is in charts.js."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from kbench.analysis import step_times
from kbench.comparison.scaling import Lines
from kbench.plots.look import Key, Look, key
from kbench.plots.scaling import AXES, ideal_label
from kbench.report import curves
from kbench.text import plain, significant
from kbench.values import OK, Measured, Summary

# From this ratio of the slowest to the fastest on, a linear axis leaves the fastest no room.
_WIDE = 8.0
_METRICS = {
    "val_accuracy": "validation accuracy",
    "accuracy": "training accuracy",
    "val_loss": "validation loss",
    "loss": "training loss",
}
_PHASES = {
    "import": "import",
    "data": "data",
    "build": "build",
    "probe": "first prediction",
    "first_step": "first step",
}

Chart = dict[str, Any]  # JSON-able; "kind" says which function of charts.js draws it


@np.errstate(all="ignore")  # what is no number is left out
def of_example(
    rows: Sequence[Summary], measured: Sequence[Measured], looks: Mapping[Key, Look], most: int
) -> list[Chart]:
    """The charts of one example, in the order of the page; `most` points a curve."""
    cells: dict[Key, list[Measured]] = {}
    for one in measured:
        cells.setdefault(key(one.cell), []).append(one)
    labels = {key(row): looks[key(row)].label for row in rows}
    charts: list[Chart] = []
    if rows[0].task == "train":
        for choice in (("val_accuracy", "accuracy"), ("val_loss", "loss")):
            metric = next((name for name in choice if curves.has(measured, name)), None)
            if metric:
                charts += _curves(metric, cells, labels, most)
    found = [_phases(rows, cells, labels), _steps(rows, cells, labels, most), _memory(rows, labels)]
    return [*charts, *(chart for chart in found if chart)]


def _curves(
    metric: str, cells: Mapping[Key, Sequence[Measured]], labels: Mapping[Key, str], most: int
) -> list[Chart]:
    columns: dict[str, list[Any]] = {"row": [], "epoch": [], "seconds": [], "value": [], "spread": [], "repeats": []}
    ends, longest = [], 0
    for row, label in labels.items():
        points = curves.curve(cells.get(row, ()), metric, most)
        longest = max(longest, max((len(one.epochs) for one in cells.get(row, ())), default=0))
        for point in points:
            columns["row"].append(label)
            columns["epoch"].append(point.epoch)
            columns["seconds"].append(_short(point.seconds))
            columns["value"].append(_short(point.value))
            columns["spread"].append(_short(point.spread))
            columns["repeats"].append(point.repeats)
        if points:
            ends.append((label, points))
    seconds = [points[-1].seconds for _, points in ends]
    first = min((points[0].seconds for _, points in ends), default=0.0)
    wide = first > 0 and max(seconds) / min(seconds) > _WIDE
    name = _METRICS[metric]
    in_words = "; ".join(f"{label} ends at {significant(points[-1].value, 4)}" for label, points in ends)
    thin = f"{most} of {longest:,} epochs of each curve are drawn." if longest > most else ""
    shared = {"kind": "curve", "metric": name, "accuracy": "accuracy" in metric, "columns": columns, "thinned": thin}
    return [
        {**shared, "title": f"{name} against epochs", "x": "epoch", "log": False, "in_words": in_words},
        # The values are those of the chart before it: written once.
        {
            **shared,
            "title": f"{name} against seconds",
            "x": "seconds",
            "log": wide,
            "in_words": in_words,
            "columns": None,
        },
    ]


def _phases(
    rows: Sequence[Summary], cells: Mapping[Key, Sequence[Measured]], labels: Mapping[Key, str]
) -> Chart | None:
    """Of the cells that ended ok: where the time of their process went, medians over the repeats."""
    columns: dict[str, list[Any]] = {"row": [], "phase": [], "seconds": []}
    in_words = []
    for row in rows:
        ok = [_parts(one) for one in cells.get(key(row), ()) if one.outcome.status == OK]
        names = dict.fromkeys(name for parts in ok for name in parts)
        for name in names:
            columns["row"].append(labels[key(row)])
            columns["phase"].append(name)
            columns["seconds"].append(_short(median(parts.get(name, 0.0) for parts in ok)))
        if ok:
            in_words.append(f"{labels[key(row)]} {significant(median(sum(parts.values()) for parts in ok))} s")
    if not in_words:
        return None
    return {
        "kind": "phases",
        "thinned": "",
        "title": "where the time went",
        "columns": columns,
        "in_words": "; ".join(in_words),
    }


def _parts(one: Measured) -> dict[str, float]:
    """Seconds of a cell by what they were spent on, in order; they add up to its guest's time."""
    unit = ("first pass", "steady passes") if one.facts.get("task") == "infer" else ("first epoch", "steady epochs")
    parts = {name: one.phases[phase] for phase, name in _PHASES.items() if phase in one.phases}
    first = one.phases.get("first_epoch", 0.0) - one.phases.get("first_step", 0.0)
    parts[f"rest of {unit[0]}" if "first step" in parts else unit[0]] = max(0.0, first)
    parts[unit[1]] = sum(epoch.seconds for epoch in step_times.steady(one.epochs))
    evaluation = sum(epoch.evaluation_seconds or 0.0 for epoch in one.epochs)
    parts["evaluation"] = evaluation + one.phases.get("evaluation", 0.0)
    whole = one.facts.get("guest_seconds")
    if isinstance(whole, float):
        parts["other"] = max(0.0, whole - sum(parts.values()))
    return {name: seconds for name, seconds in parts.items() if seconds > 0}


def _steps(
    rows: Sequence[Summary], cells: Mapping[Key, Sequence[Measured]], labels: Mapping[Key, str], most: int
) -> Chart | None:
    """Samples a second of each step, from the first: medians over the repeats."""
    columns: dict[str, list[Any]] = {"row": [], "step": [], "throughput": []}
    in_words = []
    longest = 0
    for row in rows:
        ok = [one for one in cells.get(key(row), ()) if one.outcome.status == OK]
        repeats = [steps for one in ok if (steps := step_times.steps_of(one.epochs))]
        if not repeats or not row.batch_size:
            continue
        count = min(map(len, repeats))
        longest = max(longest, count)
        places = curves.thinned(range(count), most)
        for place in places:
            seconds = median(steps[place] for steps in repeats)
            if seconds > 0:
                columns["row"].append(labels[key(row)])
                columns["step"].append(place + 1)
                columns["throughput"].append(_short(row.batch_size / seconds))
        usual = float(np.median(np.concatenate(repeats)))
        in_words.append(f"{labels[key(row)]} {significant(row.batch_size / usual if usual > 0 else None)} samples/s")
    if not columns["row"]:
        return None
    found = columns["throughput"]
    return {
        "kind": "steps",
        "title": "throughput of each step",
        "columns": columns,
        "log": max(found) / min(found) > _WIDE,
        "thinned": f"{most} of {longest:,} steps of each line are drawn." if longest > most else "",
        "in_words": "; ".join(in_words),
    }


def _memory(rows: Sequence[Summary], labels: Mapping[Key, str]) -> Chart | None:
    columns: dict[str, list[Any]] = {"row": [], "part": [], "mib": []}
    in_words = []
    for row in rows:
        if row.peak_memory_mib is None:
            continue
        imported = min(row.import_memory_mib or 0.0, row.peak_memory_mib)
        for name, mib in (("after import", imported), ("more, at its peak", row.peak_memory_mib - imported)):
            columns["row"].append(labels[key(row)])
            columns["part"].append(name)
            columns["mib"].append(_short(mib))
        in_words.append(f"{labels[key(row)]} {significant(row.peak_memory_mib)} MiB")
    if not in_words:
        return None
    return {
        "kind": "memory",
        "thinned": "",
        "title": "peak memory",
        "columns": columns,
        "in_words": "; ".join(in_words),
    }


def of_scaling(lines: Lines, looks: Mapping[Key, Look]) -> Chart:
    """Throughput against what varies between runs."""
    columns: dict[str, list[Any]] = {"row": [], "at": [], "throughput": [], "low": [], "high": []}
    in_words = []
    for points in lines.rows:
        label = looks[key(points[0].row)].label
        for point in points:
            columns["row"].append(label)
            columns["at"].append(point.at)
            columns["throughput"].append(_short(point.throughput))
            columns["low"].append(_short(point.interval.low) if point.interval else None)
            columns["high"].append(_short(point.interval.high) if point.interval else None)
        shown = ", ".join(f"{significant(point.throughput)} at {point.at:,}" for point in points)
        in_words.append(f"{label} {shown} samples/s")
    at, throughput = zip(*lines.ideal, strict=True)
    return {
        "kind": "scaling",
        "title": f"{lines.example}: throughput against {lines.variable}",
        "x": AXES[lines.variable],
        "ideal": {"at": at, "throughput": [_short(value) for value in throughput]},
        "ends": [_short(end) for end in lines.ends] if lines.ends else None,
        "columns": columns,
        "thinned": f"Grey: {ideal_label(lines)} from the fastest on." + _left_out(lines),
        "in_words": "; ".join(in_words),
    }


def _left_out(lines: Lines) -> str:
    names = ", ".join(lines.left_out)
    return f" Not measured like the others, and left out: {names}." if names else ""


def _short(value: float | None) -> float | None:
    """To seven figures, which are more than a chart shows; nothing where it is no number."""
    return float(f"{value:.7g}") if value is not None and math.isfinite(value) else None


def alternative(chart: Chart) -> str:
    """The chart in a sentence, for those who do not see it."""
    return plain(f"{chart['title']}: {chart['in_words']}. The values stand in the table below it.")
