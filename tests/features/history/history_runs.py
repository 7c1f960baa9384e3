"""Test helper: runs on disk of several versions, with simulated times, as kbench reads them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fake_runs import PROVENANCE, cell, fake_run, learning, write_events

from kbench.records.values import OK, Cell, Outcome

STEPS, TURNS = 4, 8  # of a turn; of a short process
FRAMEWORK = "2.9.0"
Paces = Mapping[str, float]  # by version


def backend(keras: str) -> str:
    return f"keras3/torch+keras={keras}"


def run_of(
    parent: Path,
    name: str,
    paces: Paces,
    seed: int = 0,
    *,
    noise: float = 0.0,
    created: str = "2026-05-01T10:00:00",
    provenance: Mapping[str, Any] = PROVENANCE,
    loss: Mapping[str, float] = {},  # never changed
    memory: Mapping[str, float] = {},
    processes: int = 3,
    example: str = "mnist_mlp",
    asked: bool = True,
) -> Path:
    """A run of these versions of Keras, a whole and further short processes of each, in turns.

    paces: seconds of a step; noise: of the logarithm of a process's pace, and a tenth of it within.
    """
    random.seed(f"{name} {seed}")
    cells = []
    for keras, pace in paces.items():
        own = backend(keras) if asked else "keras3/torch"
        for number in range(processes):
            one = cell(example, own, repeat=1, timing=number, epochs=7)
            cells.append((one, keras, pace * math.exp(random.gauss(0, noise))))
    run = fake_run(parent, [(one, pace, Outcome(OK)) for one, _, pace in cells], name, provenance)
    for one, keras, pace in cells:
        write_events(run, one, _events(one, keras, pace, noise / 10, loss.get(keras, 1.0), memory.get(keras)))
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "created": created}))
    return run


def _events(
    one: Cell, keras: str, pace: float, noise: float, loss: float, memory: float | None
) -> list[dict[str, Any]]:
    told = learning(one, pace)
    for event in told:
        if event["event"] == "loaded":
            event |= {"keras_version": keras.partition(" ")[0], "backend": "torch", "backend_version": FRAMEWORK}
        if event["event"] == "epoch":
            event["loss"] *= loss
    *before, end = (event for event in told if event["event"] != "epoch")
    epochs = [event for event in told if event["event"] == "epoch"]
    for event in epochs:
        event |= _turns([event["epoch"]], pace, noise)
    if one.timing:
        epochs = [epochs[0] | _turns(range(TURNS), pace, noise)]
    peak = [{"event": "memory", "at": "end", "peak_mib": memory}] if memory else []
    return [*before, *epochs, *peak, end]


def _turns(numbers: Sequence[int], pace: float, noise: float) -> dict[str, Any]:
    """Of an epoch with a turn of each of these numbers."""
    steps = [pace * math.exp(random.gauss(0, noise)) for _ in range(STEPS * len(numbers))]
    turns = [[number, place * STEPS, (place + 1) * STEPS] for place, number in enumerate(numbers)]
    return {"seconds": sum(steps), "step_seconds": steps, "rounds": turns}
