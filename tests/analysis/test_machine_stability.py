"""A machine that other programs kept busy is said to be; a quiet one is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fake_bench import Bench, dying
from fake_runs import cell, measured, summary

from kbench.analysis.times import machine_stability
from kbench.cells import runner
from kbench.machine import host
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import FAILED, INTERRUPTED, UNAVAILABLE, Measured, Outcome


def test_processes_beside_which_other_programs_ran_are_told() -> None:
    said = machine_stability.remark([beside(0.5), beside(0.0)])
    assert said == "Other programs used the processor in 1 of 2 processes. End them and measure again."
    assert machine_stability.remark([beside(0.05), beside(None)]) == ""


@pytest.mark.parametrize("status", [FAILED, UNAVAILABLE, INTERRUPTED])
def test_they_are_not_told_of_what_was_not_measured_to_its_end(status: str) -> None:
    ended = dataclasses.replace(beside(0.5), outcome=Outcome(status, others=0.5))
    assert machine_stability.remark([ended, ended]) == ""
    assert bool(machine_stability.remark([ended, beside(0.5)])) == (status != INTERRUPTED)
    assert machine_stability.is_busy([ended])


def test_only_cores_that_this_process_may_use_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: {0, 2})
    monkeypatch.setattr(host.psutil, "cpu_percent", lambda seconds, percpu: [50.0, 100.0, 25.0])
    assert host.busy_cores() == pytest.approx(0.75)


@pytest.mark.parametrize(("disturbed", "said"), [((), False), ((1,), False), ((1, 2, 3), True)])
def test_disturbed_turns_are_counted_where_they_are_many(disturbed: tuple[int, ...], said: bool) -> None:
    sentence = machine_stability.remark([with_turns(*disturbed)])
    assert ("used the processor in 3 of 12 turns, which are left out" in sentence) == bool(sentence) == said


def beside(others: float | None) -> Measured:
    one = measured(cell(), 1.0)
    return dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, others=others))


def with_turns(*disturbed: int) -> Measured:
    one = measured(cell(), 1.0)
    outcome = dataclasses.replace(one.outcome, disturbed_rounds=disturbed)
    epochs = (Epoch(1, 1.0, 8, rounds=tuple(Turn(number, number, number + 1) for number in range(1, 13))),)
    return dataclasses.replace(one, outcome=outcome, epochs=epochs)


def test_of_rows_without_turns_it_counts_what_others_used_while_they_ran() -> None:
    def row(**about: Any) -> bool:
        return machine_stability.disturbs(summary(**about))

    assert not row() and not row(others=0.05) and row(others=0.5)
    assert not row(others=0.5, turns=12, disturbed_turns=3), "turns say more"
    assert row(others=0.0, turns=12, disturbed_turns=7)
    one, busy = measured(cell(), 1.0), beside(0.5)
    assert machine_stability.mostly_disturbed([busy, busy, one]) and not machine_stability.mostly_disturbed([one])


def test_what_is_to_be_said_is_said_once_on_the_screen_and_on_the_page(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "share_of_others", lambda *looks: 0.5)
    said = bench.measure("--interleave", "off")
    page = (bench.runs()[0] / "summary.md").read_text()
    assert [shown.lower().count("other programs used") for shown in (said.out, page)] == [1, 1]
    bench.example("broken.py", dying("raise ValueError"))
    assert "ther programs" not in bench.measure("--interleave", "off", examples="broken.py").out
