"""What steps show: one interruption or much noise is no change, and epochs that go on changing are told of."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from fake_runs import cell, measured
from hypothesis import given
from hypothesis import strategies as st

from kbench.analysis.summaries import summarise
from kbench.analysis.times import step_times
from kbench.records.epochs import Epoch
from kbench.summary import Summary
from kbench.words.sentences import sentence

NOISE = [1.0, 1.4, 0.7, 1.1, 0.8, 1.3, 0.9, 1.2, 0.75, 1.25]


def epochs(*paces: float, steps_of_each: int = 4) -> list[Epoch]:
    """Steady epochs whose steps take so long, but for one that is interrupted."""
    return [
        Epoch(number, pace * (steps_of_each + 9), 64, step_seconds=(*[pace] * steps_of_each, 10 * pace))
        for number, pace in enumerate(paces, 2)
    ]


def row(*paces: float, **changes: object) -> Summary:
    one = measured(cell(epochs=len(paces) + 1), 50.0, *paces, **changes)  # type: ignore[arg-type]
    return summarise([one])[0]


def test_a_step_is_timed_by_the_median_and_95_percent_of_all_steady_ones() -> None:
    told = [(2, (0.1, 0.2, 0.3)), (3, (0.4, 0.5))]
    some = step_times.steps_of([Epoch(number, sum(seconds), 6, step_seconds=seconds) for number, seconds in told])
    assert step_times.median_of(some) == 0.3
    assert step_times.p95_seconds(some) == pytest.approx(0.48)
    untimed = step_times.steps_of([Epoch(2, 1.0, 6)])
    assert step_times.median_of([]) is step_times.p95_seconds(untimed) is None


def said(repeats: Sequence[Sequence[Epoch]], asked: int) -> str:
    found = step_times.still_changing(repeats, asked)
    return "" if found is None else sentence(found)


@pytest.mark.parametrize(
    ("paces", "words"),
    [
        ([2.0, 1.9, 1.8, 1.7, 1.6, 1.4, 1.3, 1.2, 1.1, 1.0], "1.50 times faster"),
        ([1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5], "1.50 times slower"),
    ],
)
def test_epochs_that_go_on_changing_are_told_of_with_what_to_do(paces: list[float], words: str) -> None:
    told = said([epochs(*paces)], 11)
    assert words in told and "--epochs 22" in told
    assert words in said([[Epoch(2, pace, 64) for pace in paces]], 11), "without steps, by the epochs"


@pytest.mark.parametrize(
    "paces",
    [
        [],
        [2.0],
        [2.0, 1.0],
        [3.0, 2.0, 1.0],
        [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0],  # four in each half may fall so by chance
        [1.09, 1.09, 1.09, 1.09, 1.09, 1.0, 1.0, 1.0, 1.0, 1.0],
        [3.0, 3.0, *[1.0] * 8],  # over soon enough for the median
        NOISE,
        [1.0] * 9 + [50.0],
        [0.0] * 10,
    ],
)
def test_few_epochs_small_changes_and_noise_are_not_spoken_of(paces: list[float]) -> None:
    assert said([epochs(*paces)], len(paces) + 1) == ""


def test_repeats_count_together_so_that_few_epochs_of_each_are_enough() -> None:
    assert said([epochs(1.5, 1.0)] * 4, 3) == ""
    assert "1.50 times faster" in said([epochs(1.5, 1.0)] * 5, 3)


def test_the_latency_of_single_samples_is_of_inference_with_a_batch_of_one_alone() -> None:
    steps = tuple(number / 1000 for number in range(1, 101))
    done = [Epoch(1, 90.0, 100, step_seconds=(0.9,) * 100), Epoch(2, sum(steps), 100, step_seconds=steps)]

    def found(task: str, batch_size: int) -> list[float | None]:
        one = measured(cell(epochs=2, batch_size=batch_size), facts={"task": task})
        (row,) = summarise([dataclasses.replace(one, epochs=tuple(done))])
        return [row.latency_p50_seconds, row.latency_p95_seconds, row.latency_p99_seconds]

    assert found("infer", 1) == pytest.approx([0.0505, 0.09505, 0.09901])
    assert found("infer", 2) == found("train", 1) == [None] * 3


@given(st.lists(st.lists(st.floats(0, 1e6), max_size=12), max_size=4))
def test_no_times_raise(paces: list[list[float]]) -> None:
    step_times.still_changing([[Epoch(2, pace, 1) for pace in one] for one in paces], 3)


def test_the_row_says_so_and_keeps_its_figures() -> None:
    changing = row(*[1.5] * 5, *[1.0] * 5)
    (note,) = changing.notes
    assert note.startswith("not steady: its steps became 1.50 times faster") and changing.epoch_seconds == 1.25
    assert row(*[1.0] * 10).notes == ()
    assert row(*[1.5] * 5, *[1.0] * 5, status="failed").notes == ()
    busy = measured(cell(epochs=11), 50.0, *[1.5] * 5, *[1.0] * 5)
    busy = dataclasses.replace(busy, outcome=dataclasses.replace(busy.outcome, others=0.9))
    assert summarise([busy])[0].notes == (), "then the machine changes"


def test_compilation_is_the_first_step_beyond_a_steady_one_of_the_same_repeat() -> None:
    def repeat(number: int, first: float, usual: float) -> object:
        each = [(50.0,), (usual, usual, 9.0)]
        return measured(cell(repeat=number), 50.0, 3.0, phases={"first_step": first}, step_seconds=each)

    def compiled(*repeats: object) -> float | None:
        return summarise(list(repeats))[0].compile_seconds  # type: ignore[arg-type]

    assert compiled(repeat(1, 5.0, 1.0), repeat(2, 9.0, 2.0), repeat(3, 6.0, 1.0)) == 5.0
    assert compiled(repeat(1, 1.0, 1.5)) == 0.0
    assert compiled(measured(cell(), 50.0, 3.0, phases={"first_step": 2.0})) is None
    assert compiled(measured(cell(), 50.0, 3.0, step_seconds=[(50.0,), (3.0,)])) is None
