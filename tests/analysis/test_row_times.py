"""The times of a run's rows: of whole processes, which run epochs, and of short ones, which only time some steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from fake_runs import known, replace
from timed_processes import SHORT, WHOLE, X, Y, rows, short, whole

from kbench.analysis import summaries
from kbench.analysis.times import rounds, row_times, spreads
from kbench.records import axes
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import FAILED, INTERRUPTED, OK, TIMEOUT, Measured, Outcome


def test_the_first_turn_of_a_short_process_does_not_count() -> None:
    found = rounds.of_process(short("x", 0.1))
    assert sorted(found.steps) == [2, 3, 4, 5, 6] and found.epochs == ()
    assert found.steps == rounds.of_process(short("x", 0.1, first=1.0)).steps


def test_a_first_turn_that_was_disturbed_and_taken_again_does_not_count_either() -> None:
    one = short("x", 0.1, disturbed_rounds=(1,))
    again = Epoch(2, 1.0, 20, step_seconds=(7.0,) * 3, rounds=(Turn(1, 0, 3, 1),))
    assert sorted(rounds.of_process(replace(one, epochs=(*one.epochs, again))).steps) == [2, 3, 4, 5, 6]


def test_disturbed_turns_of_a_short_process_do_not_count() -> None:
    assert sorted(rounds.of_process(short("x", 0.1, disturbed_rounds=(3, 6))).steps) == [2, 4, 5]


def test_short_processes_take_the_length_of_an_epoch_from_the_whole_ones_of_their_row() -> None:
    measured = [whole(*X), whole(*X, repeat=3), whole("y", 0.1, extra=1.0), whole("y", 0.1, 3, extra=1.0)]
    further = [short("x", 0.1), short("y", 0.1)]
    ok = {row: [one for one in measured if one.cell.key == row] for row in (one.cell.key for one in measured)}
    table = row_times.processes_of(ok, {one.cell.key: [one] for one in further})
    seconds = {str(row[axes.BACKEND]): its[2, 1].seconds for row, its in table.items()}
    assert seconds == {"x": pytest.approx(2.0, rel=0.01), "y": pytest.approx(3.0, rel=0.01)}
    assert {frozenset(its) for its in table.values()} == {frozenset({(1, 0), (2, 1), (3, 0)})}


def test_short_processes_narrow_the_interval_as_whole_ones_do() -> None:
    def width(measured: Sequence[Measured], further: Sequence[Measured]) -> float:
        interval = rows(measured, further)["y"].relative_interval
        assert interval is not None and interval.low < 1.2 < interval.high
        return math.log(interval.high / interval.low)

    alone, beside = width(WHOLE, ()), width(WHOLE, SHORT)
    all_whole = width([*WHOLE, *(whole(*one, repeat=n) for one in (X, Y) for n in (2, 3))], ())
    assert beside < 0.6 * alone and beside == pytest.approx(all_whole, rel=0.3)


def test_a_row_tells_how_many_short_processes_it_has() -> None:
    row = rows(WHOLE, SHORT)["y"]
    assert (row.repeats, row.short_processes, row.resampled_values, row.relative_processes) == (1, 2, 3, 3)


def test_a_short_process_without_a_whole_one_counts_for_nothing() -> None:
    failed = replace(whole(*Y), outcome=Outcome(FAILED, "boom"))
    row = rows([whole(*X), failed], SHORT)["y"]
    assert (row.status, row.epoch_seconds, row.relative_to_fastest) == (FAILED, None, None)


def test_a_short_process_that_did_not_end_well_gives_a_note_and_no_other_status() -> None:
    failed = short(*Y, timing=3, status=TIMEOUT, reason="after 60 s")
    row, without = (rows(WHOLE, there)["y"] for there in ([*SHORT, failed], SHORT))
    assert (row.status, row.reason, row.repeats, row.short_processes) == (OK, "", 1, 2)
    assert row.notes == (f"1 of its 3 further processes {TIMEOUT}: after 60 s",) and without.notes == ()
    assert (row.epoch_seconds, row.relative_interval) == (without.epoch_seconds, without.relative_interval)


def test_a_short_process_that_was_interrupted_is_no_failure() -> None:
    assert rows(WHOLE, [*SHORT, short(*Y, timing=3, status=INTERRUPTED)])["y"].notes == ()


def test_a_process_that_is_far_off_is_named_in_a_note() -> None:
    third = [("x", 0.1), ("y", 0.12), ("z", 0.2)]
    further = [short(*one, timing=n, repeat=repeat) for one in third for repeat in (2, 3) for n in (1, 2)]
    place = next(n for n, one in enumerate(further) if (one.cell.backend, one.cell.place) == ("y", (3, 2)))
    further[place] = short("y", 0.12 * 1.5, timing=2, repeat=3)
    found = rows([whole(*one) for one in third], further)
    (note,) = found["y"].notes
    assert note.startswith("process 3.2 took 1.") and note.endswith(" times as long as the others, and hardly counts")
    assert found["x"].notes == found["z"].notes == ()
    assert found["y"].relative_to_fastest == pytest.approx(1.2, rel=0.02)


@pytest.mark.parametrize("further", [[], SHORT])
def test_the_quotient_of_the_times_that_are_shown_is_the_ratio(further: list[Measured]) -> None:
    def spoilt(one: Measured) -> Measured:
        """With turns that other programs disturbed, and made three times as long."""
        epochs = [
            replace_epoch(epoch, 3.0) if {turn.round for turn in epoch.rounds} & {3, 4} else epoch
            for epoch in one.epochs
        ]
        return replace(one, outcome=replace(one.outcome, disturbed_rounds=(3, 4)), epochs=tuple(epochs))

    plain, disturbed = rows(WHOLE, further), rows([WHOLE[0], spoilt(WHOLE[1])], further)
    for found in (plain, disturbed):
        x, y = found["x"], found["y"]
        assert x.epoch_seconds and y.epoch_seconds and x.samples_per_second and y.samples_per_second
        assert y.epoch_seconds / x.epoch_seconds == pytest.approx(y.relative_to_fastest, rel=1e-9)
        assert x.samples_per_second / y.samples_per_second == pytest.approx(y.relative_to_fastest, rel=1e-4)
        assert y.relative_to_fastest == pytest.approx(1.2, rel=0.01)
        for row in (x, y):
            assert row.seconds_per_1000_samples == pytest.approx(1000 / row.samples_per_second, rel=1e-4)
            assert row.epoch_interval is not None
            assert row.epoch_interval.low < row.epoch_seconds < row.epoch_interval.high
    assert disturbed["y"].epoch_seconds == pytest.approx(plain["y"].epoch_seconds, rel=0.01)
    assert (disturbed["y"].disturbed_turns, plain["y"].disturbed_turns) == (2, 0)


def replace_epoch(epoch: Epoch, factor: float) -> Epoch:
    steps = tuple(factor * one for one in epoch.step_seconds)
    return Epoch(epoch.epoch, factor * epoch.seconds, epoch.samples, step_seconds=steps, rounds=epoch.rounds)


def test_what_a_run_shows_of_spreads_is_what_its_rows_processes_differ_by() -> None:
    unsteady = [short("y", 0.12 * factor, timing=n) for n, factor in ((1, 1.0), (2, 1.2))]
    measured = [replace(one, facts=known(form="unrolled")) if one.cell.backend == "y" else one for one in WHOLE]
    found = {row.backend: row for row in row_times.observed(measured, [*SHORT[:2], *unsteady], "a run", 2)}
    assert {(row.kind, row.source, row.example, len(row.logs), len(row.errors)) for row in found.values()} == {
        (spreads.OTHER, "a run", "a", 3, 3),
        (spreads.RECURRENT, "a run", "a", 3, 3),
    }
    assert max(found["y"].logs) - min(found["y"].logs) > 2 * (max(found["x"].logs) - min(found["x"].logs))
    assert row_times.observed(WHOLE, [], "a run", 2) == []
    vague = [short("y", 0.12, timing=n, swing=0.8) for n in (1, 2)]
    told = row_times.observed(measured, [*SHORT[:2], *vague], "a run", 2)
    assert told == [], "turns that do not tell processes' times tell no spread"


def test_rows_that_are_known_to_spread_more_have_wider_intervals() -> None:
    random = [spreads.Processes("y", spreads.OTHER, (-0.3, 0.0, 0.3), (0.0,) * 3)] * 20
    priors = spreads.fit([*random, *[spreads.Processes("x", spreads.OTHER, (-0.01, 0.0, 0.01), (0.0,) * 3)] * 20])
    x, y = (row.epoch_interval for row in summaries.summarise(WHOLE, priors=priors))
    assert x is not None and y is not None
    assert math.log(y.high / y.low) > 2 * math.log(x.high / x.low)


@pytest.mark.parametrize("factor", [1.7, 0.62])
def test_a_row_whose_short_processes_have_another_speed_says_so_and_does_not_mix_them(factor: float) -> None:
    short_ones = [short("x", 0.1), short("x", 0.1, 2), *(short("y", 0.12 * factor, number) for number in (1, 2))]
    found = rows(WHOLE, short_ones)
    row, its_seconds = found["y"], 0.12 * factor * 20
    assert row.epoch_seconds == pytest.approx(its_seconds, rel=0.01) and row.resampled_values == 2
    assert row.epoch_interval and row.epoch_interval.high / row.epoch_interval.low < 1.5
    assert row.notes == (
        f"its two kinds of process differ: the whole one took 2.40 s an epoch, its 2 short ones {its_seconds:.2f} s; "
        "only the short ones count",
    )
    assert found["x"].notes == ()


def test_processes_that_differ_as_much_as_those_of_one_kind_are_one_kind() -> None:
    alike = [short("x", 0.1), short("x", 0.1, 2), short("y", 0.11, 1), short("y", 0.13, 2)]
    machine = [short("x", 0.17), short("x", 0.17, 2), *(short("y", 0.204, number) for number in (1, 2))]
    for further in (alike, machine):  # the machine as a whole was slower then
        row = rows(WHOLE, further)["y"]
        assert row.notes == () and row.relative_processes == 3


def test_a_whole_process_of_another_kind_tells_no_spread() -> None:
    whole_ones = [whole("x", 0.10), whole("y", 0.24)]
    short_ones = [short(name, pace, timing=n) for name, pace in (("x", 0.10), ("y", 0.12)) for n in (1, 2, 3)]
    found = {row.backend: len(row.logs) for row in row_times.observed(whole_ones, short_ones, "a run", 2)}
    assert found == {"x": 4, "y": 3}
