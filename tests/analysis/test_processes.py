"""The times of rows that were measured together, from each one's processes, and the intervals of their ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kbench.analysis.times import intervals, levels, processes
from kbench.analysis.times.intervals import CONFIDENCE
from kbench.analysis.times.levels import SPREADS
from kbench.analysis.times.processes import Place, Process, RowTime
from kbench.records.values import Interval

ALPHA = 1 - CONFIDENCE
# A repeat of whole processes, then two of short ones.
PLACES: tuple[Place, ...] = ((1, 0), (2, 1), (2, 2), (3, 1), (3, 2))


def table(*rows: tuple[float, ...], error: float | None = 0.0, places: tuple[Place, ...] = ()) -> dict[str, RowTime]:
    """The times of rows a, b, ... with processes of these seconds, each in its own repeat; 0: none in it."""
    where = places or tuple((number, 0) for number in range(1, 10))
    return processes.row_times(
        {
            name: {place: Process(seconds, error) for place, seconds in zip(where, row, strict=False) if seconds}
            for name, row in zip("abcdefgh", rows, strict=False)
        }
    )


def ratio(found: dict[str, RowTime], one: str = "b", reference: str = "a", alpha: float = ALPHA) -> Interval:
    interval = processes.of_ratio(found[one], found[reference], alpha)
    assert interval is not None and interval.low <= found[one].seconds / found[reference].seconds <= interval.high
    return interval


def width(interval: Interval | None) -> float:
    assert interval is not None
    return math.log(interval.high / interval.low)


def test_of_one_process_each_the_interval_is_as_wide_as_measured_runs_say() -> None:
    found = table((1.0,), (1.5,))
    assert found["b"].seconds == 1.5
    assert 0.1 < width(found["b"].interval) < 0.4
    assert width(found["b"].interval) < width(ratio(found)) < 2 * width(found["b"].interval)
    two, three = (table((1.0,) * count, (1.5,) * count) for count in (2, 3))
    assert width(ratio(found)) > width(ratio(two)) > width(ratio(three))


def test_the_interval_of_a_ratio_inverted_is_the_inverted_interval() -> None:
    found = table((1.0, 1.1, 0.97), (1.5, 1.49, 1.6), (3.0, 0.0, 0.0))
    for one, other in ("ab", "bc", "ac"):
        there, back = ratio(found, one, other), ratio(found, other, one)
        assert (back.low, back.high) == (
            pytest.approx(1 / there.high, rel=1e-4),
            pytest.approx(1 / there.low, rel=1e-4),
        )


def test_processes_that_agree_narrow_the_interval_and_those_that_do_not_widen_it() -> None:
    widths = []
    for apart in (0.0, 0.05, 0.3):
        row = tuple(math.exp(apart * way) for way in (-1, 0, 1, 0))
        widths.append(width(ratio(table((1.0,) * 4, row))))
    assert widths == sorted(widths) and widths[0] < 0.1 < 0.2 < widths[2]


def test_what_the_machine_did_to_a_whole_repeat_is_no_spread_of_processes() -> None:
    calm, changed = table((1.0, 1.01, 0.99), (2.0, 1.99, 2.02)), table((1.0, 2.02, 0.99), (2.0, 3.98, 2.02))
    assert width(ratio(changed)) == pytest.approx(width(ratio(calm)), rel=0.3)
    assert changed["b"].seconds / changed["a"].seconds == pytest.approx(
        calm["b"].seconds / calm["a"].seconds, rel=0.01
    )


def test_processes_of_a_row_that_nothing_ran_beside_show_by_themselves_how_they_differ() -> None:
    near, far = table((2.0, 2.0, 2.0))["a"].interval, table((1.0, 2.0, 3.0))["a"].interval
    assert far is not None and far.low < 1.5 and far.high > 2.5
    assert width(far) > 5 * width(near)


def test_the_processes_of_other_rows_inform_a_rows_own() -> None:
    own = ((1.0, 0.0, 0.0), (1.5, 0.0, 0.0))
    steady, unsteady = [(1.0, 1.0, 1.0)] * 5, [(1.0, 1.3, 0.8), (1.3, 0.8, 1.0), (0.8, 1.0, 1.3)] * 2
    alone, among, apart = (ratio(table(*own, *others)) for others in ([], steady, unsteady))
    assert width(among) < width(alone) < width(apart)


def test_one_unsteady_row_among_steady_ones_stays_unsteady_and_they_steady() -> None:
    found = table(*[(1.0, 1.01, 0.99, 1.0)] * 5, (1.0, 1.4, 0.8, 1.1))
    assert found["f"].prediction_half_width() > 0.2 > 0.1 > found["a"].prediction_half_width()


def test_rows_without_any_repeat_in_common_are_not_compared() -> None:
    found = table((1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0))
    assert processes.of_ratio(found["a"], found["b"], ALPHA) is None


def test_a_row_that_was_not_repeated_is_compared_with_what_the_others_took_beside_it() -> None:
    # The machine became twice as slow after the first repeat, which c is from.
    found = table((1.0, 2.0, 2.0), (1.1, 2.2, 2.2), (3.0, 0.0, 0.0))
    assert found["c"].seconds / found["a"].seconds == pytest.approx(3.0)
    assert width(ratio(found)) < width(ratio(found, "c"))


USUAL, ODD = (1.0, 1.005, 1.0, 0.995, 1.0), (1.0, 1.005, 1.5, 0.995, 1.0)


@pytest.mark.parametrize("places", [(), PLACES])
@pytest.mark.parametrize("rows", [3, 6])
def test_an_odd_process_of_five_is_named_and_changes_little(rows: int, places: tuple[Place, ...]) -> None:
    others = [(1.2, 1.21, 1.19, 1.2, 1.205), (1.0, 0.99, 1.01, 1.0, 0.995)] * 3
    without, found = (table(row, *others[: rows - 1], places=places) for row in (USUAL, ODD))
    place = places[2] if places else (3, 0)
    assert found["a"].odd == {place: pytest.approx(1.5, rel=0.1)}
    assert all(not one.odd for name, one in found.items() if name != "a") and without["a"].odd == {}
    before, after = ratio(without), ratio(found)
    quotient = without["b"].seconds / without["a"].seconds
    assert found["b"].seconds / found["a"].seconds == pytest.approx(quotient, rel=0.02)
    assert after.low > before.low - 0.12 and after.high < before.high + 0.12


@pytest.mark.parametrize("places", [(), PLACES])
def test_of_two_rows_the_one_beside_an_odd_process_is_not_blamed(places: tuple[Place, ...]) -> None:
    found = table(ODD, (1.2, 1.21, 1.19, 1.2, 1.205), places=places)
    assert found["a"].odd.keys() == {places[2] if places else (3, 0)}
    assert found["b"].odd == {}
    assert found["b"].seconds / found["a"].seconds == pytest.approx(1.2, rel=0.02)


def test_of_few_processes_none_is_called_odd() -> None:
    assert table((1.0, 1.0, 1.5), (1.0, 1.0, 1.0), (1.0, 1.0, 1.0))["a"].odd == {}


def test_one_process_with_one_epoch_has_no_interval() -> None:
    found = table((1.0,), (4.0,), error=None)
    assert processes.of_ratio(found["b"], found["a"], ALPHA) is None
    assert processes.within(4.0, found["b"], found["a"]) is None
    assert found["a"].interval is None and found["a"].seconds == 1.0
    several = table((1.0, 1.0), (4.0, 4.0), error=None)
    assert ratio(several).low > 1, "several processes show how they vary"


def test_noise_within_processes_widens_what_one_of_them_says() -> None:
    calm, noisy = table((1.0,), (1.5,)), table((1.0,), (1.5,), error=0.4)
    assert width(ratio(noisy)) > 1.2 * width(ratio(calm))


def test_what_just_two_processes_showed_has_the_interval_of_their_own_errors() -> None:
    found = table((1.0,), (1.5,), error=0.01)
    shown = processes.within(1.5, found["b"], found["a"])
    assert shown is not None
    reach = math.log(shown.high / 1.5)
    assert reach == pytest.approx(math.log(1.5 / shown.low)) == pytest.approx(1.959964 * 0.01 * math.sqrt(2))
    several = table((1.0, 1.0), (1.5, 1.5), error=0.01)
    assert processes.within(1.5, several["b"], several["a"]) is None


def test_the_spread_that_a_row_is_known_to_have_widens_its_interval() -> None:
    spread = {name: np.eye(len(SPREADS))[place] for name, place in (("a", 2), ("b", 14))}
    rows = {name: {(1, 0): Process(1.0, 0.0)} for name in "ab"}
    found = processes.row_times(rows, spread)
    for name, place in (("a", 2), ("b", 14)):
        assert width(found[name].interval) == pytest.approx(2 * 2.776445 * SPREADS[place], rel=0.02)
        assert found[name].prediction_half_width() == pytest.approx(2.776445 * SPREADS[place], rel=0.02)


def test_between_runs_the_machine_may_have_changed_too() -> None:
    found = table((1.0, 1.0, 1.0), (1.5, 1.5, 1.5))
    together = ratio(found)
    apart = processes.between_runs(1.5, found["b"], found["a"], ALPHA, 0.04)
    assert apart is not None and apart.low < together.low < together.high < apart.high
    expected = math.hypot(math.log(together.high / 1.5), 0.04)
    assert math.log(apart.high / 1.5) == pytest.approx(expected, rel=1e-3)


def test_the_time_of_a_row_is_the_middle_of_its_interval() -> None:
    for seconds in ((1.0,), (1.0, 1.2), (1.0, 1.2, 0.9, 1.1)):
        for found in table(seconds, seconds[::-1], (2.0,) * len(seconds)).values():
            low, middle, high = (found.level.quantile(part) for part in (0.025, 0.5, 0.975))
            assert found.seconds == pytest.approx(math.exp(middle + found.shift))
            assert found.interval == levels.interval(low + found.shift, high + found.shift)
    assert intervals.two_sided(ALPHA) == pytest.approx((0.025, 0.975))


@pytest.mark.parametrize(
    "rows",
    [
        ((5e-324, 1e308), (1e308, 5e-324)),
        ((5e-324,), (1e308,)),
        ((1.7976931348623157e308,) * 2, (5e-324,) * 2),
        ((1.7976931348623157e308,) * 3,),
    ],
)
def test_absurd_times_have_no_interval_and_raise_nothing(rows: tuple[tuple[float, ...], ...]) -> None:
    found = table(*rows)
    for one in found.values():
        for other in found.values():
            interval = processes.of_ratio(one, other, ALPHA)
            expected = one.seconds / other.seconds if other.seconds else math.inf
            assert interval is None or interval.low <= expected <= interval.high
            processes.within(expected, one, other)
