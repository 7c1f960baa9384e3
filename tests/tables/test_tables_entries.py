"""Entries of tables: times and ratios with their intervals, and which notes of a row are shown where."""

from __future__ import annotations

import pytest
from fake_runs import replace, summary

from kbench.records.findings import Finding
from kbench.records.values import FASTEST, Interval
from kbench.tables.entries import ends, with_half
from kbench.tables.markdown import markdown
from kbench.tables.text import text
from kbench.words.text import MISSING

SURE = summary("keras3/jax", epoch_seconds=1.0, epoch_interval=Interval(0.98, 1.02), verdict=FASTEST)


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(0.01, 9.0, "0.0100-9.00"), (4e-10, 3e4, MISSING), (0.0, 1.0, "0-1.00")]
)
def test_an_interval_that_says_nothing_is_not_shown(low: float, high: float, shown: str) -> None:
    assert ends(Interval(low, high)) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.96, 1.045, "1.00 ± 0.042"),
        (0.98, 1.04, "1.00 (0.980-1.04)"),
        (0.4, 1.1, "1.00 (0.400-1.10)"),
        (0.4, 1.6, "1.00 (0.400-1.60)"),
        (1e-9, 1e9, "1.00"),
        (None, None, "1.00"),
    ],
)
def test_a_time_has_half_of_its_interval_where_it_is_in_the_middle_or_both_ends_or_nothing(
    low: float, high: float, shown: str
) -> None:
    assert with_half(1.0, None if low is None else Interval(low, high)) == shown


def test_a_row_has_its_chief_note_on_the_terminal_and_all_in_the_page() -> None:
    known = Finding(kind="first step", reference="keras2/cntk", explanation="ties.")
    changing = Finding(kind="not steady", own=0.75, about={"by call": False, "epochs": 3})
    odd = Finding(kind="odd process", own=2.0, about={"repeat": 2, "number": 0})
    row = replace(SURE, findings=(known, changing, odd))
    shown = text([row])
    assert "[1] not steady" in shown and "known difference" not in shown and "hardly" not in shown
    assert all(note in markdown([row]) for note in ("known difference", "not steady", "hardly counts"))
