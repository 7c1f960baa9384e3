"""Which rows need another process: those that neither differ for sure nor are as fast for sure."""

from __future__ import annotations

import pytest
from fake_runs import replace, summary

from kbench.analysis.rows import open_rows
from kbench.records.values import AS_FAST, BASELINE, FASTER, FASTEST, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval
from kbench.summary import Summary

FIRST = replace(summary("keras3/a"), relative_to_fastest=1.0, verdict=FASTEST)


def row(backend: str, verdict: str, interval: Interval | None, example: str = FIRST.example) -> Summary:
    made = replace(summary(backend), relative_to_fastest=1.05, relative_interval=interval, verdict=verdict)
    return replace(made, example=example)


@pytest.mark.parametrize(
    ("verdict", "interval", "is_open"),
    [
        (SLOWER, Interval(1.01, 9.0), False),
        (AS_FAST, Interval(0.98, 1.09), False),
        (NO_DIFFERENCE, Interval(0.98, 1.09), False),  # of a run that was asked to be more precise
        (NO_DIFFERENCE, Interval(0.98, 1.11), True),
        (NO_DIFFERENCE, Interval(0.90, 1.10), True),
        (NOT_COMPARED, Interval(0.30, 3.10), True),
        ("", None, True),
    ],
)
def test_a_row_is_open_until_it_differs_or_is_as_fast(verdict: str, interval: Interval | None, is_open: bool) -> None:
    other = row("keras3/b", verdict, interval)
    assert open_rows([FIRST, other], 0.1) == ({FIRST.ranking: [FIRST, other]} if is_open else {})


def test_with_a_baseline_it_is_compared_with_that() -> None:
    baseline = replace(row("keras3/b", BASELINE, Interval(0.5, 2.0)), relative_to_baseline=1.0)
    fastest = replace(FIRST, verdict=FASTER, relative_to_baseline=0.5, baseline_interval=Interval(0.4, 0.6))
    other = replace(
        row("keras3/c", NO_DIFFERENCE, None), relative_to_baseline=1.0, baseline_interval=Interval(0.5, 2.0)
    )
    assert open_rows([fastest, baseline, other], 0.1) == {FIRST.ranking: [baseline, other]}


def test_rows_whose_ratio_is_too_unsure_are_open_and_measured_with_the_fastest() -> None:
    fastest = replace(FIRST, verdict=NOT_COMPARED)
    other = row("keras3/b", NOT_COMPARED, Interval(0.2, 9.0))
    assert open_rows([fastest, other], 0.1) == {FIRST.ranking: [fastest, other]}


def test_rows_without_a_ratio_are_not_open() -> None:
    assert open_rows([FIRST, replace(summary("keras3/b"), status="failed", relative_to_fastest=None)], 0.1) == {}


def test_examples_are_told_apart() -> None:
    other = row("keras3/b", NO_DIFFERENCE, Interval(0.5, 2.0), "z")
    fastest = replace(FIRST, example="z")
    assert open_rows([FIRST, fastest, other], 0.1) == {fastest.ranking: [fastest, other]}


def test_a_small_difference_that_is_sure_is_not_open() -> None:
    assert open_rows([FIRST, row("keras3/b", SLOWER, Interval(1.001, 1.01))], 0.1) == {}
