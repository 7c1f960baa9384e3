"""Rows against the fastest of their example and device, and against a baseline: ratios, intervals, verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kbench.analysis import intervals, processes
from kbench.analysis.processes import Level
from kbench.summary import Summary
from kbench.values import (
    BASELINE,
    FASTER,
    FASTEST,
    NATIVE,
    NO_DIFFERENCE,
    NOT_COMPARED,
    OK,
    REPEATS,
    REST,
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
    in_turns: Level | None = None  # among the rows of its example, for rows that took turns and share enough rounds
    of_epochs: Level | None = None  # the same by its epochs

    @property
    def seconds(self) -> float:
        """The steady time that is compared; NaN where there is none."""
        level = self.in_turns or self.of_epochs
        seconds = level.seconds if level else self.row.epoch_seconds
        return math.nan if seconds is None else seconds

    def reach(self) -> float:
        """How far processes put its time off where `sample` does not show it: the logarithm of a factor, for 95 %."""
        return (
            0.0 if self.of_epochs is None or self.row.resampled == REPEATS else self.of_epochs.reach(self.row.repeats)
        )


def compare(
    timed: Sequence[Timed],
    baseline: str = "",
    level: float = intervals.LEVEL,
    natives: Mapping[str, str] | None = None,
) -> list[Summary]:
    """The rows with their ratios and verdicts; `timed` is in the order of the tables, fastest first.

    Every comparable row gets its ratio to the fastest; rows that tie are all the fastest. The intervals of an example
    and device hold together at `level`, by Bonferroni's inequality: those of all pairs, since the fastest is chosen
    by the same data, or those of all rows with the baseline. The verdict is against the fastest, or against the
    backend `baseline` if one is named (its fastest row). A variant of a backend is also compared with that backend
    as it is, if that has a row, and a Keras backend with its framework without Keras, which `natives` names; as a
    baseline, NATIVE means that one.
    """
    comparable = [one for one in reversed(timed) if _comparable(one)]  # so that the fastest comes last, and stays
    fastest = {_place(one.row): one for one in comparable}
    of_baseline = {_place(one.row): one for one in comparable if one.row.backend == baseline}
    rows = Counter(_place(one.row) for one in comparable)
    compared = [_compared(one, fastest, of_baseline, rows, baseline, level) for one in timed]
    as_it_is = {(_place(one.row), one.row.backend): one for one in comparable}
    varied = [_with_default(row, one, as_it_is, level) for row, one in zip(compared, timed, strict=True)]
    found = [_with_native(row, one, as_it_is, natives or {}, level) for row, one in zip(varied, timed, strict=True)]
    unknown = without_fastest(found)
    return [
        replace(row, verdict=NOT_COMPARED) if row.verdict == FASTEST and _place(row) in unknown else row
        for row in found
    ]


def without_fastest(rows: Sequence[Summary]) -> set[tuple[str, str]]:
    """The examples and devices of which no fastest row is known, since no other could be compared with it."""
    others = [row for row in rows if row.relative_to_fastest is not None and row.relative_to_fastest != 1]
    compared = {_place(row) for row in others if to_fastest(row) != NOT_COMPARED}
    return {_place(row) for row in others} - compared


def to_fastest(row: Summary) -> str:
    """The verdict on a slower row against the fastest, whatever the baseline."""
    return verdict(row.relative_interval) if row.baseline or not row.verdict else row.verdict


def _with_native(
    row: Summary,
    one: Timed,
    as_it_is: Mapping[tuple[tuple[str, str], str], Timed],
    natives: Mapping[str, str],
    level: float,
) -> Summary:
    """The row with its ratio to its framework without Keras, where the run has that."""
    place, name = _place(row), natives.get(row.backend, "")
    native = as_it_is.get((place, name))
    if not _comparable(one):
        return row
    if native is None:
        reference = row.baseline == NATIVE and row.backend in natives.values()
        return replace(row, verdict=BASELINE if reference else "") if row.baseline == NATIVE else row
    pairs = sum((place, natives.get(other)) in as_it_is for where, other in as_it_is if where == place)
    ratio, interval = _ratio(one, native, (1 - level) / pairs)
    row = replace(row, native=name, relative_to_native=ratio, native_interval=interval)
    if row.baseline != NATIVE:
        return row
    return replace(row, relative_to_baseline=ratio, baseline_interval=interval, verdict=verdict(interval))


def _with_default(
    row: Summary, one: Timed, as_it_is: Mapping[tuple[tuple[str, str], str], Timed], level: float
) -> Summary:
    """The row of a variant with its ratio to its backend as it is."""
    default = as_it_is.get((_place(row), base(row.backend)))
    if default is None or base(row.backend) == row.backend or not _comparable(one):
        return row
    variants = sum(place == _place(row) and base(name) != name for place, name in as_it_is)
    ratio, interval = _ratio(one, default, (1 - level) / variants)
    return replace(row, relative_to_default=ratio, default_interval=interval)


def _compared(
    one: Timed,
    fastest: Mapping[tuple[str, str], Timed],
    of_baseline: Mapping[tuple[str, str], Timed],
    rows: Mapping[tuple[str, str], int],
    baseline: str,
    level: float,
) -> Summary:
    row = replace(one.row, baseline=baseline)
    if not _comparable(one):
        return row
    together = rows[_place(row)]
    first = fastest[_place(row)]
    to_fastest, interval = _ratio(one, first, (1 - level) / math.comb(together, 2) if one is not first else 1.0)
    ties = to_fastest == 1
    row = replace(row, relative_to_fastest=to_fastest, relative_interval=None if ties else interval)
    if not ties:
        row = replace(row, **_behind(one, first))
    if not baseline:
        return replace(row, verdict=FASTEST if ties else verdict(interval))
    reference = of_baseline.get(_place(row))
    if reference is None:
        return row
    to_baseline, interval = _ratio(one, reference, (1 - level) / max(1, together - 1))
    shown = BASELINE if one is reference else verdict(interval)
    return replace(row, relative_to_baseline=to_baseline, baseline_interval=interval, verdict=shown)


def _ratio(one: Timed, reference: Timed, chance: float) -> tuple[float, Interval | None]:
    """The ratio of two comparable rows' steady times, with an interval that is wrong with at most this chance.

    No interval for a row and itself.
    """
    ratio = one.seconds / reference.seconds
    levels = _levels(one, reference)
    return ratio, None if one is reference or levels is None else processes.of_ratio(ratio, *levels, chance)


def _levels(one: Timed, reference: Timed) -> tuple[Level, Level] | None:
    """The levels of two rows by what both have in a repeat: turns, or else epochs. None where other programs
    disturbed most of their turns: the few that are left, or epochs that hold the others, would show the machine.
    """
    if 2 * (one.row.disturbed_turns + reference.row.disturbed_turns) > one.row.turns + reference.row.turns:
        return None
    kinds = ((one.in_turns, reference.in_turns), (one.of_epochs, reference.of_epochs))
    return next(((mine, its) for mine, its in kinds if mine and its and mine.repeats & its.repeats), None)


def _behind(one: Timed, reference: Timed) -> dict[str, Any]:
    """What stands behind a row's ratio: how many processes of each, and what one alone showed."""
    levels = _levels(one, reference)
    if levels is None:
        return {}
    common = len(levels[0].repeats & levels[1].repeats)
    return {
        "relative_processes": common,
        "process_interval": processes.within(one.seconds / reference.seconds, *levels),
    }


def verdict(interval: Interval | None) -> str:
    """The verdict from the interval of a ratio."""
    if interval is None:
        return NOT_COMPARED
    if interval.low <= 1 <= interval.high:
        return NO_DIFFERENCE if interval.high <= WIDEST**2 * interval.low else NOT_COMPARED
    return FASTER if interval.high < 1 else SLOWER


def holding(interval: Interval, estimate: float) -> Interval:
    """The interval, widened to include the estimate.

    The estimate is the median of all epochs and the interval that of the repeats' medians: they can differ a little.
    """
    return Interval(min(interval.low, estimate), max(interval.high, estimate))


def _comparable(one: Timed) -> bool:
    return one.row.status == OK and not one.row.differs and 0 < one.seconds < math.inf and one.row.unit != REST


def _place(row: Summary) -> tuple[str, str]:
    return row.example, row.device
