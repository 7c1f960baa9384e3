"""Times compared within a round: what happens to the machine happens to all, and is no difference between them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from fake_runs import cell

from kbench.analysis import summaries
from kbench.analysis.times import rounds
from kbench.analysis.times.shown_ratios import sure_ratio, words
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import AS_FAST, FASTEST, NO_DIFFERENCE, NOT_COMPARED, OK, SLOWER, Measured, Outcome
from kbench.summary import Summary

STEPS = 10  # of a turn; an epoch has two turns


def in_turns(
    backend: str, pace: float, machine: Callable[[int], float], turns: int = 24, repeat: int = 1, **outcome: object
) -> Measured:
    """A cell whose steps take `pace` seconds, times what the machine does in each round (1, 2, ...)."""
    noise = random.Random(f"{backend} {repeat}")
    epochs = [Epoch(1, 99.0, 20)]
    for number in range(1, turns, 2):
        steps = [pace * machine(place) * noise.gauss(1, 0.01) for place in (number, number + 1) for _ in range(STEPS)]
        counted = (Turn(number, 1, STEPS), Turn(number + 1, STEPS + 1, 2 * STEPS))
        epochs.append(Epoch(len(epochs) + 1, sum(steps), 20, step_seconds=tuple(steps), rounds=counted))
    made = replace(cell("a", backend), repeat=repeat, epochs=len(epochs))
    return Measured(made, Outcome(OK, **outcome), tuple(epochs))  # type: ignore[arg-type]


def steady(number: int) -> float:
    return 1.0


def slower_by_half_later(number: int) -> float:
    return 1.0 if number <= 6 else 1.5


def bursts(number: int) -> float:
    return 5.0 if number % 8 == 3 else 1.0


def rows(*measured: Measured) -> dict[str, Summary]:
    return {row.backend: row for row in summaries.summarise(measured)}


@pytest.mark.parametrize("machine", [steady, slower_by_half_later, bursts])
def test_what_the_machine_does_to_all_is_no_difference(machine: Callable[[int], float]) -> None:
    found = rows(
        *(
            one
            for name, pace in (("x", 0.1), ("y", 0.1), ("z", 0.12))
            for one in (in_turns(name, pace, machine, repeat=number) for number in range(1, 6))
        )
    )
    assert found["z"].verdict == SLOWER and found["z"].relative_to_fastest == pytest.approx(1.2, rel=0.02)
    assert {found[name].verdict for name in "xy"} == {FASTEST, AS_FAST}


@pytest.mark.parametrize("machine", [steady, slower_by_half_later, bursts])
def test_what_one_process_showed_is_free_of_what_the_machine_does_to_all(machine: Callable[[int], float]) -> None:
    row = rows(in_turns("x", 0.1, machine), in_turns("y", 0.12, machine))["y"]
    assert row.process_interval is not None and row.relative_interval is not None
    assert row.relative_interval.low < 1.1 < 1.3 < row.relative_interval.high, (
        "another process may show something else"
    )
    assert 1.17 < row.process_interval.low < 1.2 < row.process_interval.high < 1.23


def test_a_backend_that_ended_before_the_machine_became_slower_is_compared_in_the_rounds_they_share() -> None:
    found = rows(
        in_turns("x", 0.1, slower_by_half_later, turns=8), in_turns("y", 0.1, slower_by_half_later, turns=60)
    )
    assert {row.verdict for row in found.values()} == {FASTEST, NO_DIFFERENCE}
    assert all(row.relative_to_fastest == pytest.approx(1, abs=0.02) for row in found.values())
    assert all(row.epoch_seconds == pytest.approx(2.0, rel=0.02) for row in found.values()), "it took 3 s alone"


def test_rows_stand_in_the_order_in_which_they_are_compared() -> None:
    early, late = (
        in_turns("x", 0.11, slower_by_half_later, turns=8),
        in_turns("y", 0.1, slower_by_half_later, turns=60),
    )
    first, second = summaries.summarise([early, late])
    assert (first.backend, first.verdict, second.relative_to_fastest) == ("y", FASTEST, pytest.approx(1.1, rel=0.02))
    assert (first.epoch_seconds or 0) < (second.epoch_seconds or 0)


def test_rounds_with_other_programs_in_them_are_left_out() -> None:
    def spins(number: int) -> float:
        return 9.0 if number > 10 else 1.0

    disturbed = tuple(range(11, 25))
    found = rows(in_turns("x", 0.1, steady), in_turns("y", 0.12, spins, disturbed_rounds=disturbed))
    assert found["y"].relative_to_fastest == pytest.approx(1.2, rel=0.02)


@pytest.mark.parametrize(("left_out", "verdict"), [(9, SLOWER), (17, NOT_COMPARED)])
def test_rows_whose_turns_were_mostly_disturbed_are_not_compared(left_out: int, verdict: str) -> None:
    disturbed = tuple(range(1, 1 + left_out))
    cells = [
        in_turns(name, pace, steady, repeat=number, disturbed_rounds=disturbed)
        for name, pace in (("x", 0.1), ("y", 0.2))
        for number in range(1, 6)
    ]
    found = rows(*cells)
    assert found["y"].verdict == verdict
    assert found["x"].verdict == (FASTEST if verdict == SLOWER else NOT_COMPARED)


def test_a_turn_that_is_taken_again_counts_in_its_round() -> None:
    one = in_turns("x", 0.1, steady, turns=4, disturbed_rounds=(2, 3), disturbed_again=(3,))
    again = Epoch(4, 4.0, 20, step_seconds=(0.2,) * 20, rounds=(Turn(2, 1, 10, 1), Turn(3, 11, 20, 1)))
    steps = rounds.of_process(replace(one, epochs=(*one.epochs, again))).steps
    assert sorted(steps) == [1, 2, 4]
    assert steps[2] == pytest.approx(0.2)


def test_a_process_whose_steps_were_not_seen_is_not_compared_within_rounds() -> None:
    seen = [in_turns(name, 0.1, bursts) for name in "xy"]
    unseen = in_turns("z", 0.1, bursts)
    whole = tuple(Epoch(one.epoch, one.seconds, one.samples) for one in unseen.epochs)
    table = {one.cell.backend: rounds.of_process(one) for one in (*seen, replace(unseen, epochs=whole))}
    assert set(rounds.of_repeat(table)) == {"x", "y"}


def test_of_too_few_rounds_the_epochs_are_compared() -> None:
    one, other = (in_turns(name, pace, steady, rounds.ENOUGH - 1) for name, pace in (("x", 0.1), ("y", 0.2)))
    assert rounds.of_repeat({"x": rounds.of_process(one), "y": rounds.of_process(other)}) == {}
    found = rows(one, other)
    assert found["y"].relative_to_fastest == pytest.approx(2, rel=0.02)


def processes(backend: str, pace: float, *apart: float) -> list[Measured]:
    """A repeat for each of these factors, by which its process is slower."""
    return [in_turns(backend, pace * factor, steady, repeat=place) for place, factor in enumerate(apart, 1)]


def test_where_processes_of_all_rows_lie_far_apart_fewer_verdicts_stand() -> None:
    names = (("x", 0.1), ("y", 0.13), ("z", 0.15))
    steadily = [one for name, pace in names for one in processes(name, pace, 1.0, 1.0, 1.0)]
    unsteadily = [
        one
        for (name, pace), apart in zip(names, ((1.0, 1.3, 0.9), (1.3, 1.0, 0.8), (1.0, 0.8, 1.3)), strict=True)
        for one in processes(name, pace, *apart)
    ]
    assert {row.verdict for row in rows(*steadily).values()} == {FASTEST, SLOWER}
    assert {row.verdict for row in rows(*unsteadily).values()} == {FASTEST, NO_DIFFERENCE}


def test_a_backend_whose_processes_lie_far_apart_has_an_interval_that_says_so() -> None:
    others = [one for name in "abcdef" for one in processes(name, 0.1, 1.0, 1.0, 1.0)]
    found = rows(*others, *processes("y", 0.1, 1.0, 1.4, 1.1), *processes("z", 0.13, 1.0, 1.0, 1.0))
    assert found["y"].verdict == NO_DIFFERENCE and found["z"].verdict == SLOWER
    interval = found["y"].relative_interval
    assert interval is not None and interval.high > 1.5


def test_what_an_epoch_takes_once_counts() -> None:
    def with_beginning(measured: Measured) -> Measured:
        epochs = []
        for epoch in measured.epochs:
            first = (*(epoch.step_seconds[:1] and (epoch.step_seconds[0] + 1.0,)), *epoch.step_seconds[1:])
            epochs.append(Epoch(epoch.epoch, epoch.seconds + 1.0, 20, step_seconds=first, rounds=epoch.rounds))
        return replace(measured, epochs=tuple(epochs))

    found = rows(in_turns("x", 0.1, steady), with_beginning(in_turns("y", 0.1, steady)))
    assert found["y"].relative_to_fastest == pytest.approx(1.5, rel=0.02)


def test_turns_that_are_like_the_one_before_count_for_fewer() -> None:
    def drifting(slowly: bool) -> rounds.TurnTimes:
        noise = random.Random(1)
        paces = [noise.gauss(1, 0.1) for _ in range(20)]
        paces = sorted(paces) if slowly else paces
        return rounds.TurnTimes(dict(enumerate(paces)), (2.0, 2.0))

    steady = rounds.TurnTimes(dict.fromkeys(range(20), 1.0), (2.0, 2.0))
    at_random, slowly = (rounds.of_repeat({"x": steady, "y": drifting(one)})["y"] for one in (False, True))
    assert at_random.error and slowly.error and slowly.error > 2 * at_random.error


def test_rows_that_are_far_apart_are_told_apart_whatever_disturbs_their_turns() -> None:
    disturbed = tuple(range(1, 30))
    found = rows(
        in_turns("x", 0.001, steady, disturbed_rounds=disturbed),
        in_turns("y", 0.4, steady, disturbed_rounds=disturbed),
    )
    assert found["y"].verdict == SLOWER and found["y"].relative_interval is None
    assert (words(found["x"]), words(found["y"])) == ("1.00", "slower")


def test_a_backend_that_other_programs_slow_down_112_fold_is_not_called_slower() -> None:
    """As PyTorch was beside two busy processes on two cores, where it takes 1.8 times as long by itself."""
    disturbed = tuple(range(1, 30))
    found = rows(
        in_turns("x", 0.001, steady, disturbed_rounds=disturbed),
        in_turns("y", 0.112, steady, disturbed_rounds=disturbed),
    )
    assert found["y"].verdict == NOT_COMPARED
    assert (words(found["x"]), words(found["y"]), sure_ratio(found["y"])) == ("?", "?", None)


def test_rows_whose_own_times_reach_to_each_other_are_not_told_apart_from_disturbed_turns() -> None:
    disturbed = tuple(range(1, 30))

    def later(number: int) -> float:
        return 1.0 if number < 12 else 4.0

    found = rows(
        in_turns("x", 0.001, steady, disturbed_rounds=disturbed),
        in_turns("y", 0.004, later, disturbed_rounds=disturbed),
    )
    assert (found["y"].relative_to_fastest or 0.0) > 10 and found["y"].verdict == NOT_COMPARED
