"""Whether kbench times what a bare program does: a step in its whole processes, its short ones, and without kbench.

    python benchmarks/observer.py [RUN] [--processes N] [--epochs N] [--backends LIST] [--examples LIST]

RUN is the folder of a run of this checkout; without it the real command measures the backends and examples, with its
default options. Then a bare program (observer_pairs.py) trains each row's model on the same arrays, with the same
variables of the environment, in several processes, which take turns with those of the other rows. Printed are the
median step (ms) of the bare processes, with the smallest and largest one, and how many times as long a step of the
whole and of the short processes takes. Nothing else should run. Beside the run, three bare processes of the seven
default examples on three backends take a quarter of an hour.
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

from real_command import CHECKOUT

from kbench import store
from kbench.analysis.times import rounds
from kbench.base import paths
from kbench.cells import spec as specs
from kbench.environments import ensure
from kbench.machine import devices
from kbench.planning.request import cores
from kbench.records.values import OK, Backend, Measured
from kbench.selection import backends, builds


def by_kbench(options: argparse.Namespace, folder: Path) -> Path:
    """The run that the real command makes."""
    run = folder / "run"
    chosen = ("--backends", options.backends, "--examples", options.examples, "--device", "cpu")
    where = ("--results", str(folder), "--name", run.name, "--no-plots")
    done = subprocess.run([sys.executable, str(CHECKOUT / "run.py"), *chosen, *where], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return run


def bare(backend: Backend, folder: store.CellFolder, epochs: int) -> float:
    """Seconds of a step in a process without kbench, of the model and the arrays of the cell in this folder."""
    environment = ensure.ensure(backend, builds.pick_build(backend, devices.CPU))
    program = CHECKOUT / "benchmarks" / "observer_pairs.py"
    example = Path(json.loads(folder.spec.read_text())["example"]).stem
    variables = {
        name: value.replace("{example}", example) for name, value in ensure.variables(environment, cores()[0]).items()
    }
    done = subprocess.run(
        [str(environment.python), str(program), str(folder.spec), str(paths.PACKAGE / "guest"), str(epochs)],
        cwd=folder.path,
        env=specs.environment_variables(os.environ, variables, devices.pin_variables(devices.CPU), folder.keras_home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout)
    seconds: list[float] = json.loads(done.stdout.rpartition("steps ")[2].splitlines()[0])
    return median(seconds[1:])


def step(processes: Sequence[Measured]) -> float | None:
    """The median step of undisturbed turns, over processes of one kind; None without turns."""
    turns = [rounds.of_process(one) for one in processes]
    found = [median(one.steps.values()) for one in turns if one.steps]
    return median(found) if found else None


def main() -> None:
    """Measure and print a line for each row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", nargs="?", type=Path, help="a run's folder; without it one is made")
    parser.add_argument("--processes", type=int, default=3, help="bare ones of each row")
    parser.add_argument("--epochs", type=int, default=4, help="of each bare process; the first is not counted")
    parser.add_argument("--backends", default="keras2/tensorflow,keras2/cntk,keras2/theano,keras3/jax")
    parser.add_argument("--examples", default="mnist_mlp,mnist_cnn")
    options = parser.parse_args()
    if options.processes < 1 or options.epochs < 2:
        parser.error("a process at least is needed, and two epochs")
    known = backends.load_all(paths.project_folder("backends"))
    with tempfile.TemporaryDirectory() as folder:
        run = (options.run or by_kbench(options, Path(folder))).absolute()
        results = store.read(run)
        whole = [one for one in results.measured if one.outcome.status == OK and one.cell.repeat == 1]
        steps: dict[str, list[float]] = {one.cell.id: [] for one in whole}
        for _ in range(options.processes):
            for one in whole:
                cell = store.cell_folder(run, one.cell)
                steps[one.cell.id].append(bare(known[one.cell.backend], cell, options.epochs))
    print(f"{'example':18} {'backend':18} {'bare (ms)':>22} {'whole':>6} {'short':>6}")
    for one in whole:
        alone = steps[one.cell.id]
        middle, ends = median(alone), f"({1000 * min(alone):.4g} to {1000 * max(alone):.4g})"
        short = [each for each in results.short if each.cell.key == one.cell.key and each.outcome.status == OK]
        over = (f"{ours / middle:6.2f}" if ours else f"{'-':>6}" for ours in (step([one]), step(short)))
        print(f"{one.cell.example:18} {one.cell.backend:18} {1000 * middle:7.4g} {ends:>14} {' '.join(over)}")


if __name__ == "__main__":
    main()
