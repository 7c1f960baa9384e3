"""Throughput along an axis with numbers: batch size, workers, threads, samples; within a run, or between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kbench.records import axes
from kbench.records.axes import Axis, RowKey
from kbench.records.values import OK, Interval
from kbench.summary import Summary

_REACH = 4.0  # intervals are cut at so many times the highest and lowest point: some are a hundred times as wide
_ROOM = 2.0  # the ideal line ends at so many times the highest point, or it would squeeze the others


@dataclass(frozen=True)
class SweepRun:
    """What matters here of one of the runs."""

    summaries: Sequence[Summary]
    alike: Mapping[str, str] = field(default_factory=dict)  # what else must be the same, by its name
    models: Mapping[str, str] = field(default_factory=dict)  # by example: the hash of its file


@dataclass(frozen=True)
class LinePoint:
    """A row at its value on the axis."""

    at: int
    row: Summary

    @property
    def throughput(self) -> float:
        """Samples/s, of the steady epochs."""
        return self.row.samples_per_second or 0.0

    @property
    def interval(self) -> Interval | None:
        """Of the samples per second, from that of the seconds per sample."""
        seconds = self.row.per_1000_interval
        return Interval(1000 / seconds.high, 1000 / seconds.low) if seconds and seconds.low > 0 else None


@dataclass(frozen=True)
class Line:
    """Rows that are the same point but for the axis, sorted along it."""

    key: RowKey  # without the axis
    points: tuple[LinePoint, ...]


@dataclass(frozen=True)
class Lines:
    """One example's rows along an axis."""

    example: str
    axis: Axis
    lines: tuple[Line, ...]
    ideal: tuple[tuple[float, float], tuple[float, float]]  # from the fastest at the least value on
    left_out: tuple[str, ...] = ()  # backends with a row that was not measured like the others
    task: str = ""  # where that varies between the example's rows

    @property
    def title(self) -> str:
        """The example, and what is done with it where that varies."""
        return axes.titled(self.example, {axes.TASK: self.task})

    @property
    def others(self) -> list[Axis]:
        """The axes, beside this one, that make other work of the lines, or with numbers on which they differ."""
        found = axes.varying((line.key for line in self.lines), [one.name for one in axes.numbers()])
        return [axis for axis in found if axis.number or not axis.same_work]

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and highest samples/s to draw; None where nothing is cut off."""
        points = [point for line in self.lines for point in line.points]
        shown = [*(point.throughput for point in points), *(throughput for _, throughput in self.ideal)]
        low, high = min(shown) / _REACH, max(shown) * _REACH
        known = [point.interval for point in points if point.interval]
        return (low, high) if any(one.low < low or one.high > high for one in known) else None


def within(rows: Sequence[Summary]) -> list[Lines]:
    """The lines of the examples of one run."""
    return lines([SweepRun(rows)])[0]


def lines(sides: Sequence[SweepRun]) -> tuple[list[Lines], list[str]]:
    """The lines of each example along each axis, and sentences on the examples of several runs without lines."""
    examples = dict.fromkeys((row.example, _task(row)) for side in sides for row in side.summaries)
    found: list[Lines] = []
    missing: dict[str, list[str]] = {}
    for example, task in examples:
        made = _of_example(example, task, sides)
        if isinstance(made, str):
            missing.setdefault(made, []).append(example)
        else:
            found += made
    said = [f"No scaling lines for {', '.join(names)}: {why}." for why, names in missing.items()]
    return found, said if len(sides) > 1 else []


def _task(row: Summary) -> str:
    """What is done with the example, where that is not what it says itself."""
    return str(row.key.named[axes.TASK] or "")


def _of_example(example: str, task: str, sides: Sequence[SweepRun]) -> list[Lines] | str:
    """The example's lines, or why there are none."""
    here = [(side, [row for row in side.summaries if (row.example, _task(row)) == (example, task)]) for side in sides]
    here = [(side, rows) for side, rows in here if rows]
    if len(here) < min(2, len(sides)):
        return "only one of the runs has it"
    rows = [row for _, found in here for row in found]
    varying = [axis for axis in axes.numbers() if len({_value(row, axis) for row in rows}) > 1]
    if not varying:
        return f"{_listed([axis.title for axis in axes.numbers()])} are the same in all runs"
    others = _others(here)
    if others:
        return _together([*(axis.title for axis in varying), *others])
    if unknown := [axis.title for axis in varying if any(_value(row, axis) is None for row in rows)]:
        return f"one of the runs does not report its {unknown[0]}"
    timed = [row for row in rows if row.status == OK and not row.differs and row.samples_per_second]
    differing = tuple(sorted({row.backend for row in rows if row.differs}))
    found = [one for axis in varying if (one := _along(axis, example, timed, differing))]
    if found:
        return found
    if len(varying) > 1:
        return _together([axis.title for axis in varying])
    return f"no backend ended ok with more than one value of {varying[0].title}"


