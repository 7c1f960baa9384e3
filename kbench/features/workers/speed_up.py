"""How many times faster several workers are than one: which row that is, the columns, and the sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from kbench.additions import Column, Comparison
from kbench.features.workers.axes import SCALING, WEAK, scaling
from kbench.records import axes
from kbench.records.axes import THREADS, WORKERS
from kbench.records.values import Interval
from kbench.summary import Figure, Summary
from kbench.tables.entries import with_half
from kbench.words.text import MISSING, format_bound, listed

if TYPE_CHECKING:
    from kbench.analysis.times.ratios import Timed

KIND = "one worker"  # of the same backend
_LOAD = "other programs used the processor"
_SAME_THREADS = 1 << 20  # of a reference: more than any number of threads


def _count(row: Summary) -> int:
    return int(row.key[WORKERS] or 1)


def _suits(backends: Mapping[str, Mapping[str, object]]) -> Callable[[Timed, Timed], int]:
    def is_alone(row: Timed, other: Timed) -> int:
        """Whether the other is one worker: best with as many threads as each has, else with most."""
        if _count(row.row) == 1 or _count(other.row) > 1:
            return 0
        threads = other.key[THREADS]
        return _SAME_THREADS if row.key[THREADS] == threads else 1 + (threads if isinstance(threads, int) else 0)

    return is_alone


def speed_up(row: Summary) -> float | None:
    """How many times the samples per second of one worker."""
    ratio = row.ratios.get(KIND)
    return 1 / ratio.value if ratio and ratio.value > 0 else None


def interval(row: Summary) -> Interval | None:
    """Of the speed-up."""
    ratio = row.ratios.get(KIND)
    return Interval(1 / ratio.interval.high, 1 / ratio.interval.low) if ratio and ratio.interval else None


def efficiency(row: Summary) -> float | None:
    """Of a worker: its part of the speed-up."""
    gain = speed_up(row)
    return gain and gain / _count(row)


def is_rough(row: Summary) -> bool:
    """Whether other programs disturbed most turns that it is from: then it is not told in numbers."""
    return KIND in row.ratios and row.ratios[KIND].rough


def _shown_speed_up(row: Summary) -> str:
    return "?" if is_rough(row) else with_half(speed_up(row), interval(row))


def _shown_efficiency(row: Summary) -> str:
    shown = efficiency(row)
    return MISSING if shown is None else "?" if is_rough(row) else f"{shown:.0%}"


def sentences(rows: Sequence[Summary]) -> list[str]:
    """Such as `2 workers: 1.70 times (1.61 to 1.79) the samples/s of one on ONE, 1.10 (1.02 to 1.18) on OTHER.`, and
    of which that cannot be said.
    """
    groups: dict[tuple[int, int | None], list[Summary]] = {}
    for row in rows:
        if speed_up(row) is not None:
            groups.setdefault((_count(row), row.threads), []).append(row)
    several = len({threads for _, threads in groups}) > len({workers for workers, _ in groups})
    made = []
    for (workers, threads), group in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        clear = sorted((row for row in group if not is_rough(row)), key=lambda row: -(speed_up(row) or 0.0))
        of_each = f" with {axes.shown(axes.by_name(THREADS), threads)} each" if several else ""
        if clear:
            first = f"{_times(clear[0], ' times')} the samples/s of one on {clear[0].backend}"
            each = [first, *(f"{_times(row)} on {row.backend}" for row in clear[1:])]
            made.append(f"{workers} workers{of_each}: {', '.join(each)}.")
        if rough := [row.backend for row in group if is_rough(row)]:
            made.append(f"{workers} workers{of_each} could not be compared with one on {listed(rough)}: {_LOAD}.")
    return made


def _times(row: Summary, unit: str = "") -> str:
    """A speed-up with its interval: `1.70 times (1.61 to 1.79)`."""
    ends = interval(row)
    shown = f" ({format_bound(ends.low)} to {format_bound(ends.high)})" if ends else ""
    return f"{format_bound(speed_up(row) or 0.0)}{unit}{shown}"


def _on_speed_up(rows: Sequence[Summary]) -> str:
    gained = {row.threads for row in rows if _count(row) > 1 and speed_up(row) is not None}
    if not gained:
        return ""
    alone = {row.threads for row in rows if _count(row) == 1}
    same = bool(alone) and gained <= alone
    of_one = "with as many threads as each of several" if same else "which has all cores that several divide"
    unknown = " ?: could not be compared." if any(map(is_rough, rows)) else ""
    return f"speed-up: samples/s over those of one worker of the same backend, {of_one}.{unknown}"


def _on_efficiency(rows: Sequence[Summary]) -> str:
    return "efficiency: speed-up / workers." if any(speed_up(row) is not None for row in rows) else ""


def _on_scaling(rows: Sequence[Summary]) -> str:
    """How several workers share the batches; a run has one way."""
    ways = {scaling(row.key) == WEAK for row in rows if _count(row) > 1}
    strong = "Strong scaling: all workers share each batch." if False in ways else ""
    weak = "Weak scaling: each worker has a batch of the batch size, at the same learning rate."
    return " ".join(filter(None, (strong, weak if True in ways else "")))


COMPARISON = Comparison(KIND, _suits, along=(WORKERS, THREADS), in_words=sentences)
COLUMNS = (
    Column(WORKERS, "batch_making_seconds", None, Figure(), _count),
    Column(SCALING, WORKERS, None, Figure(), lambda row: scaling(row.key), remark=_on_scaling),
    Column(
        "speed_up",
        SCALING,
        None,
        Figure(title="speed-up", shown="comparison"),
        speed_up,
        entry=_shown_speed_up,
        remark=_on_speed_up,
    ),
    Column("speed_up_interval", "speed_up", None, Figure("speed_up", "ends"), interval),
    Column(
        "efficiency",
        "speed_up_interval",
        None,
        Figure(title="efficiency", shown="comparison"),
        efficiency,
        entry=_shown_efficiency,
        remark=_on_efficiency,
    ),
)
