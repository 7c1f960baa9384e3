"""Bootstrap and Student's intervals against theory and worked examples; what has none gives none, with no warning."""

from __future__ import annotations

import math
import warnings
from itertools import product
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kbench.analysis.times import intervals
from kbench.records.values import Interval

# Survival of 16 mice in days (Efron & Tibshirani 1993, table 2.1).
TREATED = (94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0)
CONTROL = (52.0, 104.0, 146.0, 10.0, 51.0, 30.0, 40.0, 27.0, 46.0)


def exact(values: tuple[float, ...]) -> Interval:
    """The percentile interval over every possible resample, each once."""
    medians = sorted(median(resample) for resample in product(values, repeat=len(values)))
    low, high = np.quantile(medians, [0.025, 0.975], method="inverted_cdf")
    return Interval(float(low), float(high))


@pytest.mark.parametrize(
    "values", [(2.0, 1.0, 2.0, 1.0, 2.0), (1.0, 2.0, 4.0, 8.0, 16.0), (3.0, 1.0, 9.0, 5.0, 7.0, 2.0)]
)
def test_the_interval_of_five_or_six_values_is_that_of_all_their_resamples(values: tuple[float, ...]) -> None:
    assert intervals.of_median(values) == exact(values)


def test_the_mice_of_efron_and_tibshirani_live_between_these_days() -> None:
    # By the binomial distribution, as for any 7 and 9 values: the second smallest and second largest of 7 (treated)
    # and of 9 (control) bound 95 % of the resampled medians.
    assert intervals.of_median(TREATED) == Interval(23.0, 141.0)
    assert intervals.of_median(CONTROL) == Interval(27.0, 104.0)


def test_it_is_scipys_percentile_bootstrap() -> None:
    values = tuple(np.random.default_rng(0).lognormal(1.0, 0.3, 25))
    found = stats.bootstrap((values,), np.median, method="percentile", n_resamples=50_000, rng=1).confidence_interval
    ours = intervals.of_median(values)
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((found.low, found.high), rel=0.02)


def test_a_ratio_takes_its_uncertainty_from_both_sides() -> None:
    one, two, varied, twice = (1.0,) * 6, (2.0,) * 6, (1.0, 2.0) * 3, (2.0, 4.0) * 3
    assert intervals.of_ratio(twice, one) == Interval(2.0, 4.0)
    assert intervals.of_ratio(two, varied) == Interval(1.0, 2.0)
    assert intervals.of_ratio(twice, varied) == Interval(1.0, 4.0)


def test_few_values_have_students_interval_of_their_logarithms() -> None:
    # Student's t for 2 degrees of freedom, two-sided, 95 %: 4.302653, as every printed table has it.
    t = 4.302653
    found = intervals.of_median((math.exp(1), math.exp(3), math.exp(2)))
    assert found is not None
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((2 - t / math.sqrt(3), 2 + t / math.sqrt(3)))
    # Two samples of two with one variance s² = 1/2 have Welch's 2 degrees of freedom, and the standard error s.
    found = intervals.of_ratio((math.exp(3), math.exp(4)), (math.exp(0), math.exp(1)))
    assert found is not None
    half = t * math.sqrt(1 / 2)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((3 - half, 3 + half), abs=1e-6)


