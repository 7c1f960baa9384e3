"""Why a script's rows differ: sentences from what its cells reported, and from the runs of --explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fake_runs import PROVENANCE, cell, plan, write_events

from kbench import store
from kbench.analysis.rows import summarised
from kbench.outputs import causes
from kbench.planning.request import OTHER_JIT, SAME_BATCH
from kbench.values import OK, SCRIPT, Outcome

LOOP = "reader (LSTM) computes one time step after another: the fused kernel cannot compute unroll=True"
STEPS = 10
FIT = "fit, line 9"
ROW = f"train.py: {FIT} on"

Told = dict[str, tuple[float, dict[str, Any]]]  # backend -> seconds per step, facts of the only fit


def write(parent: Path, name: str, told: Told) -> Path:
    cells = {backend: cell("train.py", backend) for backend in told}
    run = store.create(parent, plan(cells.values(), task=SCRIPT), PROVENANCE, name)
    for backend, (seconds, facts) in told.items():
        site = {"event": "site", "site": FIT, "task": "train", "facts": {"layers": [["LSTM", {}, []]], **facts}}
        epochs = [
            {"event": "epoch", "epoch": number, "site": FIT, "seconds": STEPS * seconds, "samples": 100}
            | {"first": int(number == 1), "step_seconds": [seconds] * STEPS}
            for number in (1, 2, 3)
        ]
        program = {"event": "program", "seconds": 9.0, "exit_status": 0, "keras": 1, "broken": ""}
        write_events(run, cells[backend], [site, *epochs, program, {"event": "end", "seconds": 9.0}])
        store.write_outcome(run, cells[backend], Outcome(OK))
    return run


def explained(folder: Path, told: Told, **parts: Told) -> list[str]:
    run = write(folder, "run", told)
    for name, changed in parts.items():
        write(run / store.EXPLAIN, name.replace("_", "-"), changed)
    results = store.read(run)
    return causes.sentences(results, summarised(results))


def test_a_fallback_is_told_where_a_row_is_slower_than_another_or_alone(tmp_path: Path) -> None:
    slow, fast = (0.02, {"fallbacks": [LOOP]}), (0.01, {"fallbacks": [LOOP]})
    assert explained(tmp_path / "both", {"keras3/jax": slow, "keras3/torch": fast}) == [f"{ROW} keras3/jax: {LOOP}."]
    assert explained(tmp_path / "alone", {"keras3/torch": fast}) == [f"{ROW} keras3/torch: {LOOP}."]
    assert explained(tmp_path / "none", {"keras3/jax": (0.02, {"fallbacks": []}), "keras3/torch": (0.01, {})}) == []


def test_copies_to_the_device_are_told_if_they_are_much_of_a_slow_step(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, {}), "keras3/torch": (0.02, {}), "keras3/tensorflow": (0.01, {})}
    same: Told = {
        "keras3/jax": (0.02, {"transfer_seconds": 0.008}),
        "keras3/torch": (0.02, {"transfer_seconds": 0.002}),
        "keras3/tensorflow": (0.01, {"transfer_seconds": 0.008}),
    }
    assert explained(tmp_path, told, same_batch=same) == [
        f"{ROW} keras3/jax: copying a batch to the device and a number back takes 8.00 ms, 40% of a step."
    ]


def test_what_run_eagerly_costs_is_told(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.04, {"run_eagerly": True}), "keras3/torch": (0.04, {})}
    other: Told = {"keras3/jax": (0.01, {"jit_compile": False}), "keras3/torch": (0.02, {"jit_compile": True})}
    assert {SAME_BATCH, OTHER_JIT} == {"same-batch", "other-jit"}
    assert explained(tmp_path, told, other_jit=other) == [
        f"{ROW} keras3/jax: without run_eagerly a step takes 10.0 ms instead of 40.0 ms.",
        f"{ROW} keras3/torch: with jit_compile a step takes 20.0 ms instead of 40.0 ms, and the first epoch 0.200 s "
        "instead of 0.400 s.",
    ]


def test_where_nothing_is_found_that_is_told(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, {"transfer_seconds": None})}
    (said,) = explained(tmp_path, told, same_batch=told, other_jit=told)
    assert said == "No backend is slow here because of its data, copies to the device, jit_compile or recompilation."
