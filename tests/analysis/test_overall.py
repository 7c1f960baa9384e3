"""The answer over all examples, against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import math

import pytest
from fake_runs import summary

from kbench.analysis.times.overall import overall, profiles
from kbench.summary import Summary
from kbench.tables.overall import sentences
from kbench.values import FASTEST, NOT_COMPARED, SLOWER, Interval


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
    assert (found.fastest, found.examples, found.missing, found.faster) == ("a", 3, (), {"b": ()})
    ((name, ratio, ends),) = found.others
    assert (name, ratio) == ("b", pytest.approx(4.0))
    half = 1.959964 * ERROR / math.sqrt(3)  # of the mean of three; for 95 %
    assert (ends.low, ends.high) == pytest.approx((4 * math.exp(-half), 4 * math.exp(half)), rel=1e-6)


def test_of_more_backends_all_pairs_hold_together() -> None:
    (found,) = overall(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 4.0, 8.0], "c": [9.0, 9.0, 9.0]}))
    half = 2.393980 * ERROR / math.sqrt(3)  # for 1 - 0.05 / 3
    assert found.others[0][2].high == pytest.approx(4 * math.exp(half), rel=1e-6)


def test_of_several_batch_sizes_none_counts_more_than_another() -> None:
    small = rows({"a": [1.0, 1.0, 1.0], "b": [8.0, 8.0, 8.0]}, axes={"batch_size": 32})
    large = rows({"a": [2.0, 2.0, 2.0], "b": [1.0, 1.0, 1.0], "c": [3.0, 3.0, 3.0]}, axes={"batch_size": 256})
    (found,) = overall([*small, *large])
    assert (found.fastest, found.examples, found.missing) == ("a", 3, ("c",))
    assert [(name, ratio) for name, ratio, _ in found.others] == [("b", pytest.approx(2.0))]
    (profile,) = profiles([*small, *large])
    assert profile.ratios == {"a": pytest.approx((1.0, 1.0, 1.0)), "b": pytest.approx((2.0, 2.0, 2.0))}


def test_who_is_not_in_every_example_is_named_and_left_out() -> None:
    (found,) = overall(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2], "c": [0.0, 3.0, 3.0]}))
    assert [name for name, _, _ in found.others] == ["b"] and found.missing == ("c",)
    (said,) = sentences(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2], "c": [0.0, 3.0, 3.0]}))
    assert said.startswith(
        "Take a: over these 3 examples it takes the least time (geometric means, 95 % intervals). b takes 2.10 "
        "times as long ("
    )
    assert said.endswith("Without a time in some example: c.")


def test_training_and_inference_of_the_same_examples_have_an_answer_each() -> None:
    """And a fast inference does not count for a backend that trains slowly."""
    trained = rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.1, 2.2]})
    predicted = rows({"b": [1.0, 1.0, 1.0], "a": [3.0, 3.1, 3.2], "c": [4.0, 4.1, 4.2]}, task="infer")
    train, infer = overall([*trained, *predicted])
    assert (train.task, train.fastest, train.missing) == ("train", "a", ())
    assert (infer.task, infer.fastest, infer.missing) == ("infer", "b", ())
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


def test_examples_in_which_another_backend_is_faster_are_named() -> None:
    (said,) = sentences(rows({"a": [1.0, 1.0, 1.5], "b": [2.0, 3.0, 1.0]}))
    assert said.endswith(" b is faster in example_2.")
    many = {"a": [1.0] * 2 + [1.5] * 4, "b": [20.0, 30.0] + [1.0] * 4}
    assert sentences(rows(many))[0].endswith(" b is faster in 4 of them.")


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
    assert sentences(some) == ["No backend can be named: over these 2 examples times vary too much."]


def test_calls_of_a_script_are_no_examples() -> None:
    assert overall(rows({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0]}, unit="epoch")) == []


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
