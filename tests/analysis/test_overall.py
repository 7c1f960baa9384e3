"""The answer over all examples, against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist

import numpy as np
import pytest
from fake_runs import UNLIKE, cell, measured, replace, summary

from kbench.analysis.summaries import summarise
from kbench.analysis.times import intervals, levels, spreads
from kbench.analysis.times.overall import overall, profiles
from kbench.analysis.times.processes import RowTime
from kbench.analysis.times.ratios import Timed, ranked
from kbench.records.values import FASTEST, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.overall import sentences


def rows(ratios: dict[str, list[float]], **changes: object) -> list[Summary]:
    """Rows of one example for each place of the lists; a ratio of 0 is none."""
    return [
        summary(
            name,
            f"example_{place}",
            relative_to_fastest=ratio or None,
            relative_interval=None if ratio == 1 else Interval(0.9 * ratio, 1.1 * ratio),
            verdict=FASTEST if ratio == 1 else SLOWER,
            **changes,
        )
        for place in range(len(next(iter(ratios.values()))))
        for name, ratio in ((name, values[place]) for name, values in ratios.items())
    ]


ERROR = math.log(1.1 / 0.9) / 2 / 1.959964  # of the logarithm of a ratio whose interval is 0.9 to 1.1 of it


def test_it_is_the_geometric_mean_of_the_ratios_with_an_interval_of_their_errors() -> None:
    (found,) = overall(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 4.0, 8.0]}))
    assert (found.fastest, found.examples, found.missing, found.faster) == ("a", 3, {}, {"b": ()})
    ((name, ratio, ends),) = found.others
    assert (name, ratio) == ("b", pytest.approx(4.0))
    half = 1.959964 * ERROR / math.sqrt(3)  # of the mean of three; for 95 %
    assert (ends.low, ends.high) == pytest.approx((4 * math.exp(-half), 4 * math.exp(half)), rel=1e-3)


def test_of_more_backends_all_pairs_hold_together() -> None:
    (found,) = overall(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 4.0, 8.0], "c": [9.0, 9.0, 9.0]}))
    half = 2.393980 * ERROR / math.sqrt(3)  # for 1 - 0.05 / 3
    assert found.others[0][2].high == pytest.approx(4 * math.exp(half), rel=1e-3)


def test_of_several_batch_sizes_none_counts_more_than_another() -> None:
    small = rows({"a": [1.0, 1.0, 1.0], "b": [8.0, 8.0, 8.0]}, axes={"batch_size": 32})
    large = rows({"a": [2.0, 2.0, 2.0], "b": [1.0, 1.0, 1.0]}, axes={"batch_size": 256})
    (found,) = overall([*small, *large])
    assert (found.fastest, found.examples, found.missing, found.lacking) == ("a", 3, {}, {})
    assert [(name, ratio) for name, ratio, _ in found.others] == [("b", pytest.approx(2.0))]
    (profile,) = profiles([*small, *large])
    assert profile.ratios == {"a": pytest.approx((1.0, 1.0, 1.0)), "b": pytest.approx((2.0, 2.0, 2.0))}


def test_batch_sizes_in_which_a_compared_backend_has_no_time_are_left_out_and_said() -> None:
    small = rows({"a": [1.0, 1.0, 1.0], "b": [8.0, 8.0, 8.0]}, axes={"batch_size": 32})
    large = rows({"a": [2.0, 2.0, 2.0], "b": [1.0, 1.0, 1.0], "c": [3.0, 3.0, 3.0]}, axes={"batch_size": 256})
    (found,) = overall([*small, *large])
    assert (found.fastest, found.missing) == ("b", {})
    assert [(name, ratio) for name, ratio, _ in found.others] == [
        ("a", pytest.approx(2.0)),
        ("c", pytest.approx(3.0)),
    ]
    assert {name: [one["batch_size"] for one in its] for name, its in found.lacking.items()} == {"c": [32] * 3}
    assert sentences([*small, *large])[0].endswith(" Left out: batch 32 (no time of c).")
    some = rows({"c": [4.0, 4.0, 0.0]}, axes={"batch_size": 32})
    assert sentences([*small, *large, *some])[0].endswith(" Left out: batch 32 in example_2 (no time of c).")


def test_of_backends_without_a_batch_size_in_common_the_one_with_fewer_is_not_compared() -> None:
    small = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0], "c": [1.5, 0.0, 0.0]}, axes={"batch_size": 32})
    large = rows({"a": [1.0, 1.0, 1.0], "c": [3.0, 3.0, 3.0]}, axes={"batch_size": 256})
    (found,) = overall([*small, *large])
    assert (found.fastest, [name for name, *_ in found.others], [*found.missing]) == ("a", ["c"], ["b"])
    assert [len(found.lacking[name]) for name in "bc"] == [3, 2]


def test_a_backend_that_cannot_train_with_two_workers_is_compared_where_it_can() -> None:
    alone = rows({"a": [1.0, 1.0], "b": [2.0, 2.0], "c": [3.0, 3.0]}, axes={"workers": 1})
    (found,) = overall([*alone, *rows({"b": [1.0, 1.0], "c": [2.0, 2.0]}, axes={"workers": 2})])
    assert (found.fastest, found.missing) == ("a", {})
    assert [name for name, *_ in found.others] == ["b", "c"]


def test_who_is_not_compared_somewhere_is_named_with_where_and_why_and_ranked_by_the_others() -> None:
    measured = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2], "c": [0.0, 3.0, 3.0]})
    (found,) = overall(measured)
    assert [name for name, _, _ in found.others] == ["b"] and found.missing == {"c": ("example_0",)}
    assert [(name, ratio) for name, ratio, _ in found.partly] == [("c", pytest.approx(3.0))]
    for changes, why in (
        ({"findings": UNLIKE}, "differs"),
        ({"status": "failed"}, "failed"),
        ({"status": "unsupported"}, "not supported"),
        ({"epochs": 1}, "one epoch"),
    ):
        (said,) = sentences([dataclasses.replace(one, **changes) if one == measured[2] else one for one in measured])
        assert said.startswith(
            "Take a: over these 3 examples it takes the least time (geometric means, 95 % intervals). b takes 2.10 "
            "times as long ("
        )
        assert f"). c is not compared in example_0 ({why}); elsewhere it takes 3.00 times as long (2." in said
    (said,) = sentences([one for one in measured if one != measured[2]])
    assert "c is not compared in example_0 (not measured); elsewhere" in said


def test_a_row_with_a_ratio_and_no_interval_costs_its_example_and_no_more() -> None:
    measured = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2], "c": [3.0, 3.0, 3.0]})
    measured[2] = replace(measured[2], relative_interval=None, verdict=NOT_COMPARED)
    (said,) = sentences(measured)
    assert "c is not compared in example_0 (times vary too much); elsewhere it takes 3.00 times as long" in said


def test_who_may_be_better_than_the_answer_where_it_is_compared_stands_right_behind_it() -> None:
    (said,) = sentences(rows({"a": [1.0, 2.0, 2.0], "b": [2.0, 4.1, 4.2], "c": [0.0, 1.0, 1.0]}))
    assert "intervals). c is not compared in example_0 (no steady time); elsewhere it is faster (0.5" in said
    assert said.endswith(" c is faster in example_1 and example_2.")
    (said,) = sentences(
        rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2], "c": [0.0, 1.1, 1.0], "d": [0.0, 5.0, 5.0]})
    )
    assert (
        "intervals). c and d are not compared in example_0 (no steady time); elsewhere c may be as fast (1.05 "
        in said
    )
    assert ", d takes 5.00 times as long (" in said


def test_an_example_in_which_one_backend_is_alone_does_not_count() -> None:
    (found,) = overall(rows({"a": [1.0, 2.0, 2.0], "b": [0.0, 1.0, 1.0]}))
    assert (found.fastest, found.examples, found.missing) == ("b", 2, {"b": ("example_0",)})
    (said,) = sentences(rows({"a": [1.0, 2.0, 2.0], "b": [0.0, 1.0, 1.0]}))
    assert said.startswith("Take b: over these 2 examples it takes the least time (")
    assert said.endswith("b is not compared in example_0 (no steady time).")


def test_where_only_one_backend_is_compared_in_all_examples_it_is_taken_if_the_others_are_slower() -> None:
    (said,) = sentences(rows({"a": [1.0, 1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0, 0.0], "c": [0.0, 3.0, 3.0, 3.0]}))
    assert said.startswith("Take a: it is the only one compared in all 4 examples. b is not compared in example_3 ")
    (said,) = sentences(rows({"a": [1.0, 2.0, 2.0, 1.0], "b": [2.0, 1.0, 1.0, 0.0], "c": [0.0, 3.0, 3.0, 3.0]}))
    assert said.startswith("There is no winner: only a is compared in all 4 examples. b is not compared")


def test_of_what_is_not_supported_only_the_place_elsewhere_and_the_wins_are_said() -> None:
    measured = rows({"a": [2.0, 1.0, 1.0], "b": [2.2, 2.1, 2.2], "c": [1.0, 0.0, 0.0]})
    unable = [
        dataclasses.replace(one, status="unsupported") if one.relative_to_fastest is None else one for one in measured
    ]
    (said,) = sentences(unable)
    assert "not compared" not in said and said.endswith("). c is faster in example_0.")


def test_training_and_inference_of_the_same_examples_have_an_answer_each() -> None:
    """And a fast inference does not count for a backend that trains slowly."""
    trained = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2]})
    predicted = rows({"b": [1.0, 1.0, 1.0], "a": [3.0, 3.1, 3.2], "c": [4.0, 4.1, 4.2]}, task="infer")
    train, infer = overall([*trained, *predicted])
    assert (train.task, train.fastest, train.missing) == ("train", "a", {})
    assert (infer.task, infer.fastest, infer.missing) == ("infer", "b", {})
    said = sentences([*predicted, *trained])
    assert [one.partition(" it ")[0] for one in said] == [
        "Take a: over these 3 examples in training",
        "Take b: over these 3 examples in inference",
    ]
    assert [(one.task, one.share("b", 1.0)) for one in profiles([*trained, *predicted])] == [
        ("train", 0.0),
        ("infer", 1.0),
    ]


def test_an_example_that_only_predicts_is_one_of_all_examples() -> None:
    several = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2]})
    several[-2:] = [dataclasses.replace(one, task="infer") for one in several[-2:]]
    (found,) = overall(several)
    assert (found.task, found.examples) == ("", 3)


def test_one_example_and_examples_without_a_fastest_row_have_no_answer() -> None:
    assert overall(rows({"a": [1.0], "b": [2.0]})) == []
    unknown = [
        summary(
            name,
            f"example_{place}",
            relative_to_fastest=ratio,
            relative_interval=None,
            verdict=NOT_COMPARED,
        )
        for place in range(4)
        for name, ratio in (("a", 1.0), ("b", 2.0))
    ]
    assert overall(unknown) == []


def test_of_two_examples_that_two_backends_share_it_depends() -> None:
    (said,) = sentences(rows({"a": [1.0, 1.5], "b": [4.0, 1.0]}))
    assert said.startswith(
        "It depends: a for example_0, b for example_1; over both, a takes the least time (geometric "
    )
    assert " b takes 1.63 times as long (" in said and "faster in" not in said
    assert sentences(rows({"a": [1.0, 1.0], "b": [4.0, 2.0]}))[0].startswith("Take a: ")


def test_examples_in_which_another_backend_is_faster_are_named() -> None:
    (said,) = sentences(rows({"a": [1.0, 1.0, 1.5], "b": [2.0, 3.0, 1.0]}))
    assert said.endswith(" b is faster in example_2.")
    three = {"a": [1.0, 1.0, 1.5], "b": [2.0, 3.0, 1.0], "c": [2.0, 3.0, 1.1], "d": [0.5, 3.0, 9.0]}
    assert sentences(rows(three))[0].endswith(" b and c are faster in example_2; d in example_0.")
    many = {"a": [1.0] * 2 + [1.5] * 4, "b": [20.0, 30.0] + [1.0] * 4}
    assert sentences(rows(many))[0].endswith(" b is faster in 4 of them.")


def test_an_open_comparison_that_could_make_another_backend_faster_somewhere_is_said() -> None:
    """1.00 beside an open 1.37 is no certainty, nor is it nothing."""
    measured = rows({"a": [1.0, 1.0, 1.37, 1.05], "b": [2.0, 3.0, 1.0, 1.0]})
    measured[4] = replace(measured[4], relative_interval=Interval(0.9, 2.0), verdict=NO_DIFFERENCE)
    (said,) = sentences(measured)
    assert said.endswith(" b may be faster in example_2.")
    more = [*measured, *rows({"a": [1.5], "b": [1.0]})]
    more[-2:] = [replace(one, example="example_9") for one in more[-2:]]
    (said,) = sentences(more)
    assert said.endswith(" b is faster in example_9 and may be in example_2.")
    equal = rows({"a": [1.0, 1.37], "b": [1.1, 1.0]})
    equal[2] = replace(equal[2], relative_interval=Interval(0.9, 2.0), verdict=NO_DIFFERENCE)
    (said,) = sentences(equal)
    assert "a may be as fast" in said and "faster in" not in said


def test_what_a_table_leaves_open_is_no_certainty_above_it() -> None:
    """As where the row's interval holds more than its time's own distribution."""
    measured = rows({"a": [1.0, 1.0, 1.2], "b": [2.0, 3.0, 1.0]})
    assert sentences(measured)[0].endswith(" b is faster in example_2.")
    measured[4] = replace(measured[4], verdict=NO_DIFFERENCE)
    assert sentences(measured)[0].endswith(" b may be faster in example_2.")


def test_what_may_be_as_fast_and_what_is_are_said_with_their_bounds() -> None:
    (said,) = sentences(rows({"a": [1.0, 1.0, 1.0], "b": [1.01, 1.0, 1.02], "c": [1.2, 1.3, 1.0]}))
    assert said.startswith(
        "Take a: over these 3 examples it takes the least time (geometric means, 95 % intervals); b is as fast (1.01 "
        "times, 0."
    )
    (said,) = sentences(rows({"a": [1.0, 1.0], "b": [1.1, 1.0]}))
    assert "95 % intervals); b may be as fast (1.05 times, 0.9" in said
    assert "takes" not in said.partition(";")[2]


def test_times_without_an_interval_name_no_backend() -> None:
    some = [
        summary(name, f"example_{place}", relative_to_fastest=ratio, relative_interval=None, verdict=verdict)
        for place in range(2)
        for name, ratio, verdict in (("a", 1.0, FASTEST), ("b", 2.0, SLOWER))
    ]
    assert sentences(some) == ["There is no winner: over these 2 examples times vary too much."]


def test_a_performance_profile_counts_the_examples_within_a_factor_of_the_fastest() -> None:
    (found,) = profiles(rows({"a": [1.0, 1.0, 3.0, 1.0], "b": [2.0, 4.0, 1.0, 0.0]}))
    assert (found.device, found.examples, found.largest) == ("cpu", 4, 4.0)
    assert [found.share("a", factor) for factor in (1.0, 2.9, 3.0, 100.0)] == [0.75, 0.75, 1.0, 1.0]
    assert [found.share("b", factor) for factor in (0.9, 1.0, 2.0, 4.0)] == [0.0, 0.25, 0.5, 0.75]
    assert found.share("b", math.inf) == 0.75, "it has no time in one example"
    assert found.steps("b") == [(1.0, 0.25), (2.0, 0.5), (4.0, 0.75)]
    assert found.steps("a") == [(1.0, 0.75), (3.0, 1.0), (4.0, 1.0)]


def test_fewer_than_three_examples_and_a_single_backend_have_no_profile() -> None:
    assert profiles(rows({"a": [1.0, 1.0], "b": [2.0, 2.0]})) == profiles(rows({"a": [1.0, 1.0, 1.0]})) == []
    devices = [*rows({"a": [1.0] * 3, "b": [2.0] * 3}), *rows({"a": [1.0] * 3, "b": [2.0] * 3}, device="gpu:0")]
    assert [one.device for one in profiles(devices)] == ["cpu", "gpu:0"]


def drawn(random: np.random.Generator, examples: int, backends: int) -> tuple[list[Summary], dict[str, float]]:
    """The rows of a run whose processes spread as they were measured to, one a row, compared as in racing; and the
    logarithm of each backend's true geometric mean.
    """
    prior = spreads.shipped()["", ""]
    sure = levels.level([0.0], [0.0], prior)
    truth = random.normal(0.0, 1.0, (examples, backends))
    off = random.choice(levels.SPREADS, truth.shape, p=prior / prior.sum())
    shown = truth + off * random.standard_t(levels.FREEDOM, truth.shape)
    found: list[Summary] = []
    for number, of_example in enumerate(shown):
        timed = [
            Timed(
                summary(
                    f"backend_{place}", f"example_{number}", epoch_seconds=math.exp(log), relative_to_fastest=None
                ),
                RowTime(
                    math.exp(log), frozenset({(1, 0)}), dataclasses.replace(sure, logs=sure.logs + log), 0.0, 0.0, {}
                ),
            )
            for place, log in enumerate(of_example)
        ]
        found += ranked(timed, confidence=intervals.INTERIM_CONFIDENCE)
    return found, {f"backend_{place}": float(log) for place, log in enumerate(truth.mean(axis=0))}


@pytest.mark.parametrize(("examples", "backends"), [pytest.param(2, 2, marks=pytest.mark.thorough), (2, 4)])
def test_19_of_20_intervals_hold_the_true_ratio(examples: int, backends: int) -> None:
    random, held = np.random.default_rng(20261130), []
    while len(held) < 500:
        measured, truth = drawn(random, examples, backends)
        # So that each interval has the confidence of one alone.
        (found,) = overall(measured, 1 - (1 - intervals.CONFIDENCE) * math.comb(backends, 2))
        held += [
            ends.low <= math.exp(truth[name] - truth[found.fastest]) <= ends.high for name, _, ends in found.others
        ]
    assert 0.93 <= np.mean(held) <= 0.97


def test_its_intervals_do_not_depend_on_how_sure_those_of_rows_are_asked_to_be() -> None:
    cells = [
        measured(cell(f"example_{number}", backend), 9.0, pace, 1.01 * pace, 1.02 * pace, pace)
        for number in range(2)
        for backend, pace in (("keras3/jax", 1.0), ("keras3/torch", 1.3), ("keras2/cntk", 1.1 + number))
    ]
    usual, wider = (summarise(cells, confidence=confidence) for confidence in (0.95, 0.999))
    assert usual[1].relative_interval != wider[1].relative_interval and overall(usual) == overall(wider)


def test_how_sure_the_time_of_a_third_backend_is_does_not_matter_to_two_others() -> None:
    sure = rows({"a": [1.5, 1.5], "b": [2.0, 2.0], "c": [1.0, 9.0]})
    quantiles = tuple(map(NormalDist(0.0, 0.5).inv_cdf, levels.PARTS.tolist()))
    unsure = [
        dataclasses.replace(
            one, ratios={TO_FASTEST: dataclasses.replace(one.ratios[TO_FASTEST], quantiles=quantiles)}
        )
        if one.backend == "c"
        else one
        for one in sure
    ]
    before, after = ({name: ends for name, _, ends in overall(some)[0].others} for some in (sure, unsure))
    assert after["b"] == before["b"] and after["c"].low < 0.7 * before["c"].low
