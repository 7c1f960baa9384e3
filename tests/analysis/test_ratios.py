"""Rows against the fastest and against a baseline: how sure their times and ratios are, and what is said of it."""

from __future__ import annotations

import math
import warnings
from random import Random
from statistics import stdev
from typing import Any

import numpy as np
import pytest
from fake_runs import cell, measured, replace
from hypothesis import given
from hypothesis import strategies as st

from kbench.analysis.summaries import summarise
from kbench.records.values import (
    BASELINE,
    EPOCHS,
    FAILED,
    FASTER,
    FASTEST,
    NO_DIFFERENCE,
    NOT_COMPARED,
    REPEATS,
    SLOWER,
    Measured,
)
from kbench.summary import TO_FASTEST, Summary


def repeats(backend: str, *per_repeat: list[float], **changes: Any) -> list[Measured]:
    """Cells of a backend, each with a slow first epoch and then these steady seconds."""
    return [
        measured(cell(backend=backend, repeat=number, **changes), 99.0, *seconds)
        for number, seconds in enumerate(per_repeat, 1)
    ]


def by_backend(cells: list[Measured], baseline: str = "") -> dict[str, Summary]:
    return {row.backend: row for row in summarise(cells, baseline)}


def test_the_interval_of_several_processes_is_of_these_and_that_of_one_of_its_epochs() -> None:
    for count in (2, 3):
        (row,) = summarise(repeats("a", *[[1.0, 9.0, 2.0], [2.0, 2.0, 2.0], [3.0, 4.0, 3.0]][:count]))
        assert (row.resampled, row.resampled_values) == (REPEATS, count)
    (row,) = summarise(repeats("a", [1.0, 1.1, 1.2]))
    assert (row.resampled, row.resampled_values) == (EPOCHS, 3)


def test_the_epochs_behind_an_interval_are_those_of_the_process_that_has_steady_ones() -> None:
    (row,) = summarise(repeats("a", [], [1.0, 1.1, 1.2]))
    assert (row.repeats, row.resampled, row.resampled_values) == (2, EPOCHS, 3)


@pytest.mark.parametrize(("others", "verdict"), [(0.04, SLOWER), (0.9, NOT_COMPARED)])
def test_rows_that_took_no_turns_are_not_compared_where_other_programs_used_the_processor(
    others: float, verdict: str
) -> None:
    cells = [*repeats("a", [1.0, 1.01, 1.02]), *repeats("b", [4.9, 4.91, 4.92])]
    cells = [replace(one, outcome=replace(one.outcome, others=others)) for one in cells]
    slower = by_backend(cells)["b"]
    assert (slower.others, slower.turns, slower.verdict) == (others, 0, verdict)
    assert (slower.relative_interval is None) == slower.ratios[TO_FASTEST].rough == (verdict == NOT_COMPARED)


def test_processes_of_a_single_row_that_differ_widen_its_interval() -> None:
    (near,), (far,) = (
        summarise(repeats("a", *[[one, one] for one in each])) for each in ((2.0, 2.0, 2.0), (1.0, 2.0, 3.0))
    )
    assert near.epoch_interval is not None and far.epoch_interval is not None
    assert far.epoch_interval.low < 1.5 < near.epoch_interval.low < near.epoch_interval.high < far.epoch_interval.high


def test_one_process_says_what_it_showed_and_less_of_the_next() -> None:
    row = by_backend([*repeats("a", [1.0, 1.01, 0.99]), *repeats("b", [1.1, 1.11, 1.09])])["b"]
    assert (row.relative_to_fastest, row.verdict, row.relative_processes) == (1.1, NO_DIFFERENCE, 1)
    shown = row.process_interval
    assert shown is not None and 1.05 < shown.low < 1.1 < shown.high < 1.15
    assert row.relative_interval is not None and row.relative_interval.low < 1


def test_one_process_is_enough_where_no_two_processes_lie_that_far_apart() -> None:
    rows = by_backend([*repeats("a", [1.0, 1.01, 0.99]), *repeats("b", [4.0, 4.01, 3.99])])
    assert rows["b"].verdict == SLOWER


