"""How much processes differ: from a prior, a row's own processes and those of the other rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kbench.analysis import processes
from kbench.analysis.intervals import CONFIDENCE
from kbench.analysis.processes import Process, RowTime

CHANCE = 1 - CONFIDENCE


def table(*rows: tuple[float, ...], error: float | None = 0.0) -> dict[str, RowTime]:
    """The times of rows a, b, ... with a process of these seconds in each repeat; None: none in it."""
    return processes.row_times(
        {
            name: {number: Process(seconds, error) for number, seconds in enumerate(row, 1) if seconds}
            for name, row in zip("abcdefgh", rows, strict=False)
        }
    )


def half_width(one: RowTime, reference: RowTime, chance: float = CHANCE) -> float:
    found = processes.of_ratio(1.0, one, reference, chance)
    assert found is not None and found.low == pytest.approx(1 / found.high)
    return math.log(found.high)


def test_of_one_process_each_a_stated_spread_is_assumed() -> None:
    found = table((1.0,), (1.5,))
    assert half_width(found["b"], found["a"]) == pytest.approx(1.959964 * math.sqrt(2) * processes.OF_ONE)
    beside_others = table((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0), (1.5, 0.0, 0.0))
    assert beside_others["d"].prediction_half_width() == pytest.approx(found["b"].prediction_half_width()), (
        "it may be the one that is unsteady"
    )


def test_processes_that_agree_narrow_the_interval_and_those_that_do_not_widen_it() -> None:
    widths = []
    for apart in (0.0, 0.05, 0.3):
        row = tuple(math.exp(apart * way) for way in (-1, 0, 1, 0))
        found = table((1.0,) * 4, row)
        widths.append(half_width(found["b"], found["a"]))
    assert widths == sorted(widths) and widths[0] < 0.1 < 0.25 < widths[2]


def test_what_the_machine_did_to_a_whole_repeat_is_no_spread_of_processes() -> None:
    calm, changed = table((1.0, 1.01, 0.99), (2.0, 1.99, 2.02)), table((1.0, 2.02, 0.99), (2.0, 3.98, 2.02))
    assert half_width(changed["b"], changed["a"]) == pytest.approx(half_width(calm["b"], calm["a"]))
    assert changed["b"].seconds / changed["a"].seconds == pytest.approx(calm["b"].seconds / calm["a"].seconds)


def test_the_processes_of_other_rows_inform_a_rows_own() -> None:
    own = ((1.0, 1.01, 0.99), (1.0, 0.99, 1.01))
    alone, among = table(*own), table(*own, *own[::-1], *own, *own[::-1])
    assert half_width(among["b"], among["a"]) < 0.7 * half_width(alone["b"], alone["a"])


def test_one_unsteady_row_among_steady_ones_stays_unsteady_and_they_steady() -> None:
    found = table(*[(1.0, 1.01, 0.99, 1.0)] * 5, (1.0, 1.4, 0.8, 1.1))
    assert found["f"].prediction_half_width() > 0.2 > 0.1 > found["a"].prediction_half_width()


def test_only_repeats_that_both_rows_have_count() -> None:
    found = table((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (3.0, 0.0, 0.0, 0.0))
    assert half_width(found["b"], found["a"]) < 0.5 * half_width(found["c"], found["a"])
    one, other = (RowTime(1.0, frozenset({n}), (1.0,), (1.0,), 0.0) for n in (1, 2))
    assert processes.of_ratio(1.0, one, other, CHANCE) is None


def test_a_row_that_was_not_repeated_is_compared_with_what_the_others_took_beside_it() -> None:
    # The machine became twice as slow after the first repeat, which c is from.
    found = table((1.0, 2.0, 2.0), (1.1, 2.2, 2.2), (3.0, 0.0, 0.0))
    assert found["c"].seconds / found["a"].seconds == pytest.approx(3.0)


def test_one_process_with_one_epoch_has_no_interval() -> None:
    found = table((1.0,), (4.0,), error=None)
    assert processes.of_ratio(4.0, found["b"], found["a"], CHANCE) is None
    assert processes.within(4.0, found["b"], found["a"]) is None


def test_noise_within_processes_widens_what_one_of_them_says() -> None:
    calm, noisy = table((1.0,), (1.5,)), table((1.0,), (1.5,), error=0.4)
    assert half_width(noisy["b"], noisy["a"]) > 1.2 * half_width(calm["b"], calm["a"])


def test_it_is_a_normal_interval_where_the_spread_is_known() -> None:
    one = RowTime(1.0, frozenset(range(4)), (0.01,), (1.0,), None)
    assert half_width(one, one) == pytest.approx(1.959964 * math.sqrt(0.02 / 4), rel=1e-6)
    assert one.prediction_half_width(4) == pytest.approx(1.959964 * 0.1 / 2, rel=1e-6)


def test_absurd_times_have_no_interval_and_raise_nothing() -> None:
    with np.errstate(all="raise"):
        found = table((5e-324, 1e308), (1e308, 5e-324))
    assert processes.of_ratio(math.inf, found["a"], found["b"], CHANCE) is None
