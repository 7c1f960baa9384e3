"""How long the guest's modules take to import in a cell that trains an example and is asked for nothing else.

    python benchmarks/guest_start.py [--before CHECKOUT] [--pairs N] [--backends LIST]

Each checkout's real command first runs a small cell of each backend, whose guest says which modules it has loaded.
Then processes of the backend's Python import the framework's Keras and, after it, these modules, without running a
cell: of both checkouts in turn, the first of a pair drawn by its number. Printed are the number of modules, and the
medians in milliseconds of the import of Keras and of that of the modules; of another checkout, too, with the median
ratio of the pairs and its interval. Ten pairs of three backends take two minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from real_command import CHECKOUT
from script_overhead import shown

from kbench.base import paths
from kbench.cells import spec as specs
from kbench.environments import ensure
from kbench.machine import devices
from kbench.planning.request import cores
from kbench.records.values import CHANNELS_LAST, Backend
from kbench.selection import backends, builds

# What the smallest example's file has besides: at the end of the cell, its modules in the order of their import.
TELLS = """
import atexit
import sys

atexit.register(lambda: print("\\nloaded", *(name for name in sys.modules if name.startswith("kbench_"))))
"""
# Run by a backend's Python with the guest's folder and its modules; Python 3.6 reads it, too.
PROGRAM = """
import importlib
import sys
import time

sys.path.insert(0, sys.argv[1])
began = time.perf_counter()
import keras
between = time.perf_counter()
for name in sys.argv[2:]:
    importlib.import_module(name)
print("\\\\nseconds", between - began, time.perf_counter() - between)
"""


@dataclass(frozen=True)
class Guest:
    """A checkout's guest: its folder, and what a cell loads of it."""

    folder: Path
    modules: Sequence[str]


def guest_of(checkout: Path, backend: str, run: Path) -> Guest:
    """What the guest of this checkout loads in the cell of a small example."""
    example = run.with_name("two_layers.py")
    example.write_text((CHECKOUT / "examples_models" / "mnist_mlp.py").read_text() + TELLS)
    chosen = ("run", "--backends", backend, "--examples", str(example), "--profile", "smoke", "--repeats", "1")
    where = ("--device", "cpu", "--data", "synthetic", "--no-plots", "--interleave", "off")
    done = subprocess.run(
        [sys.executable, str(checkout / "run.py"), *chosen, *where, "--results", str(run.parent), "--name", run.name],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    logs = [path.read_text() for path in run.glob("cells/*/log.txt")]
    lines = [line for log in logs for line in log.splitlines() if line.startswith("loaded ")]
    if done.returncode or not lines:
        sys.exit(done.stdout)
    return Guest(checkout / "kbench" / "guest", lines[0].split()[1:])


def imports(guest: Guest, backend: Backend, home: Path) -> tuple[float, float]:
    """Milliseconds of the import of Keras, and of the guest's modules after it, in a process of their own."""
    environment = ensure.ensure(backend, builds.pick_build(backend, devices.CPU))
    settings = {"backend": backend.keras_backend, "image_data_format": CHANNELS_LAST}
    (home / "keras.json").write_text(json.dumps({**settings, "floatx": "float32", "epsilon": 1e-7}))
    variables = ensure.variables(environment, cores()[0])
    done = subprocess.run(
        [str(environment.python), "-c", PROGRAM, str(guest.folder), *guest.modules],
        env=specs.environment_variables(os.environ, variables, devices.pin_variables(devices.CPU), home),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    of_keras, of_guest = done.stdout.rpartition("seconds ")[2].split()[:2]
    return 1000 * float(of_keras), 1000 * float(of_guest)


def main() -> None:
    """Measure and print a line for each backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", type=Path, help="another checkout of kbench")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--backends", default="keras2/tensorflow,keras3/jax,keras3/torch")
    options = parser.parse_args()
    if options.pairs < 1:
        parser.error("a pair at least is needed")
    known = backends.load_all(paths.project_folder("backends"))
    checkouts = [CHECKOUT, *([options.before.resolve()] if options.before else [])]
    head = f"{'backend':18} {'keras (ms)':>10} {'modules':>7} {'guest (ms)':>10}"
    print(head + (f" {'modules':>7} {'before (ms)':>11} now / before" if options.before else ""))
    with tempfile.TemporaryDirectory() as made:
        for name in options.backends.split(","):
            runs = [Path(made, f"{name.replace('/', '-')}-{number}") for number in range(len(checkouts))]
            guests = [guest_of(one, name, run) for one, run in zip(checkouts, runs, strict=True)]
            of_keras: list[float] = []
            of_guests: list[list[float]] = [[] for _ in guests]
            for pair in range(-1, options.pairs):  # the first one compiles Python's files, and is not counted
                for number in range(len(guests))[:: 1 if pair % 2 else -1]:
                    both = imports(guests[number], known[name], Path(made))
                    if pair >= 0:
                        of_keras.append(both[0])
                        of_guests[number].append(both[1])
            columns = [f" {len(one.modules):7} {median(of):10.1f}" for one, of in zip(guests, of_guests, strict=True)]
            line = f"{name:18} {median(of_keras):10.0f}" + "".join(columns)
            if options.before:
                line += f" {shown([now / before for now, before in zip(*of_guests, strict=True)])}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