def test_several_processes_show_by_themselves_how_far_they_lie_apart() -> None:
    near, far = ((1.0, 1.01, 0.99, 1.0, 1.02), (1.0, 1.3, 0.8, 1.1, 0.9))
    for apart, verdict in ((near, SLOWER), (far, NO_DIFFERENCE)):
        cells = [*repeats("a", *([1.0, 1.0] for _ in apart)), *repeats("b", *([1.15 * one] * 2 for one in apart))]
        row = by_backend(cells)["b"]
        assert (row.verdict, row.relative_processes, row.process_interval) == (verdict, 5, None)
        assert row.between_process_factor is not None and (row.between_process_factor > 1.15) == (apart is far)


def test_a_repeat_that_failed_counts_for_no_interval() -> None:
    failed = measured(cell(backend="a", repeat=3), 9.0, 100.0, status=FAILED)
    (row,) = summarise([*repeats("a", [1.0], [2.0]), failed])
    (without,) = summarise(repeats("a", [1.0], [2.0]))
    assert (row.epoch_interval, row.epoch_seconds) == (without.epoch_interval, without.epoch_seconds)
    assert (row.resampled, row.resampled_values) == (REPEATS, 2)


def test_one_steady_epoch_has_no_interval_and_no_verdict() -> None:
    rows = by_backend([*repeats("a", [1.0]), *repeats("b", [2.0])])
    assert rows["b"].relative_to_fastest == 2.0
    assert [(row.epoch_interval, row.relative_interval, row.resampled) for row in rows.values()] == [
        (None, None, "")
    ] * 2
    assert [row.verdict for row in rows.values()] == [NOT_COMPARED, NOT_COMPARED]


def test_no_row_is_the_fastest_if_no_other_could_be_compared_with_it() -> None:
    single = [*repeats("a", [1.0]), *repeats("b", [2.0])]
    assert {row.verdict for row in summarise(single)} == {NOT_COMPARED}
    rows = by_backend([*repeats("a", [1.0, 1.0, 1.0]), *repeats("b", [4.0, 4.0, 4.0]), *repeats("c", [9.0])])
    assert [rows[name].verdict for name in "abc"] == [FASTEST, SLOWER, NOT_COMPARED]


def test_slower_is_said_only_where_the_interval_of_the_ratio_does_not_hold_1() -> None:
    rows = by_backend(
        [
            *repeats("quick", [1.0], [1.1], [1.2]),
            *repeats("near", [1.15], [1.0], [1.3]),
            *repeats("slow", [2.0], [2.1], [2.2]),
        ]
    )
    assert {name: row.verdict for name, row in rows.items()} == {
        "quick": FASTEST,
        "near": NO_DIFFERENCE,
        "slow": SLOWER,
    }
    near, slow = rows["near"].relative_interval, rows["slow"].relative_interval
    assert near is not None and near.low <= 1 <= near.high
    assert slow is not None and 1 < slow.low < 2.1 / 1.1 < slow.high


def test_against_a_baseline_a_row_can_be_faster_and_the_ratio_to_the_fastest_stays() -> None:
    cells = [
        one for name, pace in (("quick", 1.0), ("mid", 2.0), ("slow", 4.0)) for one in repeats(name, *[[pace]] * 3)
    ]
    rows = by_backend(cells, baseline="mid")
    assert {name: row.verdict for name, row in rows.items()} == {"quick": FASTER, "mid": BASELINE, "slow": SLOWER}
    assert {name: row.relative_to_baseline for name, row in rows.items()} == {"quick": 0.5, "mid": 1.0, "slow": 2.0}
    assert {name: row.relative_to_fastest for name, row in rows.items()} == {"quick": 1.0, "mid": 2.0, "slow": 4.0}
    assert {row.baseline for row in rows.values()} == {"mid"}
    interval = rows["quick"].baseline_interval
    assert interval is not None and interval.low < 0.5 < interval.high < 1
    assert rows["mid"].baseline_interval is None
    plain = by_backend(cells)
    assert all(row.relative_to_baseline is None and row.baseline == "" for row in plain.values())


