"""What measuring costs: a steady epoch under kbench over one of a script's single fit, in processes that alternate.

    python benchmarks/overhead.py [--processes N] [--epochs N] [--backends LIST] [--examples LIST]

Again and again, each backend trains each example in a process with one bare fit of several epochs (overhead_pairs.py)
and in one by kbench's real command with --interleave off, in an order that changes; then the real command runs all of
the backends in turns. Of each process counts the median of its second and later epochs. Printed are, for each example
and backend, the bare fit's seconds and the median of the ratios to the bare fit of the same time, with its interval:
for kbench alone and, with two backends or more, in turns. In turns only epochs count that end while others still have
turns. Nothing else should run: the other processes of a busy machine hit one of a pair and not the other. It takes
about ten seconds for each process. The real data are needed, or KBENCH_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import real_command
from real_command import CHECKOUT

from kbench import paths, store
from kbench.analysis.times import intervals
from kbench.cells import spec as specs
from kbench.environments import ensure
from kbench.machine import devices
from kbench.planning.request import cores
from kbench.selection import backends, builds
from kbench.values import Backend, Measured


def by_kbench(names: Sequence[str], example: str, run: Path, epochs: int) -> Sequence[Measured]:
    """What the real command measures in one process of each backend: in turns, if there are several."""
    turns = ("--interleave", "on" if len(names) > 1 else "off", "--epochs", str(epochs))
    return real_command.measured(["run", "--backends", ",".join(names), "--examples", example, *turns], run)


def bare(backend: Backend, folder: store.CellFolder) -> float:
    """Seconds of a steady epoch of one fit, of the model and the arrays that the cell in this folder had."""
    environment = ensure.ensure(backend, builds.pick_build(backend, devices.CPU))
    program = CHECKOUT / "benchmarks" / "overhead_pairs.py"
    done = subprocess.run(
        [str(environment.python), str(program), str(folder.spec), str(paths.PACKAGE / "guest")],
        cwd=folder.path,
        env=specs.environment_variables(
            os.environ,
            ensure.variables(environment, cores()[0]),
            devices.pin_variables(devices.CPU),
            folder.keras_home,
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout)
    seconds: list[float] = json.loads(done.stdout.rpartition("epochs ")[2].splitlines()[0])
    return median(seconds[1:])


def steady(one: Measured, others: Sequence[Measured] = ()) -> float | None:
    """Seconds of the median of its second and later epochs; if others have turns, of those that end while they do."""
    epochs = one.epochs[1:]
    if others:
        last = max(turn.round for other in others for epoch in other.epochs for turn in epoch.rounds)
        epochs = tuple(epoch for epoch in epochs if epoch.rounds and epoch.rounds[-1].round <= last)
    return median(epoch.seconds for epoch in epochs) if epochs else None


def ratio(ours: Sequence[float | None], bare: Sequence[float]) -> str:
    """The median of the processes' ratios, with its interval."""
    found = [one / other for one, other in zip(ours, bare, strict=True) if one is not None]
    if not found:
        return "-"
    interval = intervals.of_median(found)
    return f"{median(found):.3f}" + (f" ({interval.low:.3f}-{interval.high:.3f})" if interval else "")


def measure(example: str, chosen: Sequence[Backend], processes: int, epochs: int, folder: Path) -> None:
    """Measure one example and print a line for each backend."""
    names = [backend.name for backend in chosen]
    bares: dict[str, list[float]] = {name: [] for name in names}
    alone: dict[str, list[float | None]] = {name: [] for name in names}
    in_turns: dict[str, list[float | None]] = {name: [] for name in names}
    specs_of: dict[str, store.CellFolder] = {}  # of the first cell of each backend
    for process in range(processes):
        for number, backend in enumerate(chosen):
            name, run = backend.name, folder / f"{example}-{process}-{number}"
            ways = ("kbench", "bare")[:: -1 if process % 2 else 1]
            for way in ways:
                if way == "bare":
                    bares[name].append(bare(backend, specs_of[name]))
                    continue
                (one,) = by_kbench([name], example, run, epochs)
                alone[name].append(steady(one))
                specs_of.setdefault(name, store.cell_folder(run, one.cell))
        if len(names) > 1:
            measured = by_kbench(names, example, folder / f"{example}-{process}-turns", epochs)
            for one in measured:
                others = [other for other in measured if other is not one]
                in_turns[one.cell.backend].append(steady(one, others))
    for name in names:
        turns = ratio(in_turns[name], bares[name]) if in_turns[name] else "-"
        print(
            f"{example:12} {name:20} {median(bares[name]):8.4f}   {ratio(alone[name], bares[name]):21} {turns}",
            flush=True,
        )


def main() -> None:
    """Measure and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=7, help="of each kind")
    parser.add_argument("--epochs", type=int, default=12, help="of each process; the first is not counted")
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/tensorflow,keras3/jax,keras3/torch")
    parser.add_argument("--examples", default="mnist_mlp,mnist_cnn")
    options = parser.parse_args()
    if options.processes < 1 or options.epochs < 2:
        parser.error("a process at least is needed, and two epochs")
    known = backends.load_all(paths.project_folder("backends"))
    chosen = [known[name] for name in options.backends.split(",")]
    print(f"{'example':12} {'backend':20} {'bare (s)':>8}   {'x bare, alone':21} x bare, in turns")
    with tempfile.TemporaryDirectory() as folder:
        for example in options.examples.split(","):
            measure(example, chosen, options.processes, options.epochs, Path(folder))


if __name__ == "__main__":
    main()
