"""How bisect compares two versions by loss, memory or outputs, and which between them are as bad as the bad one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fake_runs import replace, summary

from kbench.analysis.times.ratios import verdict
from kbench.features.bisect import bisection, by_outputs
from kbench.features.bisect.command import VersionProbe, compared, is_as_bad
from kbench.features.script.lines.finding_kinds import OTHER_CALL
from kbench.records.findings import Finding
from kbench.records.values import Interval

GOOD: dict[str, Any] = {"final_loss": 0.5, "peak_memory_mib": 400.0}


def probe(by: str, **changes: Any) -> VersionProbe:
    return compared(summary(**{**GOOD, **changes}), summary(**GOOD), by, "2", "run")


@pytest.mark.parametrize(
    ("by", "changes", "ratio", "differs"),
    [
        ("memory", {}, 1.0, False),
        ("memory", {"peak_memory_mib": 416.0}, 1.04, False),
        ("memory", {"peak_memory_mib": 440.0}, 1.1, True),
        ("memory", {"peak_memory_mib": 300.0}, 0.75, False),  # less is not worse
        ("loss", {"final_loss": 0.504}, 1.008, False),
        ("loss", {"final_loss": 0.51}, 1.02, True),
        ("loss", {"final_loss": 0.4}, 0.8, True),
        ("loss", {"final_loss": 0.0}, 0.0, True),
        ("loss", {"final_loss": math.nan}, math.nan, True),
    ],
)
def test_a_version_differs_by_its_own_measure(by: str, changes: dict[str, Any], ratio: float, differs: bool) -> None:
    found = probe(by, **changes)
    assert found.ratio == pytest.approx(ratio, nan_ok=True) and found.differs == differs and not found.failed


@pytest.mark.parametrize(("by", "name"), [("memory", "peak_memory_mib"), ("loss", "final_loss")])
def test_what_was_not_measured_is_passed_over_and_not_called_bad(by: str, name: str) -> None:
    found = probe(by, **{name: None})
    assert not found.differs and found.failed == f"its {by} is not known; see run"
    assert found.row()[1] == "failed"


@pytest.mark.parametrize(
    ("by", "name", "values", "first"),
    [
        ("memory", "peak_memory_mib", [400] * 9 + [550] * 7, 9),
        ("memory", "peak_memory_mib", [400] * 5 + [424] * 6 + [800] * 5, 11),  # a smaller step before
        ("memory", "peak_memory_mib", [400] * 6 + [None] * 2 + [700] * 8, 8),
        ("loss", "final_loss", [0.5] * 3 + [math.nan] * 13, 3),
        ("loss", "final_loss", [0.5] * 13 + [0.3] * 3, 13),
    ],
)
def test_the_first_bad_version_is_found(by: str, name: str, values: list[float | None], first: int) -> None:
    bad = probe(by, **{name: values[-1]})
    assert bad.differs

    def is_bad(place: int) -> bool | None:
        found = probe(by, **{name: values[place]})
        return is_as_bad(found, bad.ratio)

    low, high = bisection.narrowed(0, len(values) - 1, is_bad)
    assert high == first and all(values[place] is None for place in range(low + 1, high))


def test_a_good_loss_that_is_no_number_is_compared_too() -> None:
    none = summary(**{**GOOD, "final_loss": math.nan})
    assert compared(none, none, "loss", "2", "run").ratio == 1
    assert compared(summary(**GOOD), none, "loss", "2", "run").differs


def timed(ratio: float | None, interval: tuple[float, float] | None) -> VersionProbe:
    ends = None if interval is None else Interval(*interval)
    row = summary(relative_to_baseline=ratio, baseline_interval=ends, baseline="good", verdict=verdict(ends))
    return compared(row, summary(), "time", "2", "run")


@pytest.mark.parametrize(
    ("ratio", "interval", "bad", "worse"),
    [
        (40.0, (30.0, 50.0), 93.0, True),
        (5.0, (4.0, 6.0), 93.0, False),  # a smaller step before
        (1.0, (0.9, 1.1), 93.0, False),
        (1.02, (0.98, 1.05), 1.1, False),
        (1.05, (0.9, 1.2), 1.1, None),  # may be as good as the one or as bad as the other
    ],
)
def test_a_time_is_as_bad_if_its_interval_leaves_no_room_for_the_good_one(
    ratio: float, interval: tuple[float, float], bad: float, worse: bool | None
) -> None:
    found = timed(ratio, interval)
    assert not found.failed and is_as_bad(found, bad) is worse


def test_a_time_that_is_far_off_is_bad_without_an_interval() -> None:
    assert is_as_bad(timed(51.4, None), 93.0) and not is_as_bad(timed(5.0, None), 93.0)


@pytest.mark.parametrize(("ratio", "interval"), [(2.5, None), (None, None), (5.0, (0.3, 60.0))])
def test_times_that_could_not_be_compared_are_neither_good_nor_bad(
    ratio: float | None, interval: tuple[float, float] | None
) -> None:
    found = timed(ratio, interval)
    assert found.again and found.failed and found.row()[1] == "unsure"
    assert is_as_bad(found, 10.0) is None


def test_a_time_that_could_not_be_compared_is_good_beside_a_far_worse_one() -> None:
    assert is_as_bad(timed(1.1, None), 93.0) is False


def test_a_release_that_does_other_work_is_not_called_disturbed() -> None:
    loss = Finding(kind="epoch", aspect="loss", reference="a/x", own=1.1, other=0.814, about={"epoch": 2})
    row = summary(**GOOD, findings=(loss,))
    found = compared(row, summary(**GOOD), "time", "2", "run")
    assert found.failed.startswith("it does other work (unlike a/x in the loss of epoch 2: ") and not found.again


def returned(how: Finding | None, on_the_good_one: bool = False) -> by_outputs.OutputDifference | None:
    line = summary("train.py: predict, line 3")
    pair = replace(line, findings=() if how is None else (how,)), line
    return by_outputs.largest([pair[::-1] if on_the_good_one else pair], ())


def call(aspect: str, own: Any = None, other: Any = None, does: str = "same weights") -> Finding:
    about = {"does": does, "backend": "a/x", "score": "loss", "relative": True, "allowed": 1e-4}
    return Finding(kind=OTHER_CALL, aspect=aspect, own=own, other=other, about=about)


@pytest.mark.parametrize(
    ("how", "ratio", "words"),
    [
        (call("numbers", 0.25), 2500.0, "outputs off by up to 0.25 of the largest number (0.0001 is allowed)"),
        (call("scores", 2.0, 4.0), 5000.0, "loss 2 instead of 4"),
        (call("not numbers"), math.inf, "outputs not numbers"),
        (call("shapes", [[3]], [[4]]), math.inf, "outputs of shape (n, 3) instead of (n, 4)"),
    ],
)
def test_a_version_returns_something_else_by_what_is_allowed(how: Finding, ratio: float, words: str) -> None:
    found = returned(how)
    assert found and found.ratio == pytest.approx(ratio) and found.how == words


def test_what_is_said_of_the_good_version_is_turned_round() -> None:
    found = returned(call("scores", 2.0, 4.0), on_the_good_one=True)
    assert found and found.how == "loss 4 instead of 2"


def test_lines_that_were_given_other_inputs_or_weights_say_nothing() -> None:
    assert returned(call("inputs", 0.5, does="other inputs")) is None and returned(None) is None


def test_a_smaller_change_of_outputs_before_is_not_the_one_that_is_looked_for() -> None:
    offs = [0.0, 2e-4, 2e-4, 0.5, 0.5]
    probes = [VersionProbe("2", max(1.0, off / 1e-4), None, off > 1e-4, "run") for off in offs]
    assert [is_as_bad(one, probes[-1].ratio) for one in probes] == [False, False, False, True, True]