def test_where_the_baseline_did_not_end_ok_there_is_no_ratio_to_it() -> None:
    cells = [
        *repeats("a", [1.0, 1.0]),
        measured(cell(backend="mid"), 9.0, 2.0, 2.0, status=FAILED),
        *repeats("a", [1.0, 1.0], example="other"),
        *repeats("mid", [4.0, 4.0], example="other"),
    ]
    rows = [row for row in summarise(cells, "mid") if row.backend == "a"]
    assert [(row.relative_to_baseline, row.verdict) for row in rows] == [(None, ""), (0.25, FASTER)]
    assert [row.relative_to_fastest for row in rows] == [1.0, 1.0]


def test_a_baseline_in_two_layouts_stands_with_its_faster_one() -> None:
    cells = [
        *repeats("mid", [16.0, 16.0], image_data_format="channels_first"),
        *repeats("mid", [4.0, 4.0], image_data_format="channels_last"),
        *repeats("a", [1.0, 1.0]),
    ]
    rows = summarise(cells, "mid")
    assert [(row.backend, row.relative_to_baseline, row.verdict) for row in rows] == [
        ("a", 0.25, FASTER),
        ("mid", 1.0, BASELINE),
        ("mid", 4.0, SLOWER),
    ]


def test_an_interval_holds_the_figure_beside_it() -> None:
    # Repeats of different lengths: the median of all epochs is 1, and that of the repeats' medians 5.
    rows = by_backend([*repeats("a", [1.0] * 9, [5.0], [5.0]), *repeats("b", [0.5, 0.5])])
    for row in rows.values():
        assert row.epoch_interval is not None and row.epoch_seconds is not None
        assert row.epoch_interval.low <= row.epoch_seconds <= row.epoch_interval.high


