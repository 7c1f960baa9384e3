"""What settling open rows would take, and what the last processes teach about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from fake_runs import cell, measured, replace, summary

from kbench.analysis.times.settling import Gain, gain, seconds
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import FASTEST, NO_DIFFERENCE, NOT_COMPARED, Interval, Measured
from kbench.screen import terminal
from kbench.store import RunResults
from kbench.summary import Summary

FAST = summary("keras3/jax", verdict=FASTEST)


def open_row(width: float, processes: int = 3) -> Summary:
    """A row that takes 1.2 times as long, by an interval that is a factor of exp(width) wide each way."""
    return summary(
        "keras3/torch",
        relative_to_fastest=1.2,
        relative_interval=Interval(1.2 * math.exp(-width), 1.2 * math.exp(width)),
        relative_processes=processes,
        verdict=NO_DIFFERENCE,
    )


def process(backend: str, disturbed: tuple[int, ...] = ()) -> Measured:
    """One of two turns, of 10 s."""
    one = measured(cell(backend=backend), 1.0)
    turns = (Turn(1, 1, 2), Turn(2, 3, 4))
    return replace(
        one,
        outcome=replace(one.outcome, seconds=10.0, disturbed_rounds=disturbed),
        epochs=(Epoch(1, 1.0, 1000, rounds=turns),),
    )


def run(*cells: Measured) -> RunResults:
    about: dict[str, Any] = {"name": "mine", "created": "", "request": {}, "plan": {}, "provenance": {}, "cells": ()}
    return RunResults(folder=Path("mine"), measured=cells, **about)


PROCESSES = [process("keras3/jax"), process("keras3/torch")]


@pytest.mark.parametrize(
    ("now", "share"),
    [
        (0.2 * math.sqrt(3 / 4), 1.0),  # as expected: the precision grows by a third
        (0.1, 1.0),  # more than that teaches nothing
        (0.2 * math.sqrt(6 / 7), 0.5),
        (0.2, 0.0),
        (0.25, 0.0),
    ],
)
def test_what_processes_bring_is_a_share_of_what_they_were_expected_to(now: float, share: float) -> None:
    found = gain([FAST, open_row(0.2)], [FAST, open_row(now)], PROCESSES)
    assert (found.processes, found.turns, found.disturbed, found.lost) == (2, 4, 0, False)
    assert found.shares[open_row(0.2).key] == pytest.approx(share)


def test_the_seconds_that_are_left_are_expected_to_bring_what_the_last_ones_did() -> None:
    still_open = {FAST.ranking: [FAST, open_row(0.2)]}
    both = run(*PROCESSES)
    assert seconds(both, still_open, 0.1) == 2 * 10.0, "one more of each"
    assert seconds(both, still_open, 0.1, {open_row(0.2).key: 0.25}) == 8 * 10.0
    assert seconds(both, still_open, 0.1, {open_row(0.2).key: 0.0}) == math.inf
    assert seconds(both, still_open, 0.1, {open_row(0.2).key: 0.01}) == math.inf, "more than kbench starts"


def test_processes_that_lost_most_turns_to_other_programs_are_said_and_promise_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [FAST, open_row(0.2)]
    lost = gain(rows, rows, [process("keras3/jax", (1, 2)), process("keras3/torch", (1, 2))])
    some = gain(rows, rows, [process("keras3/jax", (1, 2)), process("keras3/torch", (1,))])
    for found, words in (
        (lost, "The last 2 processes brought nothing: all their 4 turns were disturbed; "),
        (some, "The last 2 processes brought little: 3 of their 4 turns were disturbed; "),
    ):
        said = " ".join(said_of(rows, found, capsys).split())
        assert said.startswith("Open: mnist_cnn on keras3/torch. " + words + "end other programs, then `")
        assert said.endswith(" resume mine --budget 1m`.") and "more would settle" not in said


def test_what_narrowed_nothing_is_not_promised_again(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [FAST, open_row(0.2)]
    assert "About 20 s more would settle it" in said_of(rows, None, capsys)
    half = gain(rows, [FAST, open_row(0.2 * math.sqrt(6 / 7))], PROCESSES)
    assert "About 40 s more would settle it" in said_of(rows, half, capsys)
    nothing = said_of(rows, gain(rows, rows, PROCESSES), capsys)
    assert "More processes would not settle it: the last 2 narrowed nothing." in " ".join(nothing.split())


def test_nothing_is_promised_where_other_programs_disturbed_most_turns(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [replace(row, turns=26, disturbed_turns=25) for row in (FAST, open_row(0.2))]
    said = " ".join(said_of(rows, None, capsys).split())
    assert "Other programs used the processor in 50 of 52 turns: end them, then `" in said and "settle" not in said
    terminal.print_open(run(*PROCESSES), {FAST.ranking: rows}, said=True)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Open: mnist_cnn on keras3/torch. Once other programs have ended: `")
    assert said.endswith(" resume mine --budget 1m`.") and "used the processor" not in said
    refused = replace(open_row(0.2), verdict=NOT_COMPARED, turns=3, disturbed_turns=1)
    said = " ".join(said_of([FAST, refused], None, capsys).split())
    assert "Other programs used the processor in 1 of 3 turns: end them, then `" in said and "settle" not in said


def said_of(rows: list[Summary], found: Gain | None, capsys: pytest.CaptureFixture[str]) -> str:
    terminal.print_open(run(*PROCESSES), {FAST.ranking: rows}, gain=found)
    return capsys.readouterr().out
