"""The one comparison of rows, with ratios, intervals and verdicts: within a run, between runs, between machines."""

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
    point: Point | None = None  # among several runs

    @property
    def key(self) -> RowKey:
        """Its point, in its run or among several."""
        return self.point or self.row.key

    @property
    def seconds(self) -> float:
        """The steady time that is compared; NaN where there is none."""
        time = self.in_turns or self.of_epochs
        seconds = time.seconds if time else self.row.epoch_seconds
        return math.nan if seconds is None else seconds

    def prediction_half_width(self) -> float:
        """How far processes put its time off where `sample` does not show it: the logarithm of a factor, for 95 %."""
        if self.of_epochs is None or self.row.resampled == REPEATS:
            return 0.0
        return self.of_epochs.prediction_half_width(self.row.repeats)


@dataclass(frozen=True)
class Compared:
    """A row, the one that it is compared with, and their ratio."""

    row: Timed
    reference: Timed
    ratio: Ratio


def ranked(
    timed: Sequence[Timed],
    baseline: str = "",
    confidence: float = intervals.CONFIDENCE,
    natives: Mapping[str, str] | None = None,
) -> list[Summary]:
    """The rows of a run with their ratios and verdicts; `timed` is in the order of the tables, fastest first.

    Every comparable row gets its ratio to the fastest; rows that tie are all the fastest. The intervals of the rows
    that are ranked together hold together at `confidence`, by Bonferroni's inequality: those of all pairs, since the
    fastest is chosen by the same data, or those of all rows with the baseline. The verdict is against the fastest, or
    against the backend `baseline` if one is named (its fastest row). A variant of a backend is also compared with
    that backend as it is, if that has a row, and a Keras backend with its framework without Keras, which `natives`
    names; as a baseline, NATIVE means that one.
    """
    rows, natives = [one for one in timed if _comparable(one)], natives or {}
    along, error = axes.ranked(), 1 - confidence
    variants = [one for one in axes.of_backends() if one != axes.BACKEND]

    def is_native(one: Timed, other: Timed) -> bool:
        return other.row.backend == natives.get(one.row.backend, "")

    def is_baseline(one: Timed, other: Timed) -> bool:
        return is_native(one, other) if baseline == NATIVE else other.row.backend == baseline

    def is_default(one: Timed, other: Timed) -> bool:
        return one is not other and other.key == one.key.without(variants)

    by_row: dict[RowKey, list[Ratio]] = {}
    for one in (
        *compare(rows, along, lambda one, other: True, TO_FASTEST, error),
        *compare(rows, along, is_baseline, TO_BASELINE, error),
        *compare(rows, variants, is_default, TO_DEFAULT, error),
        *compare(rows, along, is_native, TO_NATIVE, error),
    ):
        by_row.setdefault(one.row.key, []).append(one.ratio)
    compared = [_with(one.row, baseline, by_row.get(one.key, ())) for one in timed]
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


def compare(
    rows: Sequence[Timed],
    along: Collection[str],
    reference: Callable[[Timed, Timed], int],
    kind: str,
    error: float = 1 - intervals.CONFIDENCE,
) -> list[Compared]:
    """The rows that have a reference, with their ratios to it: the one comparison of rows that there is.

    Only rows that are the same point but for the axes `along` are compared. `reference(row, other)` says how well the
    other suits as the row's reference, 0 not at all; of several that suit equally the first is taken. `error` is the
    chance that any interval of rows that are together is wrong: of all their pairs if the fastest is the reference.
    """
    found = []
    for together in axes.beside(rows, lambda one: one.key, along).values():
        best = [(one, max(together, key=lambda other: reference(one, other))) for one in together]
        pairs = [(one, other) for one, other in best if reference(one, other)]
        count = math.comb(len(together), 2) if kind == TO_FASTEST else sum(one is not other for one, other in pairs)
        found += [Compared(one, other, _ratio(kind, one, other, error / max(1, count))) for one, other in pairs]
    return found


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
    """The ratio of two rows' steady times, with an interval that is wrong with at most this chance.

    No interval for a row and itself, or for one that is as fast as the fastest. Rows of one run are compared by what
    both measured in a repeat, those of several by all that they measured.
    """
    name = reference.row.backend
    if one.key[axes.RUN] != reference.key[axes.RUN]:
        value, interval = _between_runs(one, reference)
        return Ratio(kind, name, value, interval, verdict(interval))
    value = one.seconds / reference.seconds
    if one is reference or (kind == TO_FASTEST and value == 1):
        return Ratio(kind, name, value, None, FASTEST if kind == TO_FASTEST else BASELINE)
    times = _row_times(one, reference)
    if times is None:
        return Ratio(kind, name, value, None, NOT_COMPARED)
    interval = processes.of_ratio(value, *times, chance)
    common = len(times[0].repeats & times[1].repeats)
    return Ratio(kind, name, value, interval, verdict(interval), common, processes.within(value, *times))


def _between_runs(one: Timed, reference: Timed) -> tuple[float, Interval | None]:
    """The ratio of rows that did not run together; with other sample counts, that of times per sample."""
    same = one.row.samples == reference.row.samples
    scale = 1.0 if same else _per_sample(one.row) / _per_sample(reference.row)
    width = math.hypot(one.prediction_half_width(), reference.prediction_half_width())
    time = one.row.epoch_seconds and scale * one.row.epoch_seconds
    sample = [scale * seconds for seconds in one.sample]
    return between_samples(time, reference.row.epoch_seconds, sample, reference.sample, width)


def _per_sample(row: Summary) -> float:
    return (row.seconds_per_1000_samples or math.nan) / (row.epoch_seconds or math.nan)


def between_samples(
    time: float | None,
    reference: float | None,
    sample: Sequence[float],
    references: Sequence[float],
    half_width: float = 0.0,
) -> tuple[float, Interval | None]:
    """time / reference, with its interval by the bootstrap; NaN and None where one of them is missing or not above 0.

    `half_width`: what the samples do not show of how processes differ, as the logarithm of a factor.
    """
    if not (time and reference) or not 0 < (ratio := time / reference) < math.inf:
        return math.nan, None
    interval = intervals.of_ratio(sample, references)
    return ratio, intervals.scale_interval(extend_to(interval, ratio), ratio, half_width) if interval else None


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
