"""A machine that other programs kept busy is said to be; a quiet one is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fake_bench import Bench
from fake_runs import cell, measured, summary

from kbench.analysis.times import machine_stability
from kbench.machine import host
from kbench.records.epochs import Epoch, Turn


def told(busy: object) -> list[str]:
    provenance: dict[str, Any] = {"cpu": {"busy": busy, "visible": 4, "threads": 8}}
    return machine_stability.remarks([measured(cell(), 1.0)], provenance)


def test_programs_that_ran_beside_it_are_told() -> None:
    (said,) = told(2.5)
    assert said.startswith("Other programs kept 2.5 of 4 cores busy when the run began")
    assert told(0.3) == []
    (earlier,) = told(4.5)  # of all cores of the machine
    assert earlier.startswith("Other programs kept 4.5 of 8 cores busy")


@pytest.mark.parametrize("busy", [None, "much"])
def test_a_machine_that_does_not_tell_is_not_accused(busy: object) -> None:
    assert told(busy) == []


def test_only_cores_that_this_process_may_use_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: {0, 2})
    monkeypatch.setattr(host.psutil, "cpu_percent", lambda seconds, percpu: [50.0, 100.0, 25.0])
    assert host.busy_cores() == pytest.approx(0.75)


@pytest.mark.parametrize(("disturbed", "said"), [((), False), ((1,), False), ((1, 2, 3), True)])
def test_disturbed_turns_are_counted_where_they_are_many(disturbed: tuple[int, ...], said: bool) -> None:
    one = measured(cell(), 1.0)
    outcome = dataclasses.replace(one.outcome, disturbed_rounds=disturbed)
    epochs = (Epoch(1, 1.0, 8, rounds=tuple(Turn(number, number, number + 1) for number in range(1, 13))),)
    one = dataclasses.replace(one, outcome=outcome, epochs=epochs)
    sentences = machine_stability.remarks([one], {})
    assert len(sentences) == said
    assert all("busy during 3 of 12 turns, which are left out" in sentence for sentence in sentences)


def test_of_rows_without_turns_it_counts_what_others_used_while_they_ran() -> None:
    def row(**about: Any) -> bool:
        return machine_stability.disturbs(summary(**about))

    assert not row() and not row(others=0.05) and row(others=0.5)
    assert not row(others=0.5, turns=12, disturbed_turns=3), "turns say more"
    assert row(others=0.0, turns=12, disturbed_turns=7)
    one = measured(cell(), 1.0)
    busy = dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, others=0.5))
    assert machine_stability.mostly_disturbed([busy, busy, one]) and not machine_stability.mostly_disturbed([one])


def test_what_is_to_be_said_stands_below_the_tables_and_on_the_page(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "busy_cores", lambda: 1000.0)
    said = bench.measure()
    sentence = "Other programs kept 1000.0 of"
    assert sentence in said.out
    assert f"**Note:** {sentence}" in (bench.runs()[0] / "summary.md").read_text()