@pytest.mark.parametrize("odd", [math.nan, math.inf, 0.0, 1e308, 5e-324])
def test_no_number_makes_it_fail_or_warn(odd: float) -> None:
    for seconds in ([odd], [odd, odd], [odd, 1.0], [odd] * 3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for baseline in ("", "a", "b"):
                rows = summarise([*repeats("a", seconds), *repeats("b", [1.0, 2.0])], baseline)
                assert {row.backend for row in rows} == {"a", "b"}
                assert len(summarise(repeats("a", seconds, seconds, seconds), baseline)) == 1
            other = next(row for row in rows if row.backend == "b")
            interval = other.epoch_interval
            assert interval is not None and interval.low < 1.5 < interval.high


def test_inference_has_its_interval_per_1000_images() -> None:
    (row,) = summarise([measured(cell(samples=500), 4.0, *[1.0, 2.0] * 3, facts={"task": "infer"})])
    epoch, per_1000 = row.epoch_interval, row.per_1000_interval
    assert epoch is not None and per_1000 is not None and epoch.low < 1.5 < epoch.high
    assert (per_1000.low, per_1000.high) == pytest.approx((2 * epoch.low, 2 * epoch.high))


# What the models learnt, over repeats.


def test_final_accuracies_have_the_sample_standard_deviation_of_the_repeats_that_ended_ok() -> None:
    reached = [0.90, 0.92, 0.97]
    cells = [
        measured(cell(repeat=number, seed=number), 1.0, 1.0, accuracy=0.5, val_accuracy=[0.1, value])
        for number, value in enumerate(reached, 1)
    ]
    failed = measured(cell(repeat=4), 1.0, 1.0, val_accuracy=0.0, status=FAILED)
    (row,) = summarise([*cells, failed])
    assert row.final_val_accuracy_sd == pytest.approx(stdev(reached))
    assert row.final_val_accuracy_sd == pytest.approx(math.sqrt((0.03**2 + 0.01**2 + 0.04**2) / 2))
    assert (row.final_accuracy_sd, row.seeds) == (0.0, 3)


def test_one_repeat_and_a_diverged_one_have_no_standard_deviation() -> None:
    (one,) = summarise([measured(cell(), 1.0, val_accuracy=0.5)])
    assert one.final_val_accuracy_sd is None
    for odd in (math.nan, math.inf, 1.79e308, None):
        cells = [measured(cell(repeat=n), 1.0, val_accuracy=value) for n, value in ((1, odd), (2, -1.79e308))]
        assert summarise(cells)[0].final_val_accuracy_sd is None


def learning(repeat: int, seconds: list[float], accuracy: list[float], **more: Any) -> Measured:
    return measured(
        cell(repeat=repeat), *seconds, val_accuracy=accuracy, facts={"target": "val_accuracy >= 0.9"}, **more
    )


def test_time_to_accuracy_counts_the_first_epoch_and_is_the_median_of_the_repeats_that_ended_ok() -> None:
    (row,) = summarise(
        [
            learning(1, [10.0, 2.0, 2.0], [0.5, 0.9, 0.8]),
            learning(2, [20.0, 3.0, 3.0], [0.5, 0.8, 0.95]),
            learning(3, [1.0, 1.0, 1.0], [0.99, 0.99, 0.99], status=FAILED),
        ]
    )
    assert (row.target, row.repeats_to_target) == ("val_accuracy >= 0.9", 2)
    assert (row.epochs_to_target, row.seconds_to_target) == (2.5, (12.0 + 26.0) / 2)


def test_a_repeat_that_never_reached_the_target_counts_as_one_that_takes_for_ever() -> None:
    fast, slow = [10.0, 2.0, 2.0], [20.0, 3.0, 3.0]
    reached, late, never = [0.5, 0.9, 0.8], [0.5, 0.8, 0.95], [0.5, 0.6, 0.7]
    (row,) = summarise([learning(1, fast, reached), learning(2, slow, late), learning(3, fast, never)])
    assert (row.repeats_to_target, row.epochs_to_target, row.seconds_to_target) == (2, 3.0, 26.0)
    (row,) = summarise([learning(1, fast, reached), learning(2, slow, never), learning(3, fast, never)])
    assert (row.repeats_to_target, row.epochs_to_target, row.seconds_to_target) == (1, None, None)
    (row,) = summarise([learning(1, fast, reached), learning(2, slow, never)])
    assert (row.repeats_to_target, row.seconds_to_target) == (1, None)


def test_a_target_that_is_not_reached_and_one_that_is_not_stated_have_no_time() -> None:
    (row,) = summarise([learning(1, [1.0, 1.0], [0.1, math.nan])])
    assert (row.repeats_to_target, row.epochs_to_target, row.seconds_to_target) == (0, None, None)
    (row,) = summarise([measured(cell(), 1.0, val_accuracy=1.0)])
    assert (row.target, row.repeats_to_target, row.epochs_to_target) == ("", None, None)


def test_where_an_epoch_was_lost_nobody_knows_how_long_it_took() -> None:
    whole = learning(1, [10.0, 2.0, 2.0], [0.5, 0.6, 0.95])
    torn = Measured(whole.cell, whole.outcome, whole.epochs[1:], whole.phases, whole.facts)
    assert summarise([torn])[0].repeats_to_target == 0
    assert summarise([whole])[0].seconds_to_target == 14.0


def drawn(random: np.random.Generator, count: int, spread: float = 0.05) -> list[Measured]:
    """Backends that are equally fast, five repeats each."""
    return [
        one
        for backend in range(count)
        for one in repeats(f"a/{backend}", *([float(seconds)] * 2 for seconds in np.exp(random.normal(0, spread, 5))))
    ]


@pytest.mark.thorough
def test_of_eight_equal_backends_hardly_a_table_says_that_one_is_slower() -> None:
    random = np.random.default_rng(5)
    tables = [summarise(drawn(random, 8, 0.02)) for _ in range(60)]
    # Intervals of a pair, each for itself, say so in a third of these tables.
    assert sum(any(row.verdict == SLOWER for row in rows) for rows in tables) <= 6


def test_the_more_rows_the_wider_their_intervals_and_less_so_with_a_baseline() -> None:
    cells = drawn(np.random.default_rng(5), 5)
    two = [one for one in cells if one.cell.backend in ("a/0", "a/1")]

    def width(measured: list[Measured], baseline: str = "") -> float:
        rows = by_backend(measured, baseline)
        found = (
            rows["a/1"].baseline_interval
            if baseline
            else rows["a/0"].relative_interval or rows["a/1"].relative_interval
        )
        assert found is not None
        return math.log(found.high / found.low)

    assert width(two) == width(two, "a/0") < width(cells, "a/0")
    pairs = by_backend(cells)
    (fastest,) = (name for name, row in pairs.items() if row.verdict == "fastest")
    for name, row in by_backend(cells, fastest).items():
        interval = pairs[name].relative_interval
        if row.baseline_interval and interval:
            assert interval.low < row.baseline_interval.low < row.baseline_interval.high < interval.high


def test_a_variant_is_compared_with_its_own_backend_as_it_is() -> None:
    cells = [*repeats("a", [1.0, 1.0]), *repeats("a+jit=on", [2.0, 2.0]), *repeats("b@1", [0.5, 0.5])]
    cells += [*repeats("c", [4.0, 4.0]), *repeats("c@1+jit=on", [1.0, 1.0])]
    rows = by_backend(cells)
    assert {name: row.relative_to_default for name, row in rows.items()} == {
        "a": None,
        "a+jit=on": 2.0,
        "b@1": None,  # b itself was not measured
        "c": None,
        "c@1+jit=on": 0.25,
    }
    interval = rows["a+jit=on"].default_interval
    assert interval is not None and interval.low < 2.0 < interval.high and rows["a"].default_interval is None


TIMES = st.lists(
    st.lists(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=6), min_size=1, max_size=4), min_size=2, max_size=4
)


