"""What a row's processes say of its time: how sure that is, with one process as with ten."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kbench.analysis.times import levels
from kbench.analysis.times.levels import FREEDOM, SPREADS, Level, Numbers
from kbench.records.values import Interval

FLAT: Numbers = np.full(len(SPREADS), 1 / len(SPREADS))
ALPHA = 0.05
PLACE = 10  # in SPREADS, of one in the middle


def known(place: int = PLACE) -> Numbers:
    """The prior of a row of which it is known how much its processes spread."""
    prior = np.zeros(len(SPREADS))
    prior[place] = 1.0
    return prior


def of(logs: list[float], prior: Numbers = FLAT, error: float = 0.0) -> Level:
    return levels.level(logs, [error] * len(logs), prior)


def width(one: Level) -> float:
    return one.quantile(1 - ALPHA / 2) - one.quantile(ALPHA / 2)


def drawn(random: np.random.Generator, count: int) -> list[float]:
    """Deviations of so many processes from their row's level."""
    deviations: list[float] = (SPREADS[PLACE] * random.standard_t(FREEDOM, count)).tolist()
    return deviations


@pytest.mark.parametrize("count", [1, *(pytest.param(one, marks=pytest.mark.thorough) for one in (2, 3, 5))])
def test_where_the_spread_is_known_19_of_20_intervals_hold_the_level(count: int) -> None:
    random = np.random.default_rng(count)
    found = [of([2.0 + one for one in drawn(random, count)], known()) for _ in range(1500)]
    held = [one.quantile(ALPHA / 2) <= 2.0 <= one.quantile(1 - ALPHA / 2) for one in found]
    assert 0.93 <= np.mean(held) <= 0.97


@pytest.mark.parametrize(("one", "other"), [(1, 1), pytest.param(2, 3, marks=pytest.mark.thorough)])
def test_where_the_spread_is_known_19_of_20_intervals_hold_the_ratio(one: int, other: int) -> None:
    random = np.random.default_rng(one)
    held = []
    for _ in range(600):
        pair = (of([0.5 + deviation for deviation in drawn(random, one)], known()), of(drawn(random, other), known()))
        low, high = levels.of_difference(*pair, ALPHA)
        held.append(low <= 0.5 <= high)
    assert 0.93 <= np.mean(held) <= 0.97


def test_the_more_processes_agree_the_narrower_the_interval() -> None:
    one, two, three = (width(of([0.0] * count)) for count in (1, 2, 3))
    assert one > 1.5 * two and two > 1.2 * three


def test_of_one_process_the_level_is_its_time_and_the_spread_is_what_is_known_beforehand() -> None:
    found = of([1.5])
    assert found.median == pytest.approx(1.5, abs=1e-9)
    assert found.spreads == pytest.approx(FLAT, abs=1e-3)


def test_processes_that_lie_apart_make_large_spreads_likely_and_those_that_agree_small_ones() -> None:
    apart, near = of([-0.2, 0.0, 0.2]), of([-0.002, 0.0, 0.002])
    assert SPREADS @ near.spreads < 0.02 < 0.1 < SPREADS @ apart.spreads
    assert width(apart) > 10 * width(near)


def test_the_error_of_each_process_widens_the_interval_and_the_surer_one_counts_for_more() -> None:
    assert width(of([0.0] * 3, error=0.1)) > 2 * width(of([0.0] * 3))
    unequal = levels.level([0.0, 0.1], [0.0, 0.2], known(3))
    assert unequal.median < 0.02


@pytest.mark.parametrize("count", [5, 9])
def test_an_odd_process_of_several_moves_the_level_and_its_interval_by_little(count: int) -> None:
    rest = [0.01 * math.sin(number) for number in range(count - 1)]
    without, beside = of(rest, known()), of([*rest, math.log(1.5)], known())
    assert abs(beside.median - without.median) < 0.015
    assert beside.quantile(1 - ALPHA / 2) - without.quantile(1 - ALPHA / 2) < 0.03


