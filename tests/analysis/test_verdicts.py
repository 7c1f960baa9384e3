"""What is said of a ratio with such an interval: that a row differs, that it is as fast, or neither."""

from __future__ import annotations

import pytest
from fake_runs import cell, measured

from kbench.analysis.summaries import summarise
from kbench.analysis.times import ratios
from kbench.records.values import AS_FAST, FASTER, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.95, 1.05, AS_FAST),
        (0.91, 1.1, AS_FAST),
        (1.0, 1.1, AS_FAST),
        (0.9, 1.05, NO_DIFFERENCE),
        (0.95, 1.11, NO_DIFFERENCE),
        (0.5, 2.0, NO_DIFFERENCE),
        (1.001, 1.02, SLOWER),  # by little, but for sure
        (0.98, 0.999, FASTER),
        (1.2, 9.0, SLOWER),
    ],
)
def test_a_row_differs_for_sure_or_is_as_fast_for_sure_or_is_open(low: float, high: float, expected: str) -> None:
    assert ratios.verdict(Interval(low, high)) == expected
    inverted = {SLOWER: FASTER, FASTER: SLOWER}.get(expected, expected)
    assert ratios.verdict(Interval(1 / high, 1 / low)) == inverted


def test_how_near_a_row_must_be_to_be_as_fast_is_what_was_asked_for() -> None:
    interval = Interval(0.96, 1.04)
    assert ratios.verdict(interval, 0.05) == AS_FAST and ratios.verdict(interval, 0.03) == NO_DIFFERENCE
    cells = [
        measured(cell(backend=name, repeat=number), 9.0, seconds, seconds)
        for name, seconds in (("a", 1.0), ("b", 1.001))
        for number in range(1, 6)
    ]
    for precision, expected in ((0.1, AS_FAST), (0.001, NO_DIFFERENCE)):
        row = next(row for row in summarise(cells, precision=precision) if row.backend == "b")
        assert row.verdict == expected


def test_an_interval_that_holds_1_and_is_wider_than_a_factor_of_three_each_way_is_no_result() -> None:
    for interval in (None, Interval(0.5, 5.0)):
        assert ratios.verdict(interval) == NOT_COMPARED
    for interval in (Interval(2.0, 17.0), Interval(17.6, 365.0)):  # by how much is hardly known, but that it is
        assert ratios.verdict(interval) == SLOWER
