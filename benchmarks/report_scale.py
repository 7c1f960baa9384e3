"""A run of 2,000 cells of 100 epochs: `report` within 20 s and 1 GiB of memory, `compare` of two within 5 s.

    python benchmarks/report_scale.py [--cells N] [--epochs N] [--repeats N] [--steps N] [--no-goals]

Two runs are generated in a temporary folder, of eight backends, as many repeats as asked for, and as many examples as
that takes; then the real commands read them, and their wall-clock time and their peak memory are printed: `report` of
each, with which every run ends, and `compare` of both. The exit status is 1 where a goal is missed. --repeats 1 makes
each cell a row of its own, and so a table and pictures for each eight of them: --no-goals prints alone.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import store
from kbench.base import paths
from kbench.records import axes
from kbench.records.values import OK, Cell, Outcome
from kbench.selection import backends

BATCH, SAMPLES = 128, 1024
GOALS = {"report": (20.0, 1024.0), "compare": (5.0, 1024.0)}  # seconds, MiB
LAYERS = [["Dense", {"units": 512, "activation": "relu"}, [[784, 512], [512]]], ["Dense", {"units": 10}, [[512, 10]]]]
MACHINE = {"cpu": {"model": "A processor", "visible": 2, "threads": 2}, "memory_mib": 24000, "gpus": []}


def generate(parent: Path, name: str, cells: list[Cell], steps: int, seed: int) -> Path:
    """A run on disk in which every cell ended ok, as the runner and the guests would have left it."""
    known = backends.load_all(paths.project_folder("backends"))
    plan = {
        "profile": "quick",
        "cells": [vars(one) for one in cells],
        "backends": {one.backend: {"title": one.backend, "color": known[one.backend].color} for one in cells},
        "examples": {
            one.example: {
                "task": "train",
                "input": "flat",
                "available_samples": 60000,
                "target": "val_accuracy >= 0.9",
            }
            for one in cells
        },
    }
    asked = {"backends": sorted({one.backend for one in cells}), "examples": sorted({one.example for one in cells})}
    run = store.create(parent, plan, MACHINE, name, asked)
    chance = random.Random(seed)
    data = {"name": "mnist", "source": "real", "sha256": "ab" * 32, "hash_of": "content"}
    for one in cells:
        folder = store.cell_folder(run, one)
        folder.path.mkdir(parents=True)
        folder.spec.write_text(json.dumps({"schema": 1, "data": data}))
        outcome = Outcome(OK, seconds=60.0, exit_code=0)
        folder.outcome.write_text(json.dumps(vars(outcome)))
        folder.events.write_text("\n".join(_events(one, steps, chance)) + "\n")
    return run


def _events(cell: Cell, steps: int, chance: random.Random) -> list[str]:
    """What a guest tells, line by line."""
    pace = 0.01 * (1 + sum(map(ord, cell.backend)) % 7)
    before = [
        {"event": "start", "schema": 1, "pid": 7, "python": "3.6.15", "batch_size": BATCH},
        {"event": "phase", "name": "import", "seconds": 1.5},
        {"event": "loaded", "keras_version": "2.2.4", "backend": "x", "backend_version": "2.7"},
        {"event": "order", "sha256": "cd" * 32},
        {"event": "phase", "name": "build", "seconds": 0.25},
        {"event": "model", "parameters": 407050, "form": "", "layers": LAYERS, "weights": "seeded"},
        {"event": "probe", "outputs": [[0.1] * 10] * 4},
        {"event": "phase", "name": "first_step", "seconds": 0.75},
    ]
    lines = list(map(json.dumps, before))
    for epoch in range(1, cell.epochs + 1):
        times = [pace * chance.uniform(0.95, 1.2) for _ in range(steps)]
        loss = chance.uniform(0.9, 1.1) / epoch
        accuracy = 1 - loss / 4 - 0.1
        seconds = sum(times) or 8 * pace * chance.uniform(0.95, 1.2)
        lines.append(
            f'{{"accuracy": {accuracy!r}, "epoch": {epoch}, "evaluation_seconds": {pace!r}, "event": "epoch", '
            f'"loss": {loss!r}, "samples": {SAMPLES}, "seconds": {seconds!r}, "step_seconds": {times!r}, '
            f'"teardown_seconds": {pace!r}, '
            f'"val_accuracy": {accuracy - 0.01!r}, "val_loss": {loss + 0.01!r}}}'
        )
    return [*lines, '{"event": "memory", "at": "end", "peak_mib": 500.0}', '{"event": "end", "seconds": 60.0}']


def cells_of(count: int, repeats: int, epochs: int) -> list[Cell]:
    """So many cells: of each repeat every example on every backend."""
    names = sorted(backends.load_all(paths.project_folder("backends")))
    rows = -(-count // repeats)
    found = [
        _cell(f"example_{row // len(names) + 1:04}", names[row % len(names)], repeat, epochs)
        for repeat in range(1, repeats + 1)
        for row in range(rows)
    ]
    return found[:count]


def _cell(example: str, backend: str, repeat: int, epochs: int) -> Cell:
    values: dict[str, axes.Value] = {
        axes.EXAMPLE: example,
        axes.BACKEND: backend,
        axes.LAYOUT: "channels_last",
        axes.DEVICE: "cpu",
        axes.TASK: "train",
        axes.BATCH_SIZE: BATCH,
        axes.SAMPLES: SAMPLES,
    }
    return Cell(
        values=axes.complete(values),
        repeat=repeat,
        profile="quick",
        validation_samples=200,
        epochs=epochs,
        seed=repeat,
    )


def measure(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and peak MiB of a kbench command, the processes that it starts included."""
    start = time.monotonic()
    with (folder / "said.txt").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "kbench", *command], cwd=CHECKOUT, stdout=log, stderr=log)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(0.02)
    seconds = time.monotonic() - start
    assert process.returncode == 0, (folder / "said.txt").read_text()[-2000:]
    return seconds, peak