def test_an_odd_process_counts_for_no_more_the_farther_it_is_off() -> None:
    rest = [-0.01, 0.0, 0.0, 0.01]
    near, far = (of([*rest, math.log(factor)], known()).median for factor in (1.5, 100.0))
    assert abs(far) <= abs(near)


def test_the_interval_of_a_ratio_inverted_is_the_inverted_interval() -> None:
    one, other = of([0.5, 0.55, 0.52]), of([0.0, -0.1])
    low, high = levels.of_difference(one, other, ALPHA)
    assert low < 0.55 < high
    assert levels.of_difference(other, one, ALPHA) == (pytest.approx(-high, abs=1e-4), pytest.approx(-low, abs=1e-4))


def test_a_difference_has_the_interval_of_two_uncertain_levels() -> None:
    one = of([0.0] * 3, known())
    low, high = levels.of_difference(one, one, ALPHA)
    assert low == pytest.approx(-high, abs=1e-9)
    assert width(one) < high - low < 2 * width(one)
    assert levels.of_difference(one, one, ALPHA / 10)[1] > high, "surer"


def test_a_sum_of_one_level_or_of_a_difference_has_its_interval() -> None:
    one, other = of([0.5, 0.55, 0.52]), of([0.0, -0.1])
    low, high = levels.of_sum([(one.quantiles, 1.0)], ALPHA)
    ends = (one.quantile(part) - one.median for part in (ALPHA / 2, 1 - ALPHA / 2))
    assert (low, high) == pytest.approx(tuple(ends), rel=0.01)
    middle = one.median - other.median
    for alpha in (ALPHA, ALPHA / 36):
        low, high = levels.of_sum([(one.quantiles, 1.0), (other.quantiles, -1.0)], alpha)
        assert (middle + low, middle + high) == pytest.approx(levels.of_difference(one, other, alpha), rel=0.02)
    assert levels.of_sum([(other.quantiles, 1.0), (one.quantiles, -1.0)], alpha) == pytest.approx((-high, -low))


def test_the_mean_of_many_levels_is_nearly_normal_and_that_of_two_is_not() -> None:
    one = of([0.0], known())
    deviation = SPREADS[PLACE] * math.sqrt(2)  # Student's t of four degrees of freedom has a variance of two
    for count, least, most in ((50, 1.0, 1.1), (2, 1.4, 1.7)):
        low, high = levels.of_sum([(one.quantiles, 1 / count)] * count, ALPHA / 36)
        normal = 3.197 * deviation / math.sqrt(count)
        assert high == pytest.approx(-low, rel=1e-6) and least < high / normal < most


def test_where_the_spread_is_known_19_of_20_intervals_hold_the_mean_of_ratios() -> None:
    one = of([0.0], known()).quantiles
    low, high = levels.of_sum([(one, sign / 3) for sign in (1, -1) * 3], ALPHA)
    off = SPREADS[PLACE] * np.random.default_rng(7).standard_t(FREEDOM, (4000, 6))
    shown = off @ np.tile([1 / 3, -1 / 3], 3)
    assert 0.93 <= np.mean((shown + low <= 0.0) & (shown + high >= 0.0)) <= 0.97


@pytest.mark.parametrize("apart", [20.0, 700.0])
def test_a_difference_of_any_size_lies_in_its_interval(apart: float) -> None:
    low, high = levels.of_difference(of([apart]), of([0.0]), ALPHA)
    assert low < apart < high


def test_a_further_process_lies_within_the_half_width_of_the_known_spread() -> None:
    # Student's t of four degrees of freedom exceeds 2.776 in 5 % of cases.
    assert levels.half_width(known(), ALPHA) == pytest.approx(2.776445 * SPREADS[PLACE], rel=1e-6)
    assert levels.half_width(known(0), ALPHA) < levels.half_width(FLAT, ALPHA) < levels.half_width(known(-1), ALPHA)


def test_logarithms_that_are_no_factors_have_no_interval() -> None:
    assert levels.interval(0.0, math.log(2)) == Interval(1.0, 2.0)
    for ends in ((-701.0, 0.0), (0.0, 701.0), (math.nan, 0.0), (0.0, math.inf), (1.0, 0.0)):
        assert levels.interval(*ends) is None
