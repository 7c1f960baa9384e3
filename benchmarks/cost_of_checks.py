"""What checking that rows do the same work costs: the seconds of a row's first process in its phase "probe".

    python benchmarks/cost_of_checks.py [--before CHECKOUT] [--pairs N] [--backends LIST] [--examples LIST]

The phase holds the first prediction, the step on trial before training and the step taken again after it, with their
compilation. Each backend trains each example by the real command, in turns with the same command of another checkout
where one is named. Printed are, for each example and backend, the medians of the phase and of the whole process in
seconds, and of the phase in the other checkout. No epoch's time contains any of it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import real_command
from real_command import CHECKOUT


def compare(checkouts: Sequence[Path], backend: str, example: str, pairs: int, folder: Path) -> str:
    """The line of an example and a backend."""
    probes: list[list[float]] = [[] for _ in checkouts]
    wholes: list[float] = []
    for pair in range(pairs):
        order = range(len(checkouts))
        for number in order if pair % 2 else reversed(order):
            run = folder / f"{example}-{backend.replace('/', '-')}-{pair}-{number}"
            command = (
                "run",
                "--backends",
                backend,
                "--examples",
                example,
                "--profile",
                "smoke",
                "--interleave",
                "off",
            )
            (one,) = real_command.measured(command, run, checkouts[number])
            probes[number].append(one.phases.get("probe", 0.0))
            if not number:
                wholes.append(one.outcome.seconds or 0.0)
    before = "".join(f"{median(found):12.2f}" for found in probes[1:])
    return f"{example:12} {backend:20} {median(probes[0]):10.2f} {median(wholes):10.1f}{before}"


def main() -> None:
    """Measure and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="another checkout of kbench")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument(
        "--backends",
        default="keras2/tensorflow,keras2/cntk,keras2/theano,keras2/mxnet,keras2/tensorflow2,"
        "keras3/tensorflow,keras3/jax,keras3/torch",
    )
    parser.add_argument("--examples", default="mnist_mlp,mnist_cnn")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error("a pair at least is needed")
    checkouts = [CHECKOUT, *([options.before.resolve()] if options.before else [])]
    print(f"example      backend              checks (s)  whole (s){'   before (s)' if options.before else ''}")
    with tempfile.TemporaryDirectory() as folder:
        for example in options.examples.split(","):
            for backend in options.backends.split(","):
                print(compare(checkouts, backend, example, options.pairs, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
