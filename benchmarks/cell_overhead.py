"""What the host adds to a cell beyond its guest: pairs of one guest process, started by the runner and started bare.

    python benchmarks/cell_overhead.py [PAIRS]       in an environment where kbench is installed

The guest is a stand-in that writes a few events and ends, so that what differs is the host alone: spec, keras.json,
environment variables, watching, reading the events, the outcome on disk. The goal is at most 0.3 s a cell.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import paths, store
from kbench.cells import launcher, runner
from kbench.machine import devices
from kbench.selection import backends, examples
from kbench.values import Cell, Data, Environment

STAND_IN = """\
import json, os, sys
spec = json.load(open(sys.argv[1]))
with open(os.path.expanduser(spec["events"]), "a") as file:
    for event in ({"event": "start"}, {"event": "epoch", "epoch": 1, "seconds": 1.0, "samples": 32},
                  {"event": "end", "seconds": 0.1}):
        file.write(json.dumps(event) + "\\n")
"""


def job(name: str) -> runner.Job:
    """A cell whose guest is the stand-in, in this Python."""
    backend = next(iter(backends.load_all(paths.project_folder("backends")).values()))
    example = examples.load(paths.project_folder("examples_models") / "mnist_mlp.py")
    data = Data("none", "synthetic", Path(), ("x.npy",), "y.npy", (), "", 10, 1.0, ((1,),), "")
    environment = Environment(backend.name, "cpu", Path(sys.executable), None, {}, "")
    cell = Cell(name, backend.name, "channels_last", "cpu", 1, "smoke", 32, 32, 0, 1, 0)
    return runner.Job(cell, replace(example, name=name), backend, backend.builds[0], environment, data)


def main(pairs: int) -> None:
    """Measure `pairs` pairs and print medians."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Path(folder, "guest.py")
        guest.write_text(STAND_IN, "utf-8")
        settings = runner.Settings(devices.CPU, {}, 60.0, False, "seeded", guest, {})
        listener = runner.Listener(lambda job: None, lambda job, done: None, lambda job, outcome: None)
        run = store.create(Path(folder, "results"), {"cells": []}, {})
        differences = []
        for number in range(pairs + 1):
            one = job(f"e{number}")
            start = time.perf_counter()
            (outcome,) = runner.run([one], run, settings, lambda environment: {}, launcher.launch, listener)
            hosted = time.perf_counter() - start
            assert outcome.status == "ok", outcome
            spec = store.cell_folder(run, one.cell).spec
            start = time.perf_counter()
            subprocess.run([sys.executable, str(guest), str(spec)], check=True, env={"PATH": os.environ["PATH"]})
            differences.append((hosted, time.perf_counter() - start))
    differences = differences[1:]  # the first call imports
    print(f"by the runner {statistics.median(a for a, _ in differences):.3f} s")
    print(f"bare          {statistics.median(b for _, b in differences):.3f} s")
    print(
        f"added         {statistics.median(a - b for a, b in differences):.3f} s (largest "
        f"{max(a - b for a, b in differences):.3f} s)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
