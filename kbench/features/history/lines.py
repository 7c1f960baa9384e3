"""From readings to lines, and from lines to steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise

from packaging.version import InvalidVersion, Version

from kbench.analysis.sameness import fingerprints
from kbench.features.history import steps
from kbench.features.history.steps import Times
from kbench.features.history.values import (
    BROKE,
    COVERAGE,
    DATE,
    FASTER,
    KERAS,
    LESS,
    LOSS,
    MEMORY,
    SLOWER,
    TIME,
    History,
    Line,
    Machine,
    Point,
    Reading,
    Step,
)
from kbench.records.values import bare, base
from kbench.words.sentences import sentence
from kbench.words.text import listed, significant

SAME_LOSS, SAME_MEMORY = 0.01, 0.05  # what counts as equal, as a share
NAMED = 3  # public names in a sentence


def history(readings: Sequence[Reading], failed: Mapping[str, Sequence[str]] = {}) -> History:  # never changed
    """The lines of all readings, their steps, and what has to be said of them. failed: rows that did not run, by the
    reason.
    """
    kept, notes = _of_same_work(readings)
    notes += [f"Did not run ({why.rstrip('.')}): {listed(of[:5])}{_more(of, 5)}." for why, of in failed.items()]
    lines = tuple(_lines(kept))
    of_times = {line: times for line in lines if (times := _times(line)).boundaries}
    boundaries = sum(times.boundaries for times in of_times.values())
    found = [step for line, times in of_times.items() for step in _of_times(line, times, boundaries)]
    for line in lines:
        found += _of_values(line, LOSS, lambda one: one.loss, SAME_LOSS)
        found += _of_values(line, MEMORY, lambda one: one.memory, SAME_MEMORY)
        found += _of_coverage(line)
    visible = {line: steps.visible(times, boundaries) for line, times in of_times.items()}
    notes += _changes({one.machine: one.created for one in reversed(kept)})
    return History(lines, tuple(sorted(filter(_is_told, found), key=_size, reverse=True)), visible, tuple(notes))


def in_order(label: str) -> tuple[Version, str]:
    """By which versions are sorted."""
    try:
        return Version(label.partition(" ")[0]), label
    except InvalidVersion:
        return Version("0"), label


def _of_same_work(readings: Iterable[Reading]) -> tuple[list[Reading], list[str]]:
    """The readings that do what most of their kind do; and what is said of others, and of times that do not count."""
    kept, left = list[Reading](), dict[str, list[str]]()
    for group in _grouped(readings, lambda one: (one.key, one.machine)).values():
        usual = Counter(map(_fingerprint, group)).most_common(1)[0][0]
        model = next(one for one in group if _fingerprint(one) == usual)
        for one in group:
            unlike = fingerprints.list_differences(one.work, model.work)
            if why := sentence(unlike[0]) if unlike else one.refused:
                left.setdefault(why, []).append(f"{one.example} on {one.backend} in {one.run}")
            if not unlike:
                kept.append(one)
    notes = [f"Left out ({why}): {listed(names[:5])}{_more(names, 5)}." for why, names in left.items()]
    return sorted(kept, key=lambda one: one.created), notes


def _more(names: Sequence[str], shown: int) -> str:
    return f" and {len(names) - shown} more" if len(names) > shown else ""


def _fingerprint(one: Reading) -> str:
    return fingerprints.fingerprint(one.work)


def _grouped(readings: Iterable[Reading], key: Callable[[Reading], Hashable]) -> dict[Hashable, list[Reading]]:
    found: dict[Hashable, list[Reading]] = {}
    for one in readings:
        found.setdefault(key(one), []).append(one)
    return found


def _lines(readings: Sequence[Reading]) -> Iterable[Line]:
    for same in _grouped(readings, lambda one: (one.key, one.machine)).values():
        name = bare(base(same[0].plain)) or same[0].plain
        for version, those in _grouped(same, lambda one: one.framework).items():
            yield from _line(KERAS, those, those[0].plain, f"{name} {version}", lambda one: one.keras)
        for version, those in _grouped(same, lambda one: one.keras).items():
            yield from _line(name, those, those[0].plain, f"Keras {version}", lambda one: one.framework)
        for backend, those in _grouped(same, lambda one: one.backend).items():
            yield from _line(DATE, those, str(backend), "", lambda one: one.created[:16].replace("T", " "))


def _line(
    axis: str, readings: Sequence[Reading], backend: str, beside: str, label: Callable[[Reading], str]
) -> Iterable[Line]:
    points = _grouped([one for one in readings if label(one)], label)
    if len(points) > 1:
        order, one = sorted(map(str, points), key=None if axis == DATE else in_order), readings[0]
        along = tuple(Point(name, tuple(points[name])) for name in order)
        yield Line(axis, one.machine, one.example, backend, beside, along)


def _timed(line: Line) -> list[Point]:
    return [point for point in line.points if any(one.log_seconds is not None for one in point.readings)]


def _times(line: Line) -> Times:
    """Of the readings whose times count."""
    points = [[one for one in point.readings if one.log_seconds is not None] for point in _timed(line)]
    flat = [(place, one) for place, those in enumerate(points) for one in those]
    return Times(
        [place for place, _ in flat],
        [f"{one.run} {one.created}" for _, one in flat],
        [one.log_seconds or 0.0 for _, one in flat],
        [one.offsets for _, one in flat],
    )


def _of_times(line: Line, times: Times, boundaries: int) -> Iterable[Step]:
    timed = _timed(line)
    for one in steps.find(times, boundaries):
        before, after, kind = timed[one.place - 1], timed[one.place], SLOWER if one.log > 0 else FASTER
        low, high = map(math.exp, one.ends)
        yield Step(line, TIME, before, after, kind, math.exp(one.log), (low, high), one.chance)


def _of_values(line: Line, what: str, value: Callable[[Reading], float | None], same: float) -> Iterable[Step]:
    """Where what is the same in each run of a version changes by more than `same`, and than it did in one version."""
    pairs = [(one, sorted(v for v in map(value, one.readings) if v is not None)) for one in line.points]
    known = [(point, those) for point, those in pairs if those]
    for _, those in known:
        if those[0] > 0 and math.isfinite(those[-1]):
            same = max(same, 2 * (those[-1] / those[0] - 1))
    level = math.nan
    for number, (point, those) in enumerate(known):
        now = those[len(those) // 2]
        ratio = 1.0 if now == level or (math.isnan(now) and math.isnan(level)) else now / level if level else math.inf
        far = not math.isfinite(ratio) or max(ratio, 1 / ratio if ratio else math.inf) > 1 + same
        if number and far:
            kind = LOSS if what == LOSS else MEMORY if ratio > 1 else LESS
            told = " to ".join(f"{significant(one)}{' MiB' if what == MEMORY else ''}" for one in (level, now))
            yield Step(line, what, known[number - 1][0], point, kind, ratio, details=told)
        level = now if far or not number else level


def _of_coverage(line: Line) -> Iterable[Step]:
    """What became of public names, from each version to the next."""
    for before, after in pairwise(line.points):
        was, now = before.readings[-1].states, after.readings[-1].states
        if was is None or now is None:
            return
        from kbench.features.coverage.versions import compared

        names: dict[str, list[str]] = {}
        for change in compared(was, now).changes:
            names.setdefault(change.what, []).append(change.name)
        if names:
            words = [f"{len(of)} {what} ({', '.join(of[:NAMED])}{_more(of, NAMED)})" for what, of in names.items()]
            yield Step(line, COVERAGE, before, after, BROKE if BROKE in names else COVERAGE, details=listed(words))


def _is_told(step: Step) -> bool:
    """Not a step over dates where one version changed: the line over its versions has it."""
    return step.line.axis != DATE or len(step.changed_versions) != 1


def _size(step: Step) -> tuple[bool, float]:
    known = math.isfinite(step.ratio) and step.ratio > 0
    return step.what == TIME, abs(math.log(step.ratio)) if known else math.inf


def _changes(machines: Mapping[Machine, str]) -> list[str]:
    """Where a machine changed, so that a new line begins. machines: with the time of their first reading."""
    found = []
    for kind in dict.fromkeys(one.kind for one in machines):
        states = sorted((one for one in machines if one.kind == kind), key=lambda one: machines[one])
        for before, after in pairwise(states):
            changes = listed(before.changes(after))
            found.append(f"New lines begin on {machines[after][:10]}, as {kind} changed: {changes}.")
    return found
