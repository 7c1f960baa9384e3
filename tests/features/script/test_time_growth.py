"""Calls that take longer and longer are told from those that do not, and from a machine that became busy."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from fake_runs import cell, measured
from msgspec import structs

from kbench.features.script.lines import time_growth
from kbench.records.epochs import Turn
from kbench.records.values import Measured
from kbench.words.sentences import sentence


def process(*seconds: float) -> Measured:
    return measured(cell(), *seconds)


def test_calls_that_grow_all_along_are_found() -> None:
    drawn = random.Random(0)
    one = process(9.5, *(0.2 + 0.04 * number + drawn.gauss(0, 0.004) for number in range(10)))
    found = time_growth.of_row([one, one])
    assert found is not None and found.count == 11
    assert found.first == pytest.approx(0.2, abs=0.02) and found.last == pytest.approx(0.56, abs=0.02)
    assert sentence(time_growth.finding(found, "call")).startswith("each call takes longer: 0.2")
    assert not time_growth.is_flat([one])


def test_calls_that_grow_up_and_down_are_found_too() -> None:
    as_measured = (0.305, 0.331, 0.339, 0.359, 0.421, 0.564, 0.528, 0.461, 0.555)
    assert time_growth.of_row([process(0.4, *as_measured)]) is not None


def test_a_jump_among_times_that_vary_is_not_said_to_grow() -> None:
    drawn, said = random.Random(1), [0, 0]
    for _ in range(500):
        jumps = [level * drawn.lognormvariate(0, 0.1) for level in [1.0] * 5 + [2.0] * 6]
        steady = [drawn.lognormvariate(0, 0.2) for _ in range(10)]
        for number, seconds in enumerate((jumps, steady)):
            said[number] += time_growth.of_row([process(3.0, *seconds)]) is not None
    assert said[0] <= 25 and said[1] <= 5, "of 500"


@pytest.mark.parametrize(
    "seconds",
    [
        [1.0] * 5 + [2.0] * 6,  # another program started
        [1.0 + 0.02 * number for number in range(11)],  # by a fifth
        [1.0, 2.0, 1.1, 1.9, 1.2, 2.1, 1.0, 2.0, 1.5, 1.2, 1.9],
        [1.0, 1.5, 2.0, 2.5],  # too few
    ],
)
def test_other_times_are_not_said_to_grow(seconds: list[float]) -> None:
    assert time_growth.of_row([process(3.0, *seconds)]) is None


def test_a_row_grows_only_if_each_of_its_processes_does() -> None:
    grows, stays = process(1, *range(1, 12)), process(1, *[1] * 11)
    assert time_growth.of_row([grows, stays]) is None
    assert time_growth.is_flat([stays]) and not time_growth.is_flat([grows, stays]) and not time_growth.is_flat([])
    assert not time_growth.is_flat([process(1, 1, 1, 1)]), "too few to tell"


def test_calls_that_other_programs_disturbed_are_not_said_to_grow() -> None:
    one = process(9.5, *(0.2 + 0.04 * number for number in range(10)))
    turns = tuple(structs.replace(epoch, rounds=(Turn(epoch.epoch, 1, 2),)) for epoch in one.epochs)
    quiet = replace(one, epochs=turns)
    busy = replace(quiet, outcome=replace(one.outcome, disturbed_rounds=tuple(range(3, 12))))
    assert time_growth.of_row([quiet]) is not None and time_growth.of_row([busy]) is None
