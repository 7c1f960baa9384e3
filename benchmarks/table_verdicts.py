"""How often a table's verdicts are wrong, by simulation, and how often they find what differs.

    python benchmarks/table_verdicts.py [--tables N] [--only WORDS] [--seed N] [--overall EXAMPLES]

Times are drawn and then compared by kbench's own code. Printed is, for each kind of machine, number of rows and of
processes (and for racing, as `run` does it by itself): in how many tables of equal backends a row is said to be
slower than the fastest, of which the promise is at most 5 % where processes differ as they were measured to; with
--power, also how often the last row is said to be slower that is 1.1, 1.2 and 1.5 times as slow as the others. Of a
row's processes the first is whole, and the others are short. Nothing of how times are drawn is told to the code that
compares them. All of it takes an hour; --only measured and --tables 50 a minute.

With --overall it draws runs of several examples, and prints how many of the intervals over all examples cover the
true ratio, each by itself at 95 %, and in how many runs all do that hold together at 95 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench.analysis import summaries
from kbench.analysis.rows import open_rows
from kbench.analysis.times import intervals, row_times, spreads
from kbench.analysis.times.overall import overall
from kbench.analysis.times.ratios import Timed, ranked
from kbench.records import axes
from kbench.records.axes import RowKey
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import OK, PRECISION, SLOWER, Cell, Measured, Outcome
from kbench.summary import Summary

EPOCHS, TURNS, STEPS = 5, 2, 3  # steady epochs; turns of an epoch, and steps of a turn
SHORT_TURNS = 6  # of a short process, the first of which warms up
NAMES = "abcdefgh"
ROWS, PROCESSES, RACING = (2, 3, 4, 8), (1, 2, 3, 5), 0
MOST_RACED = 13  # processes of a row
MEASURED = ()  # spreads that are drawn from those of the rows that kbench comes with
SLOWNESS = (1.1, 1.2, 1.5)

CELL = Cell(
    values=axes.complete(
        {
            "example": "simulated",
            "backend": "keras9/a",
            "image_data_format": "channels_last",
            "device": "cpu",
            "task": "train",
            "batch_size": 10,
            "samples": 1000,
        }
    ),
    profile="quick",
    repeat=1,
    validation_samples=0,
    epochs=EPOCHS + 1,
    seed=0,
)
ROW = summaries.summarise([Measured(CELL, Outcome(OK))])[0]

Random = np.random.Generator
Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Machine:
    """How times vary. Spreads and noises: deviations of logarithms, of each backend, the last for the rest."""

    spreads: tuple[float, ...]  # of processes
    noises: tuple[float, ...] = (0.02,)  # of turns
    correlation: float = 0.0  # of a turn's noise with that of the turn before
    bursts: float = 0.0  # the share of the time in which everything takes five times as long
    drift: float = 1.0  # how many times as slow the machine is at the end, ten processes later
    in_turns: bool = True


MACHINES = {
    "as measured": Machine(MEASURED),
    "as measured, turns 10 %": Machine(MEASURED, (0.1,)),
    "as measured, turns 10 %, correlated": Machine(MEASURED, (0.1,), correlation=0.8),
    "as measured, bursts": Machine(MEASURED, bursts=0.1),
    "as measured, drift 1.5": Machine(MEASURED, drift=1.5),
    "as measured, in sequence": Machine(MEASURED, in_turns=False),
    **{f"processes {share} %": Machine((share / 100,)) for share in (0, 2, 5, 10, 20)},
    "one 20 %, others 0": Machine((0.2, 0.0)),
    "one 20 %, others 5 %": Machine((0.2, 0.05)),
    "one 0, others 20 %": Machine((0.0, 0.2)),
    "two 20 %, others 2 %": Machine((0.2, 0.2, 0.02)),
    "5 %, turns 10 %": Machine((0.05,), (0.1,)),
    "5 %, turns 40 %": Machine((0.05,), (0.4,)),
    "20 %, turns 40 %": Machine((0.2,), (0.4,)),
    "5 %, one's turns 40 %": Machine((0.05,), (0.4, 0.02)),
    "5 %, turns 10 %, correlated": Machine((0.05,), (0.1,), correlation=0.8),
    "5 %, turns 40 %, correlated": Machine((0.05,), (0.4,), correlation=0.8),
    "5 %, bursts": Machine((0.05,), bursts=0.1),
    "20 %, bursts": Machine((0.2,), bursts=0.1),
    "5 %, drift 1.5": Machine((0.05,), drift=1.5),
    "5 %, in sequence": Machine((0.05,), in_turns=False),
    "20 %, in sequence": Machine((0.2,), in_turns=False),
    "5 %, bursts, in sequence": Machine((0.05,), bursts=0.1, in_turns=False),
    "5 %, drift 1.5, in sequence": Machine((0.05,), drift=1.5, in_turns=False),
}


def of(values: Sequence[float], backend: int) -> float:
    """A backend's value, of those that a Machine has."""
    return values[min(backend, len(values) - 1)]


