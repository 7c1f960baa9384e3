"""What measuring costs: steady epochs under kbench over those of a bare fit, and the host's share of the processor.

    python benchmarks/overhead.py [--processes N] [--pairs N] [--backends LIST] [--examples LIST]

For each example and backend one cell is run by the real command, and the processor time of its host is read while the
guest works: at most 2 % of a core. Then kbench's epochs and bare fits of two epochs take turns in processes of that
backend (overhead_pairs.py), with the host's watching around them. One process may have either model lie better in
memory, by as much as the goal allows: what counts is the median over the processes of the median ratio of each one's
pairs, with the interval of so many values. It is to be at most 1.01, over the first epoch of a bare fit as over its
second. Where a backend's file has its updates put in order, the bare fit does the same, and a second line compares
with the fit as it ships. kbench has to be installed, and the real data are needed, or KBENCH_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import paths, store
from kbench.analysis import intervals
from kbench.cells import launcher, runner
from kbench.cells import spec as specs
from kbench.environments import ensure
from kbench.machine import devices
from kbench.planning.request import cores
from kbench.selection import backends, builds
from kbench.values import Backend, Cell

# All of mnist_mlp's: a fit's first epoch has a few milliseconds more to do, under kbench as in a bare script.
SAMPLES = {"mnist_mlp": 60000, "mnist_cnn": 1280}
EPOCHS = 6  # of the cell under the real command


def hosted(backend: str, example: str, folder: Path) -> tuple[Cell, Path, float]:
    """One cell by the real command: the cell, its folder, and the share of a core that the host used meanwhile."""
    command = [sys.executable, "-m", "kbench", "run", "--backends", backend, "--examples", example, "--device", "cpu"]
    counts = ["--samples", str(SAMPLES[example]), "--epochs", str(EPOCHS), "--results", str(folder)]
    with (folder / "host.txt").open("wb") as log:
        process = subprocess.Popen([*command, *counts], cwd=CHECKOUT, stdout=log, stderr=log)
        host, looks = psutil.Process(process.pid), []
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):
                if any("spec.json" in " ".join(child.cmdline()) for child in host.children()):
                    used = host.cpu_times()
                    looks.append((time.monotonic(), used.user + used.system))
            time.sleep(0.2)
    assert process.returncode == 0, (folder / "host.txt").read_text()[-2000:]
    run = store.latest(folder)
    (one,) = store.read(run).measured
    (start, before), (end, after) = looks[0], looks[-1]
    return one.cell, store.cell_folder(run, one.cell).path, (after - before) / (end - start)


def paired(
    backend: Backend, folder: Path, pairs: int, ordered: bool, bare_first: bool
) -> tuple[list[float], list[list[float]]]:
    """(kbench, bare): seconds of so many epochs under kbench, and of the epochs of the bare fit after each.

    bare_first: whether the bare fit's model is the one that is built first.
    """
    environment = ensure.ensure(backend, builds.pick_build(backend, devices.CPU))
    variables = specs.environment_variables(
        os.environ,
        ensure.variables(environment, cores()[0]),
        devices.pin_variables(devices.CPU),
        folder / "keras_home",
    )
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    path, log = folder / "pairs.json", folder / "pairs.txt"
    path.write_text(json.dumps({**spec, "epochs": pairs + 1}), "utf-8")
    progress = runner.Progress(folder / "events.jsonl")
    pairs_program = CHECKOUT / "benchmarks" / "overhead_pairs.py"
    ended = launcher.to_its_end(
        launcher.launch(
            [
                *(str(environment.python), str(pairs_program), str(path), str(paths.PACKAGE / "guest")),
                *(str(int(ordered)), str(int(bare_first))),
            ],
            variables=variables,
            folder=folder,
            log=log,
            timeout=1800.0,
            watch=lambda: progress.sample() and None,
        )
    )
    said = log.read_text("utf-8", "replace")
    log.unlink()
    assert ended.code == 0, said[-2000:]
    told = json.loads(said.rpartition("pairs ")[2].splitlines()[0])
    return told["kbench"], told["bare"]


def ratio(processes: list[tuple[list[float], list[list[float]]]], epoch: int) -> str:
    """The median of the processes' median ratios to that epoch of the bare fits, with its interval."""
    ratios = tuple(
        statistics.median(ours / epochs[epoch] for ours, epochs in zip(kbench, bare, strict=True))
        for kbench, bare in processes
    )
    interval = intervals.of_median(ratios)
    return f"{statistics.median(ratios):.3f}" + (f" ({interval.low:.3f}-{interval.high:.3f})" if interval else "")


def main() -> None:
    """Measure and print a line for each example and backend."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=15, help="in each process")
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/tensorflow,keras3/jax,keras3/torch")
    parser.add_argument("--examples", default="mnist_mlp,mnist_cnn")
    options = parser.parse_args()
    known = backends.load_all(paths.project_folder("backends"))
    print(f"{'example':12} {'backend':20} {'host':>6} {'kbench (s)':>10}   {'over the first':21} over the second")
    for example in options.examples.split(","):
        for name in options.backends.split(","):
            with tempfile.TemporaryDirectory() as folder:
                _, cell_folder, share = hosted(name, example, Path(folder))
                for ordered in (True, False) if known[name].ordered_updates else (False,):
                    told = [
                        paired(known[name], cell_folder, options.pairs, ordered, bool(process % 2))
                        for process in range(options.processes)
                    ]
                    seconds = statistics.median(statistics.median(kbench) for kbench, _ in told)
                    print(
                        f"{example:12} {name:20} {share:6.1%} {seconds:10.4f}   {ratio(told, 0):21} {ratio(told, 1)}"
                        + (" against the fit as it ships" if known[name].ordered_updates and not ordered else ""),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
