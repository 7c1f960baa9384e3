"""The one comparison of rows, with ratios, intervals and verdicts: within a run, between runs, between machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from kbench import hooks
from kbench.analysis.times import intervals, machine_stability, processes
from kbench.analysis.times.processes import RowTime
from kbench.records import axes
from kbench.records.axes import Point, RowKey
from kbench.records.values import (
    AS_FAST,
    BASELINE,
    FASTER,
    FASTEST,
    NO_DIFFERENCE,
    NOT_COMPARED,
    OK,
    PRECISION,
    SLOWER,
    Interval,
)
from kbench.summary import TO_BASELINE, TO_DEFAULT, TO_FASTEST, Ratio, Summary

# How far two runs' times of the same program may be apart because the machine was another then: the logarithm of a
# factor, for 95 %. See benchmarks/process_spreads.py.
BETWEEN_RUNS = 0.04
# An interval that holds 1 and is wider than by this factor each way is no result: the row could not be compared.
WIDEST = 3.0
FAR = 150.0  # times: twice of how much longer threads that spin took beside other programs, at most


@dataclass(frozen=True)
class Timed:
    """A row, and what is behind its steady time."""

    row: Summary
    time: RowTime | None  # among the rows of its example; None where it has no steady time
    to_target: tuple[float, ...] = ()  # seconds to the target accuracy of each repeat; infinite where not reached
    point: Point | None = None  # among several runs

    @property
    def key(self) -> RowKey:
        """Its point, in its run or among several."""
        return self.point or self.row.key

    @property
    def seconds(self) -> float:
        """The steady time that is compared; NaN where there is none."""
        return math.nan if self.row.epoch_seconds is None else self.row.epoch_seconds


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
    backends: Mapping[str, Mapping[str, object]] | None = None,
    precision: float = PRECISION,
) -> list[Summary]:
    """The rows of a run with their ratios and verdicts; `timed` is in the order of the tables, fastest first.

    Every comparable row gets its ratio to the fastest; rows that tie are all the fastest. The intervals of the rows
    that are ranked together hold together at `confidence`, by Bonferroni's inequality: those of all pairs, since the
    fastest is chosen by the same data, or those of all rows with the baseline. The verdict is against the fastest, or
    against the backend `baseline` if one is named (its fastest row). A variant of a backend is also compared with
    that backend as it is, if that has a row; and rows with what features compare them with, of the run's `backends`,
    which may also stand for the baseline. Rows within `precision` of each other are as fast.
    """
    rows = [one for one in timed if _comparable(one)]
    added = {kind: comparison.suits(backends or {}) for kind, comparison in hooks.comparisons().items()}
    along, error = axes.ranked(), 1 - confidence
    variants = [one for one in axes.of_backends() if one != axes.BACKEND]

    def is_baseline(one: Timed, other: Timed) -> int:
        return added[baseline](one, other) if baseline in added else other.row.backend == baseline

    def is_default(one: Timed, other: Timed) -> bool:
        return one is not other and other.key == one.key.without(variants)

    by_row: dict[RowKey, list[Ratio]] = {}
    for one in (
        *compare(rows, along, lambda one, other: True, TO_FASTEST, error, precision),
        *compare(rows, along, is_baseline, TO_BASELINE, error, precision),
        *compare(rows, variants, is_default, TO_DEFAULT, error, precision),
        *(
            compared
            for kind, comparison in hooks.comparisons().items()
            for compared in compare(rows, comparison.along or along, added[kind], kind, error, precision)
        ),
    ):
        by_row.setdefault(one.row.key, []).append(one.ratio)
    summaries = [_with(one.row, baseline, by_row.get(one.key, ())) for one in timed]
    if baseline in added:
        references = {other.row.backend for other in timed if any(is_baseline(one, other) for one in timed)}
        summaries = [
            replace(row, verdict=BASELINE) if row.backend in references and row.ratios else row for row in summaries
        ]
    unknown = without_fastest(summaries)
    return [
        replace(row, verdict=NOT_COMPARED) if row.verdict == FASTEST and row.ranking in unknown else row
        for row in summaries
    ]


def compare(
    rows: Sequence[Timed],
    along: Collection[str],
    reference: Callable[[Timed, Timed], int],
    kind: str,
    error: float = 1 - intervals.CONFIDENCE,
    precision: float = PRECISION,
) -> list[Compared]:
    """The rows that have a reference, with their ratios to it: the one comparison of rows that there is.

    Only rows that are the same point but for the axes `along` are compared. `reference(row, other)` says how well the
    other suits as the row's reference, 0 not at all; of several that suit equally the first is taken. `error` is the
    chance that any interval of rows that are together is wrong: of all their pairs if the fastest is the reference.
    """
    found = []
    for together in axes.group_by_point(rows, lambda one: one.key, along).values():
        best = [(one, max(together, key=lambda other: reference(one, other))) for one in together]
        pairs = [(one, other) for one, other in best if reference(one, other)]
        count = math.comb(len(together), 2) if kind == TO_FASTEST else sum(one is not other for one, other in pairs)
        alpha = error / max(1, count)
        found += [Compared(one, other, _ratio(kind, one, other, alpha, precision)) for one, other in pairs]
    return found


def _with(row: Summary, baseline: str, found: Sequence[Ratio]) -> Summary:
    """The row with its ratios, and the verdict of the one that counts."""
    by_kind = {one.kind: one for one in found}
    counts = by_kind.get(TO_BASELINE if baseline else TO_FASTEST)
    return replace(row, baseline=baseline, ratios=by_kind, verdict=counts.verdict if counts else "")


def without_fastest(rows: Sequence[Summary]) -> list[Point]:
    """The rankings of which no fastest row is known, since no other could be compared with it."""
    others = [row for row in rows if (ratio := row.ratios.get(TO_FASTEST)) and ratio.value != 1]
    compared = {row.ranking for row in others if row.ratios[TO_FASTEST].verdict != NOT_COMPARED}
    return [ranking for ranking in dict.fromkeys(row.ranking for row in others) if ranking not in compared]


def _ratio(kind: str, one: Timed, reference: Timed, alpha: float, precision: float) -> Ratio:
    """The ratio of two rows' steady times, with an interval that is wrong with at most this chance.

    No interval for a row and itself, or for one that is as fast as the fastest. Rows of one run are compared if both
    were measured in a repeat, those of several by all that they measured.
    """
    name = reference.row.backend
    value = one.seconds / reference.seconds if reference.seconds else math.nan
    if one.key[axes.RUN] != reference.key[axes.RUN]:
        value, interval = _between_runs(one, reference, alpha)
        return Ratio(kind, name, value, interval, verdict(interval, precision))
    if one is reference or (kind == TO_FASTEST and value == 1):
        own = one.time.quantiles if one.time else ()
        return Ratio(kind, name, value, None, FASTEST if kind == TO_FASTEST else BASELINE, quantiles=own)
    if one.time is None or reference.time is None:
        return Ratio(kind, name, value, None, NOT_COMPARED)
    if machine_stability.disturbs(one.row, reference.row):  # the few turns that are left would show the machine
        return Ratio(kind, name, value, None, _whatever_disturbs(one.row, reference.row), rough=True)
    interval = processes.of_ratio(one.time, reference.time, alpha)
    common = len(one.time.repeats & reference.time.repeats)
    count = min(len(one.time.places), len(reference.time.places)) if common else 0
    within = processes.within(value, one.time, reference.time)
    own = one.time.quantiles if interval else ()
    return Ratio(kind, name, value, interval, verdict(interval, precision), count, within, own)


def _between_runs(one: Timed, reference: Timed, alpha: float) -> tuple[float, Interval | None]:
    """The ratio of rows that did not run together; with other sample counts, that of times per sample."""
    same = one.row.samples == reference.row.samples
    scale = 1.0 if same else _per_sample(one.row) / _per_sample(reference.row)
    value = scale * one.seconds / reference.seconds if reference.seconds else math.nan
    if one.time is None or reference.time is None or not 0 < value < math.inf:
        return math.nan, None
    interval = processes.between_runs(value, one.time, reference.time, alpha, BETWEEN_RUNS)
    return value, interval


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


def _whatever_disturbs(row: Summary, reference: Summary) -> str:
    """The verdict on rows that are so far apart that other programs cannot be why: by the ends of what was seen."""
    own, its = row.epoch_interval, reference.epoch_interval
    if own is None or its is None:
        return NOT_COMPARED
    return SLOWER if own.low > FAR * its.high else FASTER if its.low > FAR * own.high else NOT_COMPARED


def verdict(interval: Interval | None, precision: float = PRECISION) -> str:
    """The verdict from the interval of a ratio."""
    if interval is None:
        return NOT_COMPARED
    if interval.high < 1 or interval.low > 1:
        return FASTER if interval.high < 1 else SLOWER
    if max(interval.high, 1 / interval.low) <= 1 + precision:
        return AS_FAST
    return NO_DIFFERENCE if interval.high <= WIDEST**2 * interval.low else NOT_COMPARED


def extend_to(interval: Interval, estimate: float) -> Interval:
    """The interval, widened to include the estimate.

    The estimate is the median of all epochs and the interval that of the repeats' medians: they can differ a little.
    """
    return Interval(min(interval.low, estimate), max(interval.high, estimate))


def _comparable(one: Timed) -> bool:
    return one.row.status == OK and not one.row.differs and 0 < one.seconds < math.inf and one.row.work.compared
