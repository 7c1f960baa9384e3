"""A machine that was busy, or changed its pace during a run, is said to; a steady one is not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from statistics import median
from typing import Any

import pytest
from fake_bench import Bench
from fake_runs import cell, measured

from kbench.analysis import intervals, machine_stability, rows
from kbench.epochs import Epoch
from kbench.machine import host, reference_work
from kbench.values import Measured


def at(seconds: float | None, repeat: int = 1) -> Measured:
    one = measured(cell(repeat=repeat), 1.0)
    return dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, reference_seconds=seconds))


def told(*paces: float | None, busy: object = 0.0, repeat: int = 1) -> list[str]:
    provenance: dict[str, Any] = {"cpu": {"busy": busy, "threads": 4}}
    return machine_stability.remarks([at(seconds, repeat) for seconds in paces], provenance)


def test_a_steady_machine_is_not_spoken_of() -> None:
    assert told(0.020, 0.021, 0.0205, 0.0203) == []


@pytest.mark.parametrize(
    ("paces", "words"),
    [
        ((0.02, 0.02, 0.025, 0.03, 0.03, 0.03), "1.50 times slower"),
        ((0.03, 0.03, 0.03, 0.03, 0.02, 0.02), "1.50 times faster"),
    ],
)
def test_a_drift_is_said_with_its_size_and_what_to_do(paces: tuple[float, ...], words: str) -> None:
    (said,) = told(*paces)
    assert words in said and "--repeats 3" in said


def test_a_disturbance_for_a_while_is_told_from_a_drift() -> None:
    (said,) = told(0.02, 0.02, 0.04, 0.02, 0.02, 0.02)
    assert "up to 2.00 times slower than usual before 1 of 6 cells" in said


def test_one_odd_moment_of_few_is_no_drift() -> None:
    assert told(0.02, 0.02, 0.023) == []
    assert "slower than usual before 1 of 3 cells" in told(0.02, 0.02, 0.03)[0]


def test_the_advice_goes_beyond_what_was_done_already() -> None:
    (said,) = told(0.02, 0.02, 0.04, 0.02, 0.02, 0.02, repeat=5)
    assert "--repeats 7" in said


def test_programs_that_ran_beside_it_are_told() -> None:
    (said,) = told(busy=2.5)
    assert said.startswith("Other programs kept 2.5 of 4 cores busy when the run began")
    assert told(busy=0.3) == []


@pytest.mark.parametrize("busy", [None, "much"])
def test_a_machine_that_does_not_tell_is_not_accused(busy: object) -> None:
    assert told(None, 0.02, busy=busy) == []


def test_how_far_processes_lie_apart_is_known_of_two_or_more() -> None:
    one = at(0.02)
    paced = [
        dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, reference_samples=(seconds,)))
        for seconds in (0.02, 0.021, 0.019)
    ]
    assert machine_stability.between_process_reach(paced) == intervals.reach([0.02, 0.021, 0.019])
    assert machine_stability.between_process_reach(paced[:1]) is None
    assert (
        machine_stability.between_process_reach([at(0.02), at(0.03)]) is None
    )  # of the host's own process, as it was


def test_the_same_computation_is_timed_before_each_cell_that_is_measured(bench: Bench) -> None:
    bench.backend("keras9/half", can='["infer"]')
    bench.measure("--repeats", "2", backends="fake,half")
    outcomes = {one.cell.id: one.outcome for one in bench.last().measured}
    assert len(outcomes) == 4
    for name, outcome in outcomes.items():
        if "half" in name:
            assert (outcome.reference_seconds, outcome.reference_samples) == (None, ())
        else:
            assert len(outcome.reference_samples) == 3 and min(outcome.reference_samples) > 0
            assert outcome.reference_seconds == median(outcome.reference_samples)


@pytest.mark.parametrize(("repeats", "each"), [(1, 6), (4, 2), (6, 1), (7, 1)])
def test_a_run_of_few_cells_times_it_several_times_before_each(bench: Bench, repeats: int, each: int) -> None:
    asked: list[tuple[int, int, Mapping[str, str]]] = []
    bench.patch.setenv("OPENBLAS_CORETYPE", "Prescott")
    bench.patch.setattr(reference_work, "measure", lambda *given: asked.append(given) or (0.1,) * given[0])
    bench.measure("--repeats", str(repeats), "--threads", "1")
    assert [len(one.outcome.reference_samples) for one in bench.last().measured] == [each] * repeats
    assert [(number, threads) for number, threads, _ in asked] == [(each, 1)] * repeats
    assert all("PATH" in variables and "OPENBLAS_CORETYPE" not in variables for *_, variables in asked)


def test_before_the_first_table_of_cells_in_turns_it_is_timed_more_often(bench: Bench) -> None:
    for name in "abcd":
        bench.backend(f"keras9/{name}")
    bench.example("other_example.py")
    taken = iter(range(100))
    bench.patch.setattr(
        reference_work, "measure", lambda number, *_: tuple(1.0 + next(taken) / 100 for _ in range(number))
    )
    assert bench.measure(backends="a,b,c,d", examples="my_example.py,other_example.py").status == 0
    samples = [one.outcome.reference_samples for one in bench.last().measured]
    assert samples[0] == (1.0, 1.04, 1.08) and samples[3] == (1.03, 1.07, 1.11)
    assert [len(one) for one in samples] == [3] * 4 + [1] * 4


def test_where_it_cannot_be_timed_the_run_goes_on(bench: Bench) -> None:
    bench.patch.setattr(reference_work, "measure", lambda number, threads, variables: ())
    assert bench.measure().status == 0
    (one,) = bench.last().measured
    assert (one.outcome.status, one.outcome.reference_seconds, one.outcome.reference_samples) == ("ok", None, ())


def test_the_intervals_of_one_repeat_hold_how_far_processes_lie_apart(bench: Bench) -> None:
    paces = (0.10, 0.12, 0.11, 0.10, 0.13, 0.12)
    bench.patch.setattr(reference_work, "measure", lambda number, threads, variables: paces[:number])
    said = " ".join(bench.measure("--epochs", "4").out.split())
    (row,) = rows.summarised(bench.last())
    factor = math.exp(intervals.reach(paces) or 0.0)
    assert row.between_process_factor == pytest.approx(factor)
    assert row.epoch_interval is not None and row.epoch_seconds is not None
    assert row.epoch_interval.low < row.epoch_seconds / factor < row.epoch_seconds * factor < row.epoch_interval.high
    assert "variation between processes is only estimated" in said


@pytest.mark.parametrize(("disturbed", "said"), [((), False), ((1,), False), ((1, 2, 3), True)])
def test_disturbed_turns_are_counted_where_they_are_many(disturbed: tuple[int, ...], said: bool) -> None:
    one = measured(cell(), 1.0)
    outcome = dataclasses.replace(one.outcome, disturbed_rounds=disturbed)
    epochs = (Epoch(1, 1.0, 8, rounds=tuple((number, number, number + 1) for number in range(1, 13))),)
    one = dataclasses.replace(one, outcome=outcome, epochs=epochs)
    sentences = machine_stability.remarks([one], {})
    assert len(sentences) == said
    assert all("busy during 3 of 12 turns, which are left out" in sentence for sentence in sentences)


def test_what_is_to_be_said_stands_below_the_tables_and_on_the_page(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "busy_cores", lambda: 1000.0)
    said = bench.measure()
    sentence = "Other programs kept 1000.0 of"
    assert sentence in said.out
    assert f"**Note:** {sentence}" in (bench.runs()[0] / "summary.md").read_text()
