"""A history in sentences, tables and records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from kbench.analysis.times import levels
from kbench.errors import UserError
from kbench.features.history.values import COVERAGE, DATE, FASTER, TIME, History, Line, Machine, Step
from kbench.tables import grid
from kbench.tables.csv import records_csv
from kbench.tables.grid import Grid
from kbench.words.text import MISSING, as_json, at_blanks, format_bound, listed, plain, significant

_LEAST = 1e-4  # chances below it are not told apart


def answer(history: History) -> list[str]:
    """What the user wants to know, the largest step first. Raises UserError if there is no line."""
    if not history.lines:
        why = f" ({history.notes[0].rstrip('.')})" if history.notes else ""
        raise UserError(
            f"There is no history in these runs: no row was measured with two versions or on two dates{why}. "
            "`releases` measures versions."
        )
    alike: dict[tuple[object, ...], list[Step]] = {}
    for one in history.steps:
        key = one.what, one.kind, one.line.axis, one.before.label, one.after.label, one.line.machine
        alike.setdefault(key, []).append(one)
    without: dict[tuple[str, Machine, bool, str], list[Line]] = {}
    for line in history.lines:
        found = {one.what for one in history.steps if one.line is line}
        if not found or (TIME not in found and line in history.visible):
            own = "" if line.axis == DATE else line.backend  # each of which would show another change
            without.setdefault((line.axis, line.machine, bool(found), own), []).append(line)
    sentences = [(0 if steps[0].what == TIME else 2, _of_steps(steps)) for steps in alike.values()]
    # Of the time first, which is what is asked for.
    sentences += [
        (1 if has_others else 3, _none(of, history, has_others)) for (_, _, has_others, _), of in without.items()
    ]
    return [plain(words) for _, words in sorted(sentences, key=lambda one: one[0])]


def _of_steps(steps: Sequence[Step]) -> str:
    """Steps of one kind between the same two versions, on one machine."""
    first, axis, on = steps[0], steps[0].line.axis, _on(steps[0].line.machine)
    before, after = first.before.label, first.after.label
    if first.what == COVERAGE:
        start = f"{axis} {after}, after {before}" if axis != DATE else f"{after}, after {before}"
        return f"{start}: {'; '.join(f'on {one.line.backend} {one.details}' for one in steps)}."
    who = [f"{one.line.example} on {one.line.backend}" for one in steps]
    changed = listed(f"{name} ({one.details})" for name, one in zip(who, steps, strict=True))
    by = listed(f"{name} {_times(one)}" for name, one in zip(who, steps, strict=True))
    if axis == DATE:
        versions = listed(first.changed_versions)
        start = f"Between {before} and {after}{f' ({versions})' if versions else ''}"
        became = f"{by} became {first.kind}" if first.what == TIME else f"the {first.what} changed of {changed}"
        return f"{start}, {became}, {on}."
    if first.what == TIME:
        return f"{axis} {after} made {by} {first.kind} than {before}, {on}."
    return f"{axis} {after} changed the {first.what} of {changed} from {before} on, {on}."


def _times(step: Step) -> str:
    """Its ratio with the interval, such as `1.4 times (1.3 to 1.5)`; of a faster one how many times as fast it is."""
    ratios = [step.ratio, *(step.interval or (step.ratio, step.ratio))]
    ratio, low, high = (1 / ratios[0], 1 / ratios[2], 1 / ratios[1]) if step.kind == FASTER else ratios
    return f"{format_bound(ratio)} times ({format_bound(low)} to {format_bound(high)})"


def _on(machine: Machine) -> str:
    return "on this machine" if machine.here else f"on {machine.kind}"


def _none(lines: Sequence[Line], history: History, has_others: bool) -> str:
    """Of lines over the same on one machine, none of which has a step: what would have been seen. has_others: they
    have steps of memory and the like.
    """
    points = max((line.points for line in lines), key=len)
    kind = "runs" if lines[0].axis == DATE else f"releases of {lines[0].axis}"
    who = f"{listed(line.example for line in lines)} on {listed(line.backend for line in lines)}"
    seen = [history.visible[line] for line in lines if line in history.visible]
    more = ""
    if seen:
        usual, last = (_percent(max(of)) for of in zip(*seen, strict=True))
        more = f"; a change of {usual} % would have been seen" + f", in the last one of {last} %" * (last != usual)
    elif points[0].readings[-1].states is None:
        more = "; no times could be compared"
    ends = f"{points[0].label} to {points[-1].label}"
    start = "No step" if seen or not more else "No step in losses and memory"
    start += " in time" * has_others
    return f"{start} in {len(points)} {kind} ({ends}) of {who}, {_on(lines[0].machine)}{more}."


def _percent(share: float) -> str:
    return f"{math.ceil(100 * share):,}"


def printed(history: History, form: str, width: int) -> str:
    """All of it in a format; a CSV has each point of each line. Raises UserError."""
    sentences, notes = answer(history), [plain(one) for one in history.notes]
    points = [one for line in history.lines for one in records(history, line)]
    if form == "csv":
        return records_csv(points).rstrip()
    if form == "json":
        steps = [_record(one) for one in history.steps]
        return as_json({"schema": 1, "answer": sentences, "steps": steps, "points": points, "notes": notes})
    tables = [grid.printed({"": one}, form, width) for one in grids(history).values() if one.rows]
    if form == "table":
        sentences, notes = ([at_blanks(one, width) for one in those] for those in (sentences, notes))
    return "\n\n".join([("\n" if form == "table" else "\n\n").join(sentences), *tables, *notes])


def grids(history: History) -> dict[str, Grid]:
    """A row for each step, and one for each line with its ends."""
    heads = ["over", "from", "to", "example", "backend", "beside", "what", "ratio", "95 % interval", "by noise"]
    steps = []
    for one in history.steps:
        own = one.line.axis, one.before.label, one.after.label, one.line.example, one.line.backend, one.line.beside
        ratio = one.details or format_bound(one.ratio)
        ends = "-".join(map(format_bound, one.interval)) if one.interval else MISSING
        steps.append([*own, one.kind if one.what == TIME else one.what, ratio, ends, _chance(one.chance)])
    lines, several = [], len({line.machine for line in history.lines}) > 1
    for line in history.lines:
        known = [one["seconds"] for one in records(history, line) if one["seconds"] is not None]
        times = [significant(known[place]) if known else MISSING for place in (0, -1)]
        ends_of = [str(len(line.points)), line.points[0].label, line.points[-1].label]
        seen = _percent(history.visible[line][0]) if line in history.visible else MISSING
        about = [line.example, line.backend, line.beside, *times, seen]
        machine = [f"{line.machine.kind} ({line.machine.words})"] if several else []
        lines.append([line.axis, *ends_of, *about, *machine])
    of_lines = ["over", "points", *heads[1:6], "s first", "s last", "seen (%)", *["machine"][: int(several)]]
    found = {"Steps": (heads, steps), "Lines": (of_lines, lines)}
    return {
        name: Grid(own, [[plain(one) or MISSING for one in row] for row in rows])
        for name, (own, rows) in found.items()
    }


def _chance(share: float | None) -> str:
    """How often noise makes such a step."""
    if share is None:
        return MISSING
    return f"{'< ' * (share < _LEAST)}1 in {significant(1 / max(share, _LEAST), 1)}"


def _record(step: Step) -> dict[str, Any]:
    line, (low, high) = step.line, step.interval or (None, None)
    own = {"over": line.axis, "from": step.before.label, "to": step.after.label, "example": line.example}
    own |= {"backend": line.backend, "beside": line.beside, "machine": line.machine.kind, "what": step.what}
    numbers = {"ratio": step.ratio, "ratio_low": low, "ratio_high": high, "chance": step.chance}
    return own | {"kind": step.kind, **numbers, "details": step.details}


def records(history: History, line: Line) -> list[dict[str, Any]]:
    """The points of a line; `step` is the ratio to the level before, where a step in time is."""
    steps = {one.after: one for one in history.steps if one.what == TIME and one.line is line}
    about = {"line": history.lines.index(line) + 1, "over": line.axis, "example": line.example}
    about |= {"backend": line.backend, "beside": line.beside, "machine": line.machine.kind}
    found = []
    for point in line.points:
        timed = [(one.log_seconds, one.offsets) for one in point.readings if one.log_seconds is not None]
        ends = [np.interp([0.025, 0.5, 0.975], levels.PARTS, offsets) + log for log, offsets in timed]
        low, middle, high = np.exp(np.median(ends, axis=0)).tolist() if ends else (None,) * 3
        step = steps.get(point)
        seconds = {"seconds": middle, "seconds_low": low, "seconds_high": high, "step": step and step.ratio}
        losses = [one.loss for one in point.readings if one.loss is not None]
        peaks = [one.memory for one in point.readings if one.memory is not None]
        values = {"loss": median(losses) if losses else None, "memory_mib": median(peaks) if peaks else None}
        runs = " ".join(dict.fromkeys(one.run for one in point.readings))
        found.append({**about, "at": point.label, **seconds, **values, "runs": runs, "state": line.machine.words})
    return found
