"""What is shown while cases of public names are tried: how many are done, and about how long the others take."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fake_runs import cell
from fake_runs import task as as_task

from kbench.cells.runner import EpochProgress
from kbench.features.coverage import progress as trying
from kbench.features.coverage.progress import Trying
from kbench.planning.tasks import CellTask
from kbench.records.values import FAILED, OK, Outcome
from kbench.screen import progress

JAX, TORCH = "keras3/jax", "keras3/torch"


def task(backend: str, cases: int) -> CellTask:
    made = as_task(cell(backend=backend, epochs=0))
    return replace(made, part={"cases": [{"name": f"layers.N{one}"} for one in range(cases)], "seconds": 120.0})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is shown from now on, a line each time. Not as a fixture: pytest sets stderr anew for the test."""
    found: list[str] = []
    shown = SimpleNamespace(desc="", close=lambda: None, clear=lambda: None, set_description_str=found.append)
    monkeypatch.setattr(progress, "tqdm", lambda **_: shown)
    monkeypatch.setattr(
        sys, "stderr", SimpleNamespace(isatty=lambda: True, write=lambda text: None, flush=lambda: None)
    )
    monkeypatch.setattr(trying, "print_note", found.append)
    return found


def test_each_backend_has_its_count_and_the_time_left_follows_from_the_cases_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines, columns = on_a_terminal(monkeypatch), 120
    monkeypatch.setattr(progress, "_columns", lambda: columns)
    clock = Clock()
    shown = Trying(clock=clock)
    first, other = task(JAX, 0), task(JAX, 1000)
    shown.listener.started(first)
    assert lines[-1] == "keras3/jax: listing its public names"
    shown.listener.ended(first, Outcome(OK))
    shown.plan({JAX: (0, 1000), TORCH: (200, 1000)})
    shown.listener.started(other)
    assert lines[-1] == "cases of jax 0/1,000  torch 200/1,000", "nothing is known of the time yet"
    clock.now = 50.0
    shown.listener.epoch(other, EpochProgress(100))
    assert (
        lines[-1] == "cases of jax 100/1,000  torch 200/1,000  about 8 min left for jax"
    )  # 900 cases of half a second
    columns = 40
    shown.listener.epoch(other, EpochProgress(101))
    assert lines[-1] == "jax 101/1,000 cases  about 7 min left"
    clock.now = 500.0
    shown.listener.epoch(other, EpochProgress(1000))
    shown.listener.ended(other, Outcome(OK))
    after = task(TORCH, 800)
    shown.listener.started(after)
    clock.now = 520.0
    columns = 120
    shown.listener.epoch(after, EpochProgress(100))
    assert lines[-1] == "cases of jax 1,000/1,000  torch 300/1,000  about 2 min left"  # at its own speed


def test_the_cases_of_processes_side_by_side_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = on_a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "_columns", lambda: 120)
    clock = Clock()
    shown = Trying(clock=clock)
    shown.plan({JAX: (0, 1000)})
    first, other = task(JAX, 500), replace(task(JAX, 500), repeat=2)
    shown.listener.started(first)
    shown.listener.started(other)
    clock.now = 100.0
    shown.listener.epoch(first, EpochProgress(100))
    shown.listener.epoch(other, EpochProgress(100))
    assert lines[-1] == "cases of jax 200/1,000  about 7 min left"  # 800 cases of a second, two at a time
    shown.listener.ended(first, Outcome(FAILED, "killed by SIGSEGV"))
    assert lines[-1] == "keras3/jax, trying layers.N100: killed by SIGSEGV; it is tried again before any other"
    shown.listener.epoch(other, EpochProgress(200))
    assert lines[-1].startswith("cases of jax 300/1,000")


def test_the_case_that_ended_a_process_is_named_and_counts_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = on_a_terminal(monkeypatch)
    shown = Trying()
    shown.plan({JAX: (1, 3)})
    one = task(JAX, 2)
    shown.listener.started(one)
    shown.listener.ended(one, Outcome(FAILED, "killed by SIGSEGV"))
    assert lines[-1] == "keras3/jax, trying layers.N0: killed by SIGSEGV"
    shown.listener.started(task(JAX, 1))
    assert lines[-1] == "cases of jax 2/3"
    shown.listener.ended(task(JAX, 1), Outcome(FAILED, "killed by SIGALRM", exit_code=-signal.SIGALRM))
    assert lines[-1] == "keras3/jax, trying layers.N0: it was not done in 120 s"
