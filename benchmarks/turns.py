"""Whether an epoch takes as long in turns, its pauses taken out, as without any: pairs of epochs of one process.

    python benchmarks/turns.py [--pairs N] [--samples N] [--backends LIST] [--examples LIST]

The cells of an example run side by side by the real command, but pass on in every second epoch only, in random order
within pairs (turns_pairs.py): through the others they compute alone. Printed is, for each example and backend, the
median of the pairs' ratios of s/epoch, and its interval. The goal is within 1 %. Nothing else should run. It takes
about seven minutes on two cores. kbench has to be installed, and the real data are needed, or KBENCH_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

import turns_pairs

from kbench import store
from kbench.analysis.times import intervals
from kbench.base import paths
from kbench.cli import main as command
from kbench.records.values import Measured

SAMPLES = {"mnist_mlp": 20000, "mnist_cnn": 1280}  # an epoch then takes half a second to two


def measure(folder: Path, example: str, asked: argparse.Namespace) -> Sequence[Measured]:
    """The cells of an example, each with its pairs of epochs."""
    paths.GUEST = CHECKOUT / "benchmarks" / "turns_pairs.py"
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = command.main(
            [
                *("run", "--backends", asked.backends, "--examples", example),
                *("--samples", str(asked.samples or SAMPLES[example])),
                *("--epochs", str(turns_pairs.FIRST - 1 + 2 * asked.pairs), "--repeats", "1", "--device", "cpu"),
                *("--interleave", "on", "--results", str(folder), "--name", example, "--no-plots"),
            ]
        )
    if status:
        sys.exit(said.getvalue())
    return store.read(folder / example).measured


def ratios(one: Measured, others: Sequence[Measured]) -> list[float]:
    """Of each pair of a cell's epochs: seconds in turns over seconds alone.

    Left out are those from where the others have ended on: nobody computes in that cell's pauses any more.
    """
    last = max((turn.round for other in others for epoch in other.epochs for turn in epoch.rounds), default=0)
    found = []
    for first in range(turns_pairs.FIRST - 1, len(one.epochs) - 1, 2):
        pair = one.epochs[first : first + 2]
        if all(epoch.rounds and epoch.rounds[-1].round <= last for epoch in pair):
            held, alone = sorted(pair, key=lambda epoch: not turns_pairs.in_turns(epoch.epoch))
            found.append(held.seconds / alone.seconds)
    return found


def main() -> None:
    """Measure, and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--samples", type=int, help="of an epoch; more of them make longer turns")
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/tensorflow,keras3/torch,keras3/jax")
    parser.add_argument("--examples", default=",".join(SAMPLES))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        for example in asked.examples.split(","):
            measured = measure(Path(made), example, asked)
            for one in measured:
                found = ratios(one, [other for other in measured if other is not one])
                name = f"{example:10} {one.cell.backend:18}"
                if not found:
                    print(f"{name} no pair: the other cells have ended")
                    continue
                interval = intervals.of_median(found)
                held = f" ({interval.low:.3f} to {interval.high:.3f})" if interval else ""
                usual = median(epoch.seconds for epoch in one.epochs)
                print(f"{name} in turns / alone: {median(found):.3f}{held}, {len(found)} pairs of {usual:.2f} s")


if __name__ == "__main__":
    main()