def _along(axis: Axis, example: str, timed: Sequence[Summary], differing: tuple[str, ...]) -> Lines | None:
    found = axes.group_by_point(timed, _point, [axis.name, *carried(axis, timed)])
    drawn = [
        Line(key, tuple(sorted((LinePoint(_value(row, axis) or 0, row) for row in rows), key=lambda one: one.at)))
        for key, rows in found.items()
    ]
    if not any(len({one.at for one in line.points}) > 1 for line in drawn):
        return None
    order = axes.order_of([line.key.ranking for line in drawn])
    drawn.sort(key=lambda line: (order(line.key.ranking), str(line.key)))
    return Lines(example, axis, tuple(drawn), _ideal(drawn, axis), differing, _task(timed[0]))


def carried(axis: Axis, rows: Sequence[Summary]) -> list[str]:
    """The axis whose value follows from that of this one: with each it has one other."""
    pairs = {(_point(row)[axis.name], _point(row)[axis.carries]) for row in rows}
    follows = axis.carries and len(pairs) == len({own for own, _ in pairs}) == len({other for _, other in pairs})
    return [axis.carries] if follows else []


def _value(row: Summary, axis: Axis) -> int | None:
    value = _point(row)[axis.name]
    return value or None if isinstance(value, int) else None  # 0: unknown


def _point(row: Summary) -> RowKey:
    """Its point, with the numbers that were found of observed work."""
    found = {one.name: getattr(row, one.name, 0) for one in axes.numbers() if row.work.repeated}
    return axes.point({**dict(row.key.values), **found}, varied=row.key.varied)


def _others(here: Sequence[tuple[SweepRun, Sequence[Summary]]]) -> list[str]:
    """What else differs between runs that report it, and affects the throughput."""
    reported: dict[str, set[str]] = {}
    for side, rows in here:
        facts = {**side.alike, "the example's file": side.models.get(rows[0].example, "")}
        for row in rows:
            facts |= {
                f"the version of {row.backend}": row.backend_version,
                f"Keras of {row.backend}": row.keras_version,
            }
            facts["the data"] = " ".join(filter(None, (row.data_source, row.data)))
        for name, value in facts.items():
            if value:
                reported.setdefault(name, set()).add(value)
    return [name for name, found in reported.items() if len(found) > 1]


def _ideal(lines: Iterable[Line], axis: Axis) -> tuple[tuple[float, float], tuple[float, float]]:
    every = [point for line in lines for point in line.points]
    first, last = min(point.at for point in every), max(point.at for point in every)
    start = max(point.throughput for point in every if point.at == first)
    if not axis.speeds_up:
        return (first, start), (last, start)
    end = min(last / first, _ROOM * max(point.throughput for point in every) / start)
    return (first, start), (first * end, start * end)


def _together(names: Sequence[str]) -> str:
    return f"{_listed(names)} vary together, and a line can show only one of them"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
