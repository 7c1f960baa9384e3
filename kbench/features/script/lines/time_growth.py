"""Whether each epoch or call of a program takes longer than those before, as where a graph grows all along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kbench.analysis.times import trend
from kbench.analysis.times.machine_stability import mostly_disturbed
from kbench.analysis.times.step_times import steady
from kbench.features.script.lines.finding_kinds import TIME_GROWTH
from kbench.records.findings import Finding
from kbench.records.values import Measured

FACTOR = 1.5  # the last takes so many times as long as the first: less may be the machine
FLAT = 1.2  # the last third takes no longer than so many times the first one


@dataclass(frozen=True)
class TimeGrowth:
    """Seconds of the second and of the last epoch or call: the first one also compiles."""

    first: float
    last: float
    count: int


def of_row(ok: Sequence[Measured]) -> TimeGrowth | None:
    """That of a row whose processes all show it, by the first one; None where one does not, or where other programs
    disturbed most turns.
    """
    if mostly_disturbed(ok):
        return None
    found = [_of_process(one) for one in ok]
    return None if None in found or not found else found[0]


def _of_process(measured: Measured) -> TimeGrowth | None:
    values = [(float(number), one.seconds) for number, one in enumerate(steady(measured.epochs), 2)]
    if len(values) < trend.LEAST or trend.growing(values, (FACTOR - 1) * values[0][1], noisy=True) is None:
        return None
    return TimeGrowth(values[0][1], values[-1][1], len(values) + 1)


def is_flat(ok: Sequence[Measured]) -> bool:
    """Whether no process of the row takes longer towards its end."""
    several = [[one.seconds for one in steady(measured.epochs)] for measured in ok]
    thirds = [(one[: len(one) // 3], one[-(len(one) // 3) :]) for one in several if len(one) >= trend.LEAST]
    return bool(ok) and len(thirds) == len(ok) and all(median(last) <= FLAT * median(first) for first, last in thirds)


def finding(grows: TimeGrowth, unit: str) -> Finding:
    """What is said of it beside the row. unit: such as "epoch"."""
    return Finding(kind=TIME_GROWTH, aspect=unit, own=grows.last, other=grows.first, about={"count": grows.count})