Said = dict[tuple[str, str], tuple[str, str]]  # backend and kind of ratio -> its verdict and the row's
Numbers = dict[tuple[str, str], list[float]]


def without_units(cells: list[Measured], baseline: str) -> tuple[Said, Numbers]:
    """What is said of each ratio, and the ratio with the ends of its interval."""
    found = {
        (row.backend, kind): (row, one) for row in summarise(cells, baseline) for kind, one in row.ratios.items()
    }
    ends = {key: [one.interval.low, one.interval.high] if one.interval else [] for key, (_, one) in found.items()}
    said = {key: (one.verdict, row.verdict) for key, (row, one) in found.items()}
    return said, {key: [one.value, *ends[key]] for key, (_, one) in found.items()}


def same_but_for_rounding(one: tuple[Said, Numbers], other: tuple[Said, Numbers]) -> bool:
    return one[0] == other[0] and one[1] == {key: pytest.approx(values) for key, values in other[1].items()}


def rows_of(times: list[list[list[float]]], scale: float = 1.0) -> list[Measured]:
    scaled = [[[scale * one for one in epochs] for epochs in processes] for processes in times]
    return [one for backend, processes in zip("abcd", scaled, strict=False) for one in repeats(backend, *processes)]


@given(TIMES, st.sampled_from([2.0**-10, 0.5, 4.0, 2.0**20]), st.sampled_from(["", "b"]))
def test_a_machine_that_is_so_many_times_as_fast_changes_no_ratio_and_no_verdict(
    times: list[list[list[float]]], scale: float, baseline: str
) -> None:
    scaled, own = (without_units(rows_of(times, one), baseline) for one in (scale, 1.0))
    assert same_but_for_rounding(scaled, own)


@given(TIMES, st.randoms(use_true_random=False), st.sampled_from(["", "b"]))
def test_the_order_in_which_rows_and_repeats_were_measured_changes_nothing(
    times: list[list[list[float]]], random: Random, baseline: str
) -> None:
    cells = rows_of(times)
    shuffled = random.sample(cells, len(cells))
    assert same_but_for_rounding(without_units(shuffled, baseline), without_units(cells, baseline))
