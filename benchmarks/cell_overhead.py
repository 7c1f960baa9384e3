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
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.cells import launcher, runner
from kbench.cells.spec import Here
from kbench.machine import devices
from kbench.planning.tasks import CellTask
from kbench.values import Cell, Data, Environment

STAND_IN = """\
import json, os, sys
spec = json.load(open(sys.argv[1]))
with open(os.path.expanduser(spec["events"]), "a") as file:
    for event in ({"event": "start"}, {"event": "epoch", "epoch": 1, "seconds": 1.0, "samples": 32},
                  {"event": "end", "seconds": 0.1}):
        file.write(json.dumps(event) + "\\n")
"""


def task(name: str) -> CellTask:
    """A cell whose guest is the stand-in."""
    cell = Cell(name, "keras9/none", "channels_last", "cpu", 1, "smoke", 32, 32, 0, 1, 0)
    return CellTask(
        **vars(cell), task="train", input="flat", example_sha256="", parameters=None, keras_backend="none"
    )


def main(pairs: int) -> None:
    """Measure `pairs` pairs and print medians."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Path(folder, "guest.py")
        guest.write_text(STAND_IN, "utf-8")
        listener = runner.Listener(lambda task: None, lambda task, done: None, lambda task, outcome: None)
        tasks = [task(f"e{number}") for number in range(pairs + 1)]
        data = Data("none", "synthetic", Path(), ("x.npy",), "y.npy", (), "", 10, 1.0, ((1,),), "")
        here = Here(
            run=store.create(Path(folder, "results"), {"cells": []}, {}),
            device=devices.CPU,
            examples={one.example: Path("none.py") for one in tasks},
            data={(one.example, one.image_data_format): data for one in tasks},
            published_weights={},
            environments={"keras9/none": Environment("keras9/none", "cpu", Path(sys.executable), None, {}, "")},
            passed={},
            guest=guest,
        )
        differences = []
        for one in tasks:
            start = time.perf_counter()
            (outcome,) = runner.run([one], {}, here, launcher.launch, listener)
            hosted = time.perf_counter() - start
            assert outcome.status == "ok", outcome
            spec = store.cell_folder(here.run, one).spec
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