def drawn_spreads(random: Random, machine: Machine, rows: int) -> list[float]:
    """The spread of each row's processes."""
    if machine.spreads != MEASURED:
        return [of(machine.spreads, row) for row in range(rows)]
    measured = [float(np.std(row.logs, ddof=1)) for row in spreads.read()]
    return [float(one) for one in random.choice(measured, rows)]


def sitting(
    random: Random, machine: Machine, levels: Mapping[int, Sequence[float]], number: int, short: bool
) -> list[Measured]:
    """Processes that run beside each other, with these levels of each row: in turns, or one after the other."""
    each = [(row, place, level) for row, its in levels.items() for place, level in enumerate(its)]
    turns = SHORT_TURNS if short else EPOCHS * TURNS
    if machine.in_turns:  # each round in another order
        when = np.argsort(random.random((turns, len(each))), axis=1).T / len(each) + np.arange(turns)
        when = when / turns
    else:
        order = np.roll(np.arange(len(each)), number)
        when = (order[:, None] + np.arange(turns) / turns) / len(each)
    length = 2 / turns / len(each)  # of a burst: two turns
    starts = random.random(random.poisson(machine.bursts / length))
    hit = ((starts <= when[..., None]) & (when[..., None] < starts + length)).any(axis=2)
    pace = machine.drift ** ((number + when) / 10) * np.where(hit, 5.0, 1.0)
    found = []
    for position, (row, place, level) in enumerate(each):
        noise = np.exp(_correlated(random, of(machine.noises, row), machine.correlation, turns))
        cell = replace(CELL.at(backend=f"keras9/{NAMES[row]}"), repeat=number, timing=place + 1 if short else 0)
        found.append(_process(cell, level * pace[position] * noise, machine.in_turns))
    return found


def _correlated(random: Random, noise: float, correlation: float, turns: int) -> Numbers:
    drawn = random.normal(0, noise, turns)
    for turn in range(1, turns if correlation else 0):
        drawn[turn] = correlation * drawn[turn - 1] + math.sqrt(1 - correlation**2) * drawn[turn]
    return drawn


def _process(cell: Cell, turns: Numbers, in_turns: bool) -> Measured:
    epochs = []
    per_epoch = len(turns) if cell.timing else TURNS
    for epoch, one in enumerate(turns.reshape(-1, per_epoch)):
        steps = tuple(np.repeat(one / STEPS, STEPS).tolist()) if in_turns else ()
        turn_of = (Turn(per_epoch * epoch + turn + 1, turn * STEPS, (turn + 1) * STEPS) for turn in range(per_epoch))
        rounds = tuple(turn_of) if in_turns else ()
        epochs.append(Epoch(epoch + 2, float(one.sum()), 1000, step_seconds=steps, rounds=rounds))
    return Measured(cell, Outcome(OK), tuple(epochs))


def table(random: Random, machine: Machine, truth: Sequence[float], times: int) -> tuple[list[Summary], int]:
    """The rows of a run of so many processes of each, or of one that is racing; and how many there were in all."""
    varying = drawn_spreads(random, machine, len(truth))

    def levels(rows: Sequence[int], count: int) -> dict[int, list[float]]:
        return {row: [truth[row] * math.exp(random.normal(0, varying[row])) for _ in range(count)] for row in rows}

    active = list(range(len(truth)))
    whole: list[Measured] = []
    short: list[Measured] = []
    if machine.in_turns:
        whole = sitting(random, machine, levels(active, 1), 1, False)
        if times != 1:
            short = sitting(random, machine, levels(active, (times or 3) - 1), 2, True)
    else:  # whole processes, one after the other
        for number in range(1, (times or 3) + 1):
            whole += sitting(random, machine, levels(active, 1), number, False)
    number = 3
    while True:
        rows = compared(whole, short, intervals.INTERIM_CONFIDENCE if not times else intervals.CONFIDENCE)
        still_open = open_rows(rows, PRECISION)
        if times or not still_open or number > MOST_RACED // 2 + 2:
            return rows, len(whole) + len(short)
        active = sorted(NAMES.index(row.backend[-1]) for row in still_open[rows[0].ranking])
        if machine.in_turns:
            short += sitting(random, machine, levels(active, 2), number, True)
        else:
            whole += sitting(random, machine, levels(active, 1), number + 1, False)
        number += 1


