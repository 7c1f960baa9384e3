"""How often a table's verdicts are wrong, by simulation: of rows that are equally fast, and of rows that are not.

    python benchmarks/table_verdicts.py [--tables N] [--interleave off]

Times are drawn and then compared by kbench's own code. Of equal backends: in how many tables any row is said to be
slower than the fastest; the goal is at most 5 %. Of different ones, each 1.25 times as slow as the one before: in how
many tables all intervals of the ratios hold the true ratio, how many rows are said to be slower, and how wide the
intervals are (the median of high / low). It takes some minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import median

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench.analysis.machine_stability import ENOUGH_TOGETHER
from kbench.analysis.summaries import summarise
from kbench.cells.runner import ENOUGH_IN_TURNS, ENOUGH_REFERENCES
from kbench.epochs import Epoch
from kbench.values import OK, SLOWER, Cell, Measured, Outcome, Summary

EPOCHS, STEPS = 5, 3
# Of each: noise of an epoch, of a process (standard deviations of logarithms), share and size of bursts, drift.
NOISES = {
    "even 2 %": (0.02, 0.02, 0.0, 1.0, 1.0),
    "even 10 %, processes 10 %": (0.10, 0.10, 0.0, 1.0, 1.0),
    "even 40 %": (0.40, 0.02, 0.0, 1.0, 1.0),
    "bursts of 5 for a tenth": (0.02, 0.02, 0.1, 5.0, 1.0),
    "drift by 1.5": (0.02, 0.02, 0.0, 1.0, 1.5),
}


def table(
    random: np.random.Generator, truth: list[float], repeats: int, noise: tuple[float, ...], in_turns: bool
) -> list[Summary]:
    """The rows of one simulated run: repeats one after the other, each of which begins with another backend.

    In turns, a cell's epoch has two; the noise of a turn is that of an epoch, and a burst meets a turn.
    """
    epoch, process, share, size, drift = noise
    turns = 2 if in_turns else 1
    cells = [(repeat, (number + repeat) % len(truth)) for repeat in range(repeats) for number in range(len(truth))]
    measured = []
    for place, (repeat, backend) in enumerate(cells):
        # What share of the run is over at each turn: cells in turns are spread over their repeat.
        when = np.linspace(repeat, repeat + 1, EPOCHS * turns) / repeats if in_turns else place / len(cells)
        usual = truth[backend] * drift**when * math.exp(random.normal(0, process))
        moment = drift ** (repeat / repeats if in_turns else place / len(cells))
        references = _references(repeat, len(truth), repeats, in_turns)
        pace = tuple(0.1 * moment * np.exp(random.normal(0, process, references)))
        noises = np.exp(random.normal(0, epoch, EPOCHS * turns))
        steps = usual * noises * np.where(random.random(EPOCHS * turns) < share, size, 1.0)
        of_epochs = np.repeat(steps.reshape(EPOCHS, turns) / turns / STEPS, STEPS, axis=1)
        cell = Cell(
            example="simulated",
            backend=f"keras9/{'abcdefgh'[backend]}",
            image_data_format="channels_last",
            device="cpu",
            profile="quick",
            repeat=repeat + 1,
            samples=1000,
            validation_samples=0,
            epochs=EPOCHS,
            batch_size=10,
            seed=0,
        )
        epochs = []
        for number, one in enumerate(of_epochs.tolist()):
            rounds = tuple((2 * number + turn + 1, turn * STEPS + 1, turn * STEPS + STEPS) for turn in range(turns))
            seconds = tuple(one) if in_turns else ()
            epochs.append(Epoch(number + 2, sum(one), 1000, step_seconds=seconds, rounds=rounds if in_turns else ()))
        measured.append(Measured(cell, Outcome(OK, reference_samples=pace), tuple(epochs), {}, {}))
    return list(summarise(measured))


def _references(repeat: int, backends: int, repeats: int, in_turns: bool) -> int:
    """How often a run times the fixed computation for each cell of this repeat."""
    if not in_turns:
        return math.ceil(ENOUGH_REFERENCES / (backends * repeats))
    return math.ceil((ENOUGH_TOGETHER if repeat else ENOUGH_IN_TURNS) / backends)


def main() -> None:
    """Simulate and print a line for each noise, number of backends and of repeats."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--interleave", choices=("on", "off"), default="on")
    asked = parser.parse_args()
    in_turns = asked.interleave == "on"
    print(f"{'noise':27} backends repeats  false tables  all ratios held  verdicts  width")
    for name, noise in NOISES.items():
        for backends in (2, 8):
            for repeats in (1, 2, 3, 5):
                random = np.random.default_rng(20261123)
                false = held = slower = 0
                widths = []
                truth = [1.25**number for number in range(backends)]
                for _ in range(asked.tables):
                    false += any(
                        row.verdict == SLOWER for row in table(random, [1.0] * backends, repeats, noise, in_turns)
                    )
                    rows = table(random, truth, repeats, noise, in_turns)
                    fastest = truth["abcdefgh".index(rows[0].backend[-1])]
                    others = [row for row in rows if row.relative_interval]
                    ratios = [truth["abcdefgh".index(row.backend[-1])] / fastest for row in others]
                    found = [row.relative_interval for row in others if row.relative_interval]
                    held += all(one.low <= ratio <= one.high for one, ratio in zip(found, ratios, strict=True))
                    slower += sum(row.verdict == SLOWER for row in rows) / (backends - 1)
                    widths += [one.high / one.low for one in found]
                print(
                    f"{name:27} {backends:8} {repeats:7} {false / asked.tables:13.1%} {held / asked.tables:16.1%}"
                    f" {slower / asked.tables:9.0%} {median(widths):6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
