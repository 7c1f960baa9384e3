"""Rows against the fastest of their example and device, and against a baseline: ratios, intervals, verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kbench import axes
from kbench.analysis import intervals, processes
from kbench.analysis.processes import RowTime
from kbench.axes import Point, RowKey
from kbench.summary import TO_BASELINE, TO_DEFAULT, TO_FASTEST, TO_NATIVE, Ratio, Summary
from kbench.values import (
    BASELINE,
    FASTER,
    FASTEST,
    NATIVE,
    NO_DIFFERENCE,
    NOT_COMPARED,
    OK,
    REPEATS,
    SLOWER,
    Interval,
    base,
)

# With so many repeats, they are resampled and not their epochs: those of one process are not independent.
ENOUGH_REPEATS = 3
# An interval that holds 1 and is wider than by this factor each way is no result: the row could not be compared.
WIDEST = 3.0


@dataclass(frozen=True)
class Timed:
    """A row, and the samples behind the interval of its steady time."""

    row: Summary
    sample: tuple[float, ...]
    to_target: tuple[float, ...] = ()  # seconds to the target accuracy of each repeat; infinite where not reached
    in_turns: RowTime | None = None  # among the rows of its example, for rows that took turns and share enough rounds
    of_epochs: RowTime | None = None  # the same by its epochs

    @property
    def seconds(self) -> float:
        """The steady time that is compared; NaN where there is none."""
        time = self.in_turns or self.of_epochs
        seconds = time.seconds if time else self.row.epoch_seconds
        return math.nan if seconds is None else seconds

    def prediction_half_width(self) -> float:
        """How far processes put its time off where `sample` does not show it: the logarithm of a factor, for 95 %."""
        return (
            0.0
            if self.of_epochs is None or self.row.resampled == REPEATS
            else self.of_epochs.prediction_half_width(self.row.repeats)
        )


def compare(
    timed: Sequence[Timed],
    baseline: str = "",
    confidence: float = intervals.CONFIDENCE,
    natives: Mapping[str, str] | None = None,
) -> list[Summary]:
    """The rows with their ratios and verdicts; `timed` is in the order of the tables, fastest first.

    Every comparable row gets its ratio to the fastest; rows that tie are all the fastest. The intervals of the rows
    that are ranked together hold together at `confidence`, by Bonferroni's inequality: those of all pairs, since the
    fastest is chosen by the same data, or those of all rows with the baseline. The verdict is against the fastest, or
    against the backend `baseline` if one is named (its fastest row). A variant of a backend is also compared with
    that backend as it is, if that has a row, and a Keras backend with its framework without Keras, which `natives`
    names; as a baseline, NATIVE means that one.
    """
    rows, natives = [one for one in timed if _comparable(one)], natives or {}

    def chance(pairs: int) -> float:
        return (1 - confidence) / max(1, pairs)

    def to_native(kind: str) -> dict[RowKey, Ratio]:
        found = along(rows, axes.ranked(), lambda one, other: other.row.backend == natives.get(one.row.backend, ""))
        return _ratios(kind, found, lambda together, pairs: chance(pairs))

    def to_baseline() -> dict[RowKey, Ratio]:
        if baseline == NATIVE:
            return to_native(TO_BASELINE)
        found = along(rows, axes.ranked(), lambda one, other: other.row.backend == baseline)
        return _ratios(TO_BASELINE, found, lambda together, pairs: chance(together - 1))

    first = along(rows, axes.ranked(), lambda one, other: True)
    variants = [one for one in axes.of_backends() if one != axes.BACKEND]
    as_is = along(rows, variants, lambda one, other: one is not other and other.row.backend == base(one.row.backend))
    found = [
        _ratios(TO_FASTEST, first, lambda together, pairs: chance(math.comb(together, 2))),
        to_baseline(),
        _ratios(TO_DEFAULT, as_is, lambda together, pairs: chance(pairs)),
        to_native(TO_NATIVE),
    ]
    compared = [
        _with(one.row, baseline, [kind[key] for kind in found if (key := one.row.key) in kind]) for one in timed
    ]
    if baseline == NATIVE:
        compared = [
            replace(row, verdict=BASELINE) if row.backend in natives.values() and row.ratios else row
            for row in compared
        ]
    unknown = without_fastest(compared)
    return [
        replace(row, verdict=NOT_COMPARED) if row.verdict == FASTEST and row.ranking in unknown else row
        for row in compared
    ]


def along(
    rows: Sequence[Timed], names: Collection[str], is_reference: Callable[[Timed, Timed], bool]
) -> list[tuple[list[Timed], list[tuple[Timed, Timed]]]]:
    """Rows that are the same point but for the axes `names`, and each with its reference.

    A row's reference is the first of the rows beside it for which `is_reference(row, other)` holds; a row without one
    is left out.
    """
    found = []
    for together in axes.beside(rows, lambda one: one.row.key, names).values():
        pairs = [
            (one, reference)
            for one in together
            if (reference := next((other for other in together if is_reference(one, other)), None))
        ]
        found.append((together, pairs))
    return found


def _ratios(
    kind: str,
    found: Sequence[tuple[Sequence[Timed], Sequence[tuple[Timed, Timed]]]],
    chance: Callable[[int, int], float],
) -> dict[RowKey, Ratio]:
    """The ratio of each row to its reference; `chance` of an error, from the numbers of rows and of pairs."""
    return {
        one.row.key: _ratio(kind, one, reference, chance(len(together), len(pairs)))
        for together, pairs in found
        for one, reference in pairs
    }


def _with(row: Summary, baseline: str, found: Sequence[Ratio]) -> Summary:
    """The row with its ratios, and the verdict of the one that counts."""
    by_kind = {one.kind: one for one in found}
    counts = by_kind.get(TO_BASELINE if baseline else TO_FASTEST)
    return replace(row, baseline=baseline, ratios=by_kind, verdict=counts.verdict if counts else "")


def without_fastest(rows: Sequence[Summary]) -> set[Point]:
    """The rankings of which no fastest row is known, since no other could be compared with it."""
    others = [row for row in rows if (ratio := row.ratios.get(TO_FASTEST)) and ratio.value != 1]
    compared = {row.ranking for row in others if row.ratios[TO_FASTEST].verdict != NOT_COMPARED}
    return {row.ranking for row in others} - compared


def _ratio(kind: str, one: Timed, reference: Timed, chance: float) -> Ratio:
    """The ratio of two comparable rows' steady times, with an interval that is wrong with at most this chance.

    No interval for a row and itself, or for one that is as fast as the fastest.
    """
    value, name = one.seconds / reference.seconds, reference.row.backend
    if one is reference or (kind == TO_FASTEST and value == 1):
        return Ratio(kind, name, value, None, FASTEST if kind == TO_FASTEST else BASELINE)
    times = _row_times(one, reference)
    if times is None:
        return Ratio(kind, name, value, None, NOT_COMPARED)
    interval = processes.of_ratio(value, *times, chance)
    common = len(times[0].repeats & times[1].repeats)
    return Ratio(kind, name, value, interval, verdict(interval), common, processes.within(value, *times))


def _row_times(one: Timed, reference: Timed) -> tuple[RowTime, RowTime] | None:
    """The times of two rows by what both have in a repeat: turns, or else epochs. None where other programs
    disturbed most of their turns: the few that are left, or epochs that hold the others, would show the machine.
    """
    if 2 * (one.row.disturbed_turns + reference.row.disturbed_turns) > one.row.turns + reference.row.turns:
        return None
    kinds = ((one.in_turns, reference.in_turns), (one.of_epochs, reference.of_epochs))
    return next(((mine, its) for mine, its in kinds if mine and its and mine.repeats & its.repeats), None)


def verdict(interval: Interval | None) -> str:
    """The verdict from the interval of a ratio."""
    if interval is None:
        return NOT_COMPARED
    if interval.low <= 1 <= interval.high:
        return NO_DIFFERENCE if interval.high <= WIDEST**2 * interval.low else NOT_COMPARED
    return FASTER if interval.high < 1 else SLOWER


def extend_to(interval: Interval, estimate: float) -> Interval:
    """The interval, widened to include the estimate.

    The estimate is the median of all epochs and the interval that of the repeats' medians: they can differ a little.
    """
    return Interval(min(interval.low, estimate), max(interval.high, estimate))


def _comparable(one: Timed) -> bool:
    return one.row.status == OK and not one.row.differs and 0 < one.seconds < math.inf and one.row.work.compared