def compared(whole: Sequence[Measured], short: Sequence[Measured], confidence: float) -> list[Summary]:
    """The rows as kbench compares them, fastest first."""
    ok, further = _by_row(whole), _by_row(short)
    times = row_times.row_times(ok, further, spreads.shipped())
    timed = [
        Timed(replace(ROW, backend=ok[row][0].cell.backend, point=row, epoch_seconds=one.seconds), one)
        for row, one in times.items()
    ]
    return ranked(sorted(timed, key=lambda one: one.seconds), confidence=confidence)


def _by_row(measured: Sequence[Measured]) -> dict[RowKey, list[Measured]]:
    found: dict[RowKey, list[Measured]] = {}
    for one in measured:
        found.setdefault(one.cell.key, []).append(one)
    return found


def slower(rows: Sequence[Summary]) -> set[int]:
    """The backends that are said to be slower than the fastest."""
    return {NAMES.index(row.backend[-1]) for row in rows if row.verdict == SLOWER}


def false_tables(random: Random, machine: Machine, rows: int, times: int, tables: int) -> tuple[float, float]:
    """The share of tables of equal backends with a false verdict, and how many processes a row had."""
    found = [table(random, machine, [1.0] * rows, times) for _ in range(tables)]
    return float(np.mean([bool(slower(one)) for one, _ in found])), float(
        np.mean([count for _, count in found])
    ) / rows


def power(random: Random, machine: Machine, rows: int, times: int, tables: int) -> list[float]:
    """How often the last row is found slower that is so many times as slow as the others."""
    return [
        float(np.mean([rows - 1 in slower(table(random, machine, truth, times)[0]) for _ in range(tables)]))
        for truth in ([*[1.0] * (rows - 1), factor] for factor in SLOWNESS)
    ]


def covered(random: Random, machine: Machine, rows: int, times: int, examples: int, runs: int) -> tuple[float, float]:
    """The share of intervals over all examples that hold the true ratio, each by itself at 95 %; and that of runs in
    which all do, at 95 % together.
    """
    alone, together = [], []
    for _ in range(runs):
        truth = random.normal(0, 0.3, (examples, rows))
        found = [
            replace(row, example=f"example {number}", point=row.key.changed(axes.EXAMPLE, f"example {number}"))
            for number, levels in enumerate(np.exp(truth).tolist())
            for row in table(random, machine, levels, times)[0]
        ]
        single = 1 - (1 - intervals.CONFIDENCE) * math.comb(rows, 2)
        alone += _held(found, truth, single)
        together.append(all(_held(found, truth, intervals.CONFIDENCE)))
    return float(np.mean(alone)), float(np.mean(together))


def _held(found: Sequence[Summary], truth: Numbers, confidence: float) -> list[bool]:
    """Which intervals over all examples hold the ratio of these levels."""
    (answer,) = overall(found, confidence)
    means = {f"keras9/{NAMES[row]}": float(mean) for row, mean in enumerate(truth.mean(axis=0))}
    first = means[answer.fastest]
    return [ends.low <= math.exp(means[name] - first) <= ends.high for name, _, ends in answer.others]


def main() -> None:
    """Simulate and print a line for each machine, number of rows and of processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--only", default="", help="machines whose name has these words")
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--processes", type=int, nargs="*", default=(*PROCESSES, RACING), help="0: racing")
    parser.add_argument("--power", action="store_true", help="also how often differences are found")
    parser.add_argument("--overall", type=int, default=0, metavar="EXAMPLES", help="of runs of so many examples")
    parser.add_argument("--seed", type=int, default=20261125)
    asked = parser.parse_args()
    for name, machine in MACHINES.items():
        for rows in asked.rows if asked.only in name else ():
            for times in asked.processes:
                random = np.random.default_rng(asked.seed)
                if asked.overall:
                    alone, together = covered(random, machine, rows, times, asked.overall, asked.tables)
                    print(
                        f"{name:28} {rows} rows  {times} processes  covered {alone:6.1%}, all {together:6.1%}",
                        flush=True,
                    )
                    continue
                false, count = false_tables(random, machine, rows, times, asked.tables)
                found = power(random, machine, rows, times, asked.tables) if asked.power else []
                words = f"{times} processes" if times else f"racing, {count:.1f} processes"
                shown = "".join(f"{share:6.0%}" for share in found)
                print(f"{name:28} {rows} rows  {words:22} false {false:6.1%} {shown}", flush=True)


if __name__ == "__main__":
    main()