def test_one_side_of_few_values_is_enough_for_students_interval() -> None:
    many = tuple(np.random.default_rng(0).lognormal(0.0, 0.1, 20))
    few = (1.0, 1.1)
    found = intervals.of_ratio(few, many)
    expected = stats.ttest_ind(np.log(few), np.log(many), equal_var=False).confidence_interval()
    assert found is not None
    assert (found.low, found.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    turned = intervals.of_ratio(many, few)
    assert turned is not None
    assert (turned.low, turned.high) == pytest.approx((1 / found.high, 1 / found.low))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("noise", ["even", "now and then"])
def test_what_is_equally_fast_is_told_apart_in_no_more_than_5_of_100_cases(count: int, noise: str) -> None:
    chance = np.random.default_rng(count)
    logarithms = chance.normal(0.0, 0.05, (400, 2, count))
    if noise == "now and then":  # something else runs on the machine
        logarithms += (chance.random(logarithms.shape) < 0.15) * chance.exponential(0.4, logarithms.shape)
    found = [intervals.of_ratio(tuple(one), tuple(two)) for one, two in np.exp(logarithms)]
    apart = sum(one is None or not one.low <= 1.0 <= one.high for one in found)
    assert apart <= stats.binom.ppf(0.999, len(found), 0.05)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_intervals_of_few_values_hold_their_median(count: int) -> None:
    draws = np.random.default_rng(count).lognormal(0.0, 0.2, (400, count))
    found = [intervals.of_median(tuple(values)) for values in draws]
    missed = sum(one is None or not one.low <= 1.0 <= one.high for one in found)
    assert missed <= stats.binom.ppf(0.999, len(found), 0.0625)  # of 5, the bootstrap's: 1 - 2^-4 at most


def test_the_error_of_a_median_is_that_of_its_interval() -> None:
    assert intervals.error_of_median((1.0,)) is None and intervals.error_of_median((1.0, 0.0)) is None
    values = np.random.default_rng(0).lognormal(0.0, 0.1, 200).tolist()
    # The median's standard error is 1.253 times that of the mean.
    assert intervals.error_of_median(values) == pytest.approx(1.253 * 0.1 / math.sqrt(200), rel=0.2)


def test_what_samples_do_not_show_adds_to_an_interval_as_variances_do() -> None:
    interval = intervals.scale_interval(Interval(math.exp(-0.3), math.exp(0.4)), 1.0, 0.3)
    assert (math.log(interval.low), math.log(interval.high)) == pytest.approx((-math.hypot(0.3, 0.3), 0.5))
    reached = intervals.scale_interval(Interval(2.0, 2.0), 2.0, 0.1)
    assert (reached.low, reached.high) == pytest.approx((2 * math.exp(-0.1), 2 * math.exp(0.1)))
    for whole in (Interval(0.0, 2.0), Interval(1.0, math.inf), Interval(1.0, 1.79e308)):
        assert intervals.scale_interval(whole, 1.5, 6.0) == whole
    assert intervals.scale_interval(Interval(1.0, 2.0), 1.5, 0.0) == Interval(1.0, 2.0)


@pytest.mark.parametrize(("ratios", "most"), [(0, 0), (1, 0), (2, 1), (7, 1), (20, 3), (50, 5)])
def test_some_of_many_ratios_differ_by_chance(ratios: int, most: int) -> None:
    assert intervals.differing_by_chance(ratios) == most


def test_about_95_of_100_intervals_hold_the_true_median() -> None:
    # Of different counts: the interval lies between two of the sorted values, and so holds less or more for some.
    chance = np.random.default_rng(5)
    draws = [chance.lognormal(0.0, 0.2, chance.integers(10, 60)) for _ in range(400)]
    found = [intervals.of_median(tuple(values)) for values in draws]
    held = sum(one is not None and one.low <= 1.0 <= one.high for one in found)
    assert 0.90 * len(draws) <= held <= 0.99 * len(draws)


def test_the_order_of_the_values_changes_nothing() -> None:
    assert intervals.of_median(CONTROL[::-1]) == intervals.of_median(CONTROL)
    assert intervals.of_ratio(CONTROL[::-1], TREATED[::-1]) == intervals.of_ratio(CONTROL, TREATED)


def test_both_sides_of_a_ratio_are_drawn_independently() -> None:
    values = tuple(np.random.default_rng(0).lognormal(1.0, 0.3, 25))
    found = intervals.of_ratio(values, values)
    assert found is not None
    expected = stats.bootstrap(
        (values, values),
        lambda one, two, axis: np.median(one, axis=axis) / np.median(two, axis=axis),
        method="percentile", n_resamples=20_000, rng=1, vectorized=True,
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.02)


def test_the_same_values_give_the_same_interval_whatever_was_asked_before() -> None:
    first = intervals.of_median(CONTROL)
    intervals.of_median(TREATED)
    np.random.default_rng().random()
    assert intervals.of_median(CONTROL) == first
    assert intervals.of_ratio(CONTROL, TREATED) == intervals.of_ratio(CONTROL, TREATED)


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, math.nan), (1.0, math.inf), (1.7e308, 1.79e308, -1.79e308)])
def test_fewer_than_two_numbers_have_no_interval(values: tuple[float, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = intervals.of_median(values)
        assert found is None or all(map(math.isfinite, (found.low, found.high)))
        if len(values) < 3:
            assert found is None
            assert intervals.of_ratio(values, (1.0, 2.0)) is None
            assert intervals.of_ratio((1.0, 2.0), values) is None


def test_nothing_is_divided_by_zero() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert intervals.of_ratio((1.0, 2.0), (0.0, 1.0)) is None
        assert intervals.of_ratio((1e308, 1.5e308), (1e-300, 1e-300)) is None


def test_equal_values_have_an_interval_without_width() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert intervals.of_median((2.5,) * 4) == Interval(2.5, 2.5)
        assert intervals.of_ratio((2.5,) * 4, (2.5,) * 2) == Interval(1.0, 1.0)


@settings(max_examples=25)
@given(st.lists(st.floats(1e-6, 1e6), min_size=5, max_size=12))
def test_an_interval_of_five_values_lies_within_them(values: list[float]) -> None:
    found = intervals.of_median(values)
    assert found is not None
    assert min(values) * (1 - 1e-8) <= found.low <= found.high <= max(values) * (1 + 1e-8)


@given(
    st.lists(st.floats(0.0, 1e300), min_size=2, max_size=4),
    st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=4),
)
def test_any_few_values_have_an_interval_of_numbers_without_a_warning(
    few: list[float], reference: list[float]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (intervals.of_median(few), intervals.of_ratio(few, reference)):
            assert found is None or (math.isfinite(found.low) and found.low <= found.high < math.inf)


def test_intervals_that_are_looked_at_ten_times_are_wider() -> None:
    """By Pocock (*Biometrika* 64, 1977, table 1): 2.56 standard errors at each of ten looks."""
    assert intervals.normal((1 + intervals.INTERIM_CONFIDENCE) / 2) == pytest.approx(2.56, abs=0.01)
