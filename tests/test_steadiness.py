"""A machine that was busy, or changed its pace during a run, is said to; a steady one is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fake_bench import Bench
from fake_runs import cell, measured

from kbench import steadiness
from kbench.values import Measured


def at(pace: float | None, repeat: int = 1) -> Measured:
    one = measured(cell(repeat=repeat), 1.0)
    return dataclasses.replace(one, outcome=dataclasses.replace(one.outcome, reference_seconds=pace))


def told(*paces: float | None, busy: object = 0.0, repeat: int = 1) -> list[str]:
    provenance: dict[str, Any] = {"cpu": {"busy": busy, "threads": 4}}
    return steadiness.remarks([at(pace, repeat) for pace in paces], provenance)


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


def test_the_same_computation_is_timed_before_each_cell_that_is_measured(bench: Bench) -> None:
    bench.backend("keras9/half", can='["infer"]')
    bench.measure("--repeats", "2", backends="fake,half")
    paces = {one.cell.id: one.outcome.reference_seconds for one in bench.last().measured}
    assert len(paces) == 4
    for name, pace in paces.items():
        assert pace is None if "half" in name else pace is not None and 0 < pace < 5


def test_what_is_to_be_said_stands_below_the_tables_and_on_the_page(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steadiness, "busy_cores", lambda: 1000.0)
    said = bench.measure()
    sentence = "Other programs kept 1000.0 of"
    assert sentence in said.out
    assert f"**Note:** {sentence}" in (bench.runs()[0] / "summary.md").read_text()