def _resident(pid: int) -> float:
    total = 0
    try:
        own = psutil.Process(pid)
        for one in (own, *own.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:
        pass
    return total / 2**20


def main() -> int:
    """Generate, measure, print; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=2_000)
    parser.add_argument("--epochs", type=int, default=100, help="of each cell")
    parser.add_argument("--repeats", type=int, default=100, help="of each row; 1 makes every cell a row")
    parser.add_argument("--steps", type=int, default=8, help="timed in each epoch")
    parser.add_argument("--no-goals", action="store_true", help="print alone")
    options = parser.parse_args()
    if min(options.cells, options.epochs, options.repeats) < 1 or options.steps < 0:
        parser.error("cells, epochs and repeats are at least 1, steps at least 0")
    cells = cells_of(options.cells, options.repeats, options.epochs)
    print(f"{len(cells):,} cells, {len(cells) * options.epochs:,} epochs, {options.steps} steps in each")
    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for seed, name in enumerate(("a", "b")):
            generate(folder, name, cells, options.steps, seed)
        for command, *runs in (("report", "a"), ("report", "b"), ("compare", "a", "b")):
            seconds, mib = measure([command, *runs, "--results", str(folder)], folder)
            most_seconds, most_mib = GOALS[command]
            print(
                f"{' '.join((command, *runs)):12} {seconds:6.1f} s (goal {most_seconds:g})   "
                f"{mib:6,.0f} MiB (goal {most_mib:,.0f})",
                flush=True,
            )
            missed |= seconds > most_seconds or mib > most_mib
        page = (folder / "a" / "report.html").stat().st_size / 2**20
        print(f"report.html is {page:.1f} MiB")
    return int(missed and not options.no_goals)


if __name__ == "__main__":
    sys.exit(main())
