"""How often a table's verdicts are wrong, by simulation: of rows that are equally fast, and of rows that are not.

    python benchmarks/table_verdicts.py [--tables N]

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

from kbench.analysis.summaries import summarise
from kbench.epochs import Epoch
from kbench.values import OK, SLOWER, Cell, Measured, Outcome, Summary

EPOCHS = 5
# Of each: noise of an epoch, of a process (standard deviations of logarithms), share and size of bursts, drift.
NOISES = {
    "even 2 %": (0.02, 0.02, 0.0, 1.0, 1.0),
    "even 10 %, processes 10 %": (0.10, 0.10, 0.0, 1.0, 1.0),
    "even 40 %": (0.40, 0.02, 0.0, 1.0, 1.0),
    "bursts of 5 for a tenth": (0.02, 0.02, 0.1, 5.0, 1.0),
    "drift by 1.5": (0.02, 0.02, 0.0, 1.0, 1.5),
}


def table(random: np.random.Generator, truth: list[float], repeats: int, noise: tuple[float, ...]) -> list[Summary]:
    """The rows of one simulated run: repeats in turn, each of which begins with another backend."""
    epoch, process, share, size, drift = noise
    cells = [
        (number, (number + repeat) % len(truth), repeat) for repeat in range(repeats) for number in range(len(truth))
    ]
    measured = []
    for place, (_, backend, repeat) in enumerate(cells):
        moment = drift ** (place / len(cells))
        usual = truth[backend] * moment * math.exp(random.normal(0, process))
        pace = tuple(0.1 * moment * np.exp(random.normal(0, process, max(1, math.ceil(6 / len(cells))))))
        seconds = usual * np.exp(random.normal(0, epoch, EPOCHS)) * np.where(random.random(EPOCHS) < share, size, 1.0)
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
        epochs = tuple(Epoch(number, float(one), 1000) for number, one in enumerate(seconds, 2))
        measured.append(Measured(cell, Outcome(OK, reference_samples=pace), epochs, {}, {}))
    return list(summarise(measured))


def main() -> None:
    """Simulate and print a line for each noise, number of backends and of repeats."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    asked = parser.parse_args()
    print(f"{'noise':27} backends repeats  false tables  all ratios held  verdicts  width")
    for name, noise in NOISES.items():
        for backends in (2, 8):
            for repeats in (1, 3, 5):
                random = np.random.default_rng(20261123)
                false = held = slower = 0
                widths = []
                truth = [1.25**number for number in range(backends)]
                for _ in range(asked.tables):
                    false += any(row.verdict == SLOWER for row in table(random, [1.0] * backends, repeats, noise))
                    rows = table(random, truth, repeats, noise)
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
