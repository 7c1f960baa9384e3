"""Throughput against the one setting that varies between runs: batch size, threads or number of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kbench.summary import Summary
from kbench.values import OK, Interval

THREADS, BATCH_SIZE, SAMPLES = "threads", "batch size", "number of samples"

_REACH = 4.0  # intervals are cut at so many times the highest and lowest point: some are a hundred times as wide
_ROOM = 2.0  # the ideal line ends at so many times the highest point, or it would squeeze the others


@dataclass(frozen=True)
class Side:
    """What matters here of one of the runs."""

    summaries: Sequence[Summary]
    threads: int | None  # of each cell; None where the run does not say
    alike: Mapping[str, str] = field(default_factory=dict)  # what else must be the same, by its name
    models: Mapping[str, str] = field(default_factory=dict)  # by example: the hash of its file


@dataclass(frozen=True)
class Point:
    """A row of one run."""

    at: int  # what varies
    throughput: float  # samples/s, of the steady epochs
    interval: Interval | None
    row: Summary


@dataclass(frozen=True)
class Lines:
    """One example's rows over the runs."""

    example: str
    variable: str  # THREADS, BATCH_SIZE or SAMPLES
    rows: tuple[tuple[Point, ...], ...]  # a line each: backend, layout and device are the same; sorted
    ideal: tuple[tuple[float, float], tuple[float, float]]  # from the fastest at the least value on
    left_out: tuple[str, ...] = ()  # backends with a row that was not measured like the others

    @property
    def grows(self) -> bool:
        """Whether the ideal throughput grows in proportion; with more samples it stays the same."""
        return self.variable != SAMPLES

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and highest samples/s to draw; None where nothing is cut off."""
        points = [point for row in self.rows for point in row]
        shown = [*(point.throughput for point in points), *(throughput for _, throughput in self.ideal)]
        low, high = min(shown) / _REACH, max(shown) * _REACH
        known = [point.interval for point in points if point.interval]
        return (low, high) if any(one.low < low or one.high > high for one in known) else None


def lines(sides: Sequence[Side]) -> tuple[list[Lines], list[str]]:
    """The lines of each example where a single setting varies, and sentences on the examples without lines."""
    examples = dict.fromkeys(row.example for side in sides for row in side.summaries)
    found: list[Lines] = []
    missing: dict[str, list[str]] = {}
    for example in examples:
        made = _of_example(example, sides)
        if isinstance(made, Lines):
            found.append(made)
        else:
            missing.setdefault(made, []).append(example)
    return found, [f"No scaling lines for {', '.join(names)}: {why}." for why, names in missing.items()]


def _of_example(example: str, sides: Sequence[Side]) -> Lines | str:
    """The example's lines, or why there are none."""
    here = [(side, [row for row in side.summaries if row.example == example]) for side in sides]
    here = [(side, rows) for side, rows in here if rows]
    if len(here) < 2:
        return "only one of the runs has it"
    values: dict[str, list[int | None]] = {
        THREADS: [side.threads for side, _ in here],
        BATCH_SIZE: [rows[0].batch_size for _, rows in here],
        SAMPLES: [rows[0].samples for _, rows in here],
    }
    varying = [name for name, found in values.items() if len(set(found)) > 1]
    if not varying:
        return f"{_listed(list(values))} are the same in all runs"
    others = _others(here)
    if len(varying) > 1 or others:
        return f"{_listed([*varying, *others])} vary together, and a line can show only one of them"
    (variable,) = varying
    if None in values[variable]:
        return f"one of the runs does not report its {variable}"
    points: dict[tuple[str, str, str], list[Point]] = {}
    for at, (_, rows) in zip(values[variable], here, strict=True):
        for row in rows:
            if row.status == OK and not row.differs and row.samples_per_second and at:
                point = Point(at, row.samples_per_second, _interval(row), row)
                points.setdefault((row.backend, row.image_data_format, row.device), []).append(point)
    drawn = tuple(tuple(sorted(points[row], key=lambda point: point.at)) for row in sorted(points))
    if not any(len({point.at for point in row}) > 1 for row in drawn):
        return f"no backend ended ok with more than one value of {variable}"
    differing = sorted({row.backend for _, rows in here for row in rows if row.differs})
    return Lines(example, variable, drawn, _ideal(drawn, variable != SAMPLES), tuple(differing))


def _others(here: Sequence[tuple[Side, Sequence[Summary]]]) -> list[str]:
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


def _interval(row: Summary) -> Interval | None:
    """Of the samples per second, from that of the seconds per sample."""
    seconds = row.per_1000_interval
    return Interval(1000 / seconds.high, 1000 / seconds.low) if seconds and seconds.low > 0 else None


def _ideal(rows: Sequence[Sequence[Point]], grows: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    every = [point for row in rows for point in row]
    first, last = min(point.at for point in every), max(point.at for point in every)
    start = max(point.throughput for point in every if point.at == first)
    if not grows:
        return (first, start), (last, start)
    end = min(last / first, _ROOM * max(point.throughput for point in every) / start)
    return (first, start), (first * end, start * end)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
