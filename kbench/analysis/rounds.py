"""Compares times within a round, where the machine's pace affects all backends alike and cancels.

The logarithm of a step's time is the sum of its backend's level, its round's level and noise. Tukey's median polish
(*Exploratory Data Analysis*, 1977, chapter 11) finds the levels, and bursts of other work in some rounds do not move
them. See docs/measuring.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any, TypeVar

import numpy as np

from kbench.analysis import intervals, step_times
from kbench.epochs import AGAIN, Epoch
from kbench.values import Interval, Measured

Row = TypeVar("Row", bound=Hashable)
Round = tuple[int, int]  # the repeat, and the round in it

ENOUGH = 5  # common rounds, for two rows to be compared within them
ENOUGH_REPEATS = 8  # of a pair of rows, to show the variation between processes by themselves
ENOUGH_PROCESSES = 6  # beyond the first of each row, to estimate the variation between processes
_PASSES = 20  # of the polish, which hardly changes after three


@dataclass(frozen=True)
class Turns:
    """A row's turns."""

    steps: Mapping[Round, float] = field(default_factory=dict)  # the mean step of each turn, in seconds
    # Of each repeat's steady epochs, in mean steps: more than its steps, as some work is done once an epoch.
    epochs: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def epoch(self) -> float:
        """The time of an epoch, in steps."""
        return median(one for of_repeat in self.epochs.values() for one in of_repeat)


def of_row(repeats: Sequence[Measured]) -> Turns:
    """The turns of a row's repeats, without those that other programs disturbed."""
    if not any(epoch.rounds for one in repeats for epoch in one.epochs):
        return Turns()
    steps: dict[Round, list[float]] = {}
    epochs: dict[int, tuple[float, ...]] = {}
    for one in repeats:
        steady = step_times.steady(one.epochs)
        for epoch in steady:
            for number, first, last in epoch.rounds:
                if number not in one.outcome.disturbed_rounds:
                    steps.setdefault((one.cell.repeat, number % AGAIN), []).extend(epoch.step_seconds[first:last])
        counted = [(epoch.seconds, _counted(epoch)) for epoch in steady]
        epochs[one.cell.repeat] = tuple(seconds / fmean(there) for seconds, there in counted if sum(there) > 0)
    found = {place: fmean(seconds) for place, seconds in steps.items() if seconds}
    return Turns({place: step for place, step in found.items() if step > 0}, epochs if all(epochs.values()) else {})


def _counted(epoch: Epoch) -> list[float]:
    return [seconds for _, first, last in epoch.rounds for seconds in epoch.step_seconds[first:last]]


@dataclass(frozen=True)
class Level:
    """The level of a row among those that took turns with it."""

    seconds: float  # of an epoch in a usual round
    processes: tuple[float, ...]  # each repeat's deviation from their mean, as a logarithm


def levels(turns: Mapping[Row, Turns]) -> dict[Row, Level]:
    """The levels of the rows that share enough rounds with another."""
    rows = [row for row, one in turns.items() if one.epochs and one.steps]
    places = sorted({place for row in rows for place in turns[row].steps})
    table = np.array([[turns[row].steps.get(place, np.nan) for place in places] for row in rows])
    while table.size:
        shared = np.isfinite(table).sum(axis=0) > 1
        enough = np.isfinite(table[:, shared]).sum(axis=1) >= ENOUGH
        if shared.all() and enough.all():
            break
        table, places = table[enough][:, shared], [place for place, one in zip(places, shared, strict=True) if one]
        rows = [row for row, one in zip(rows, enough, strict=True) if one]
    if not table.size:
        return {}
    table = np.log(table)
    of_row = np.zeros(len(rows))
    for _ in range(_PASSES):
        of_round = np.nanmedian(table - of_row[:, None], axis=0)
        of_row = np.nanmedian(table - of_round, axis=1)
    usual = of_row + np.median(of_round)
    return {
        row: Level(
            float(np.exp(usual[number]) * turns[row].epoch()), _processes(table[number] - of_round, places, len(rows))
        )
        for number, row in enumerate(rows)
    }


def _processes(of_rounds: np.ndarray[Any, Any], places: Sequence[Round], rows: int) -> tuple[float, ...]:
    """Each repeat's deviation from the mean of all; empty for one repeat.

    The rounds' levels come from the same `rows`, which are therefore closer to them than others would be.
    """
    repeats = np.array([repeat for repeat, _ in places])
    known = np.isfinite(of_rounds)
    medians = np.array([np.median(of_rounds[known & (repeats == one)]) for one in np.unique(repeats[known])])
    if len(medians) < 2:
        return ()
    return tuple(((medians - medians.mean()) * math.sqrt(rows / (rows - 1))).tolist())


def shares(levels: Mapping[Row, Level], stand_in: float | None) -> dict[Row, float | None]:
    """How far one process of each row is from the row's usual time in 95 % of cases: the logarithm of a factor.

    Estimated from all rows with several processes, but at least as large as the row's own; `stand_in` for too few.
    """
    from scipy.special import ndtri

    several = {row: np.array(one.processes) for row, one in levels.items() if one.processes}
    freedom = sum(len(one) - 1 for one in several.values())
    of_all = stand_in
    if freedom >= ENOUGH_PROCESSES:
        # Deviations from a mean of n are smaller than those from what it estimates.
        apart = np.concatenate([one * math.sqrt(len(one) / (len(one) - 1)) for one in several.values()])
        at_95 = intervals.students_t((1 + intervals.LEVEL) / 2, intervals.EFFICIENCY * freedom)
        of_all = at_95 * intervals.median_deviation(apart)
    own = {row: float(ndtri((1 + intervals.LEVEL) / 2) * np.std(one, ddof=1)) for row, one in several.items()}
    return {row: of_all if of_all is None else max(of_all, own.get(row, 0.0)) for row in levels}


def of_ratio(one: Turns, reference: Turns) -> tuple[Interval, int] | None:
    """The interval of the ratio of two rows' epochs from their common rounds, and their number.

    It includes the variation between epochs, but not between processes. None for too few common rounds.
    """
    scale = one.epoch() / reference.epoch()
    common = [step / reference.steps[place] * scale for place, step in one.steps.items() if place in reference.steps]
    interval = intervals.of_median(common) if len(common) >= ENOUGH else None
    if interval is None:
        return None
    for turns in (one, reference):
        epochs = [epoch for values in turns.epochs.values() for epoch in values]
        if found := intervals.of_median(epochs):
            interval = intervals.reaching(interval, median(common), float(np.log(found.high / found.low) / 2))
    return interval, len(common)


def of_repeats(one: Turns, reference: Turns) -> tuple[Interval, int] | None:
    """The same from their common repeats, which include the variation between processes. None for too few."""
    ratios = []
    for repeat in sorted(set(one.epochs) & set(reference.epochs)):
        steps = [
            step / reference.steps[place]
            for place, step in one.steps.items()
            if place[0] == repeat and place in reference.steps
        ]
        if steps:
            ratios.append(median(steps) * median(one.epochs[repeat]) / median(reference.epochs[repeat]))
    interval = intervals.of_median(ratios) if len(ratios) >= ENOUGH_REPEATS else None
    return None if interval is None else (interval, len(ratios))
