"""Compares times within a round, where the machine's pace affects all backends alike and cancels.

The logarithm of a step's time is the sum of its backend's level, its round's level and noise. Tukey's median polish
(*Exploratory Data Analysis*, 1977, chapter 11) finds the levels, and bursts of other work in some rounds do not move
them. See docs/proofs.md.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TypeVar

import numpy as np

from kbench.analysis.times import intervals, step_times
from kbench.analysis.times.levels import Numbers
from kbench.analysis.times.processes import Process, column_medians
from kbench.records.epochs import Epoch
from kbench.records.values import Measured

Row = TypeVar("Row", bound=Hashable)

ENOUGH = 3  # rounds in common with others, for a process to be compared within them
ENOUGH_TO_CORRELATE = 6  # turns of a process, to see whether one is like the next
_PASSES = 20  # of the polish, which hardly changes after three


@dataclass(frozen=True)
class TurnTimes:
    """The turns of a process."""

    steps: Mapping[int, float] = field(default_factory=dict)  # the mean step in each round, in seconds
    # Of its steady epochs, in mean steps: more than its steps, as some work is done once an epoch.
    epochs: tuple[float, ...] = ()


def of_process(one: Measured) -> TurnTimes:
    """The turns of a process, without those that other programs disturbed.

    Those of a whole process are of its steady epochs; of a short one all but its first, in which it warms up.
    """
    if one.cell.timing:
        return TurnTimes(_of_short(one))
    steps: dict[int, list[float]] = {}
    steady = [epoch for epoch in step_times.steady(one.epochs) if epoch.rounds]
    for epoch in steady:
        for turn in epoch.rounds:
            if not one.outcome.disturbed(turn.round, turn.again):
                steps.setdefault(turn.round, []).extend(epoch.step_seconds[turn.first : turn.last])
    counted = [(epoch.seconds, _counted(epoch)) for epoch in steady]
    found = {number: fmean(seconds) for number, seconds in steps.items() if seconds}
    return TurnTimes(
        {number: step for number, step in found.items() if step > 0},
        tuple(seconds / fmean(there) for seconds, there in counted if sum(there) > 0),
    )


def _of_short(one: Measured) -> dict[int, float]:
    steps: dict[int, list[float]] = {}
    first = min((turn.round for epoch in one.epochs for turn in epoch.rounds if turn.round), default=0)
    for epoch in one.epochs:
        for turn in epoch.rounds:
            if turn.round > first and not one.outcome.disturbed(turn.round, turn.again):
                steps.setdefault(turn.round, []).extend(epoch.step_seconds[turn.first : turn.last])
    return {number: fmean(seconds) for number, seconds in steps.items() if sum(seconds) > 0}


def _counted(epoch: Epoch) -> list[float]:
    return [seconds for turn in epoch.rounds for seconds in epoch.step_seconds[turn.first : turn.last]]


def of_repeat(turns: Mapping[Row, TurnTimes]) -> dict[Row, Process]:
    """The time of each process in a usual round, of those that took turns and share enough rounds with another."""
    rows = [row for row, one in turns.items() if one.epochs and one.steps]
    numbers = sorted({number for row in rows for number in turns[row].steps})
    table = np.array([[turns[row].steps.get(number, np.nan) for number in numbers] for row in rows])
    while table.size:
        shared = np.isfinite(table).sum(axis=0) > 1
        enough = np.isfinite(table[:, shared]).sum(axis=1) >= ENOUGH
        if shared.all() and enough.all():
            break
        table, rows = table[enough][:, shared], [row for row, one in zip(rows, enough, strict=True) if one]
    if not table.size:
        return {}
    table = np.log(table)
    of_row = np.zeros(len(rows))
    for _ in range(_PASSES):
        before = of_row
        of_round = column_medians(table - of_row[:, None])
        of_row = column_medians((table - of_round).T)
        if np.allclose(of_row, before, rtol=0, atol=1e-12):
            break
    found = {}
    fewer = _fewer(table - of_row[:, None] - of_round)
    for number, row in enumerate(rows):
        steps = np.exp((table[number] - of_round)[np.isfinite(table[number])])
        lengths = np.log(turns[row].epochs)  # which vary by less than the turns do
        of_length = np.std(lengths, ddof=1) / math.sqrt(len(lengths)) if len(lengths) > 1 else 0.0
        seconds = math.exp(of_row[number] + np.median(of_round)) * median(turns[row].epochs)
        error = fewer * (intervals.error_of_median(steps.tolist()) or 0.0)
        found[row] = Process(seconds, math.hypot(error, of_length))
    return found


def _fewer(deviations: Numbers) -> float:
    """How much larger errors are because a turn is like the one before: consecutive turns say less than others would.

    From the correlation of all rows' turns with the next, without the bias that it has in short series (Marriott &
    Pope, Biometrika 41, 1954). A burst counts for no more than four times what is usual.
    """
    turns = float(np.isfinite(deviations).sum(axis=1).mean())
    usual = 4 * float(np.nanmedian(np.abs(deviations)))
    clipped = np.clip(deviations, -usual, usual)
    squares = float(np.nansum(clipped**2))
    if turns < ENOUGH_TO_CORRELATE or not squares:
        return 1.0
    correlation = float(np.nansum(clipped[:, 1:] * clipped[:, :-1])) / squares
    unbiased = min(max((turns * correlation + 1) / (turns - 3), 0.0), 0.9)
    return math.sqrt((1 + unbiased) / (1 - unbiased))
