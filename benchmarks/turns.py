"""Whether an epoch takes as long in turns, its pauses taken out, as without any: pairs of runs.

    python benchmarks/turns.py [--pairs N] [--backends LIST] [--example NAME]

Each pair is a run with --interleave on and one with off, in alternating order. Printed is, for each backend, the
median of the pairs' ratios of s/epoch, and its interval. The goal is within 1 %. Nothing else should run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.analysis import intervals
from kbench.analysis.summaries import summarise


def seconds(folder: Path, name: str, interleave: str, asked: argparse.Namespace) -> dict[str, float]:
    """Backend -> its s/epoch."""
    subprocess.run(
        [
            *(sys.executable, str(CHECKOUT / "run.py"), "--backends", asked.backends, "--examples", asked.example),
            *("--interleave", interleave, "--repeats", "1", "--epochs", str(asked.epochs), "--device", "cpu"),
            *("--results", str(folder), "--name", name, "--no-plots", "--quiet"),
        ],
        check=True,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows = summarise(store.read(folder / name).measured)
    return {row.backend: row.epoch_seconds for row in rows if row.epoch_seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--backends", default="keras2/tensorflow,keras2/theano,keras3/torch,keras3/jax")
    parser.add_argument("--example", default="mnist_mlp")
    parser.add_argument("--epochs", type=int, default=12)
    asked = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as made:
        for pair in range(asked.pairs):
            order = ("on", "off") if pair % 2 else ("off", "on")
            found = {how: seconds(Path(made), f"{pair}-{how}", how, asked) for how in order}
            for backend, in_turns in found["on"].items():
                ratios.setdefault(backend, []).append(in_turns / found["off"][backend])
    for backend, there in ratios.items():
        interval = intervals.of_median(there)
        held = f" ({interval.low:.3f} to {interval.high:.3f})" if interval else ""
        print(f"{backend:18} {asked.example} in turns / alone: {median(there):.3f}{held}, {len(there)} pairs")


if __name__ == "__main__":
    main()
