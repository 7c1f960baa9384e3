"""How often a table's verdicts are wrong, by simulation, and how often they find what differs.

    python benchmarks/table_verdicts.py [--tables N] [--only WORDS] [--seed N]

Times are drawn and then compared by kbench's own code. Printed is, for each kind of machine, number of rows and of
processes (and for racing, as `run` does it by itself): in how many tables of equal backends a row is said to be
slower than the fastest, of which the promise is at most 5 %; with --power, also how often the last row is said to be
slower that is 1.1, 1.2 and 1.5 times as slow as the others. Nothing of how times are drawn is told to the code that
compares them: processes may differ by more than it assumes, and those of one backend by more than those of another.
All of it takes an hour; --only "processes 5" and --tables 50 a minute.
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

from kbench.analysis import intervals, processes, rounds
from kbench.analysis.processes import Process
from kbench.analysis.ratios import Timed, ranked
from kbench.analysis.rows import open_rows
from kbench.analysis.summaries import summarise
from kbench.epochs import Epoch, Turn
from kbench.planning.request import PRECISION
from kbench.summary import Summary
from kbench.values import OK, SLOWER, Cell, Measured, Outcome

EPOCHS, TURNS, STEPS = 5, 2, 3  # steady epochs; turns of an epoch, and steps of a turn
NAMES = "abcdefgh"
ROWS, PROCESSES, RACING = (2, 4, 8), (1, 2, 3, 5, 10), 0
SLOWNESS = (1.1, 1.2, 1.5)

CELL = Cell(
    example="simulated",
    backend="keras9/a",
    image_data_format="channels_last",
    device="cpu",
    profile="quick",
    repeat=1,
    samples=1000,
    validation_samples=0,
    epochs=EPOCHS + 1,
    batch_size=10,
    seed=0,
)
ROW = summarise([Measured(CELL, Outcome(OK))])[0]

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


def repeat(
    random: Random, machine: Machine, truth: Sequence[float], number: int, active: Sequence[int]
) -> dict[int, Process]:
    """One process of each of the `active` backends: in turns, or one after the other in another order each time."""
    turns = EPOCHS * TURNS
    if machine.in_turns:  # each round in another order
        when = np.argsort(random.random((turns, len(active))), axis=1).T / len(active) + np.arange(turns)
        when = when / turns
    else:
        order = np.roll(np.arange(len(active)), number)
        when = (order[:, None] + np.arange(turns) / turns) / len(active)
    length = 2 / turns / len(active)  # of a burst: two turns
    starts = random.random(random.poisson(machine.bursts / length))
    hit = ((starts <= when[..., None]) & (when[..., None] < starts + length)).any(axis=2)
    pace = machine.drift ** ((number + when) / 10) * np.where(hit, 5.0, 1.0)
    measured = {}
    for position, backend in enumerate(active):
        usual = truth[backend] * math.exp(random.normal(0, of(machine.spreads, backend)))
        noise = np.exp(_correlated(random, of(machine.noises, backend), machine.correlation, turns))
        measured[backend] = _process(usual * pace[position] * noise, machine.in_turns)
    if machine.in_turns:
        return rounds.of_repeat({backend: rounds.of_process(one) for backend, one in measured.items()})
    return {backend: process for backend, one in measured.items() if (process := processes.of_epochs(one))}


def _correlated(random: Random, noise: float, correlation: float, turns: int) -> Numbers:
    """Noise of which each value is correlated with the one before."""
    values = random.normal(0, noise, turns)
    for turn in range(1, turns):
        values[turn] = correlation * values[turn - 1] + math.sqrt(1 - correlation**2) * values[turn]
    return values


def _process(turns: Numbers, in_turns: bool) -> Measured:
    epochs = []
    for epoch, one in enumerate(turns.reshape(EPOCHS, TURNS)):
        steps = tuple(np.repeat(one / STEPS, STEPS).tolist()) if in_turns else ()
        rounds = tuple(Turn(TURNS * epoch + turn + 1, turn * STEPS, (turn + 1) * STEPS) for turn in range(TURNS))
        epochs.append(Epoch(epoch + 2, float(one.sum()), 1000, step_seconds=steps, rounds=rounds if in_turns else ()))
    return Measured(CELL, Outcome(OK), tuple(epochs))


def table(random: Random, machine: Machine, truth: Sequence[float], times: int) -> tuple[list[Summary], int]:
    """The rows of a run of so many processes of each, or of one that is racing; and how many there were in all."""
    active = list(range(len(truth)))
    found: dict[int, dict[int, Process]] = {backend: {} for backend in active}
    rows: list[Summary] = []
    for number in range(times or intervals.INTERIM_ANALYSES):
        for backend, process in repeat(random, machine, truth, number, active).items():
            found[backend][number] = process
        if times and number < times - 1:
            continue
        rows = compared(found, intervals.CONFIDENCE if times else intervals.INTERIM_CONFIDENCE)
        still_open = open_rows(rows, PRECISION)
        if times or not still_open:
            break
        active = sorted(NAMES.index(row.backend) for row in still_open[rows[0].ranking])
    return rows, sum(map(len, found.values()))


def compared(found: Mapping[int, Mapping[int, Process]], confidence: float) -> list[Summary]:
    """The rows as kbench compares them, fastest first."""
    times = processes.row_times(found)
    timed = [
        Timed(replace(ROW, backend=NAMES[backend], epoch_seconds=one.seconds), (), in_turns=one)
        for backend, one in times.items()
    ]
    return ranked(sorted(timed, key=lambda one: one.seconds), confidence=confidence)


def slower(rows: Sequence[Summary]) -> set[int]:
    """The backends that are said to be slower than the fastest."""
    return {NAMES.index(row.backend) for row in rows if row.verdict == SLOWER}


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


def main() -> None:
    """Simulate and print a line for each machine, number of rows and of processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--only", default="", help="machines whose name has these words")
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--processes", type=int, nargs="*", default=(*PROCESSES, RACING), help="0: racing")
    parser.add_argument("--power", action="store_true", help="also how often differences are found")
    parser.add_argument("--seed", type=int, default=20261125)
    asked = parser.parse_args()
    for name, machine in MACHINES.items():
        for rows in asked.rows if asked.only in name else ():
            for times in asked.processes:
                random = np.random.default_rng(asked.seed)
                false, count = false_tables(random, machine, rows, times, asked.tables)
                found = power(random, machine, rows, times, asked.tables) if asked.power else []
                words = f"{times} processes" if times else f"racing, {count:.1f} processes"
                shown = "".join(f"{share:6.0%}" for share in found)
                print(f"{name:28} {rows} rows  {words:22} false {false:6.1%} {shown}", flush=True)


if __name__ == "__main__":
    main()
