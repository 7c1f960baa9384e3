"""What calls cost: which of them show it, what compiles, and that a program's rows add up to all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_runs import cell, known
from msgspec import convert, structs

from kbench.analysis.summaries import summarise
from kbench.features.script import events
from kbench.features.script.events import Fit, Site
from kbench.features.script.lines import call_costs
from kbench.features.script.lines.call_sites import by_line
from kbench.features.script.lines.units import CALL, EPOCH, REST, RUN
from kbench.features.script.program_work import ProgramWork
from kbench.records.axes import SITE
from kbench.records.epochs import Epoch, Turn
from kbench.records.reported import Program
from kbench.records.values import OK, SCRIPT, Measured, Outcome
from kbench.summary import Summary

FIT, EVALUATE = "fit, line 9", "evaluate, line 10"
AROUND = 0.25  # seconds of each fit, outside its epochs

Fits = list[list[float]]  # seconds of each epoch of each call; the first of a model begins with `FIRST`
FIRST = 5.0


def program(
    fits: Fits, evaluations: Sequence[tuple[float, int]] = (), backend: str = "a/x", whole: float = 0.0, **fit: Any
) -> Measured:
    """A cell of a script: fits that take AROUND more than their epochs, calls of `evaluate`, a second of all else.

    evaluations: seconds of a call, and whether it is a new model's first. `fit` adds to what is told of each fit.
    """
    epochs, told, number = [], [], 0
    for call in fits:
        first = int(call[:1] == [FIRST])
        for place, seconds in enumerate(call):
            number += 1
            steps = (seconds - 0.3, 0.1, 0.1, 0.1)
            epochs.append(
                Epoch(number, seconds, 64, step_seconds=steps, site=FIT, first=int(first and place == 0), loss=1.0)
            )
        told.append({"site": FIT, "seconds": sum(call) + AROUND, "epochs": len(call), "first": first, **fit})
    for number, (seconds, first) in enumerate(evaluations, 1):
        epochs.append(Epoch(number, seconds, 32, site=EVALUATE, calls=1, first=first))
    total = whole or 1.0 + sum(one["seconds"] for one in told) + sum(seconds for seconds, _ in evaluations)
    tasks = {FIT: "train", EVALUATE: "infer"}
    of = {
        "site": {site: Site(site, task, {"layers": []}) for site, task in tasks.items()},
        "fit": {FIT: convert(told, list[Fit])},
    }
    facts = {"task": SCRIPT, "of": of, "program": {"seconds": total, "keras": 1}}
    return Measured(
        cell("train.py", backend), Outcome(OK, seconds=total + 1), tuple(epochs), {"import": 0.5}, known(**facts)
    )


def with_fits(one: Measured, told: Sequence[Fit]) -> Measured:
    return replace(one, facts=structs.replace(one.facts, of={**one.facts.of, "fit": {FIT: told}}))


def rows(*cells: Measured) -> dict[tuple[str, str], Summary]:
    found = summarise(by_line(cells))
    return {(row.example.removeprefix("train.py: "), row.backend): row for row in found}


def test_a_line_that_fits_once_or_twice_is_timed_by_its_epochs_and_costs_all_of_its_calls() -> None:
    row = rows(program([[FIRST, 1.0, 1.0], [1.0, 1.0, 1.0]]))[FIT, "a/x"]
    assert (row.unit, row.epochs, row.calls, row.epoch_seconds, row.first_epoch_seconds) == (EPOCH, 6, 2, 1.0, FIRST)
    assert row.total_seconds == pytest.approx(10 + 2 * AROUND)


def test_a_line_that_fits_often_is_timed_by_its_calls_with_all_around_them() -> None:
    row = rows(program([[FIRST], *[[1.0]] * 9]))[FIT, "a/x"]
    assert (row.unit, row.epochs, row.calls, row.first_calls) == (CALL, 10, 10, 1)
    assert (row.epoch_seconds, row.first_epoch_seconds, row.around_seconds) == (1.25, 5.25, AROUND)
    assert (row.steady_epoch_seconds, row.steps, row.step_seconds_median) == (1.0, 0, None)


@pytest.mark.parametrize("calls", [1, 4])
def test_what_validation_and_callbacks_take_of_fits_is_all_that_was_measured_of_both(calls: int) -> None:
    one = program([[FIRST, 1.0]] * calls)
    validated = [2.0, 0.1] * calls  # it compiles in the first epoch of each
    parts = [
        structs.replace(epoch, evaluation_seconds=seconds, callback_seconds=0.2)
        for epoch, seconds in zip(one.epochs, validated, strict=True)
    ]
    told = [structs.replace(fit, seconds=8.6) for fit in events.fits(one.facts, FIT)]
    (found,) = [row for row in by_line([with_fits(replace(one, epochs=tuple(parts)), told)]) if row.cell.site == FIT]
    in_fits = events.of_line(found.facts).in_fits
    assert (in_fits.seconds, in_fits.validation, in_fits.callbacks) == pytest.approx(
        (8.6 * calls, 2.1 * calls, 0.4 * calls)
    )


def test_of_a_fit_that_has_not_returned_its_epochs_validation_and_callbacks_count() -> None:
    one = Epoch(1, 3.0, 64, evaluation_seconds=1.0, callback_seconds=0.5, callback_seconds_within=0.25)
    found = call_costs.in_fits([], [one])
    assert (found.seconds, found.validation, found.callbacks) == (4.25, 1.0, 0.5)


def test_a_line_that_takes_little_of_the_time_has_a_row_where_it_is_asked_for() -> None:
    one = program([[FIRST, 1.0]], [(0.01, 1), (0.001, 0)], whole=20.0)
    lines = [{part.cell.site for part in by_line([one], asked=asked)} for asked in ((), (10,))]
    assert EVALUATE not in lines[0] and EVALUATE in lines[1]
    assert EVALUATE in {
        part.cell.site for part in ProgramWork().row_cells([one], {"script": {"compare_lines": [10]}})
    }


def test_it_is_so_for_all_backends_if_it_is_for_one() -> None:
    found = rows(program([[FIRST], *[[1.0]] * 2]), program([[FIRST], [1.0]], backend="a/y"))
    assert {row.unit for (line, _), row in found.items() if line == FIT} == {CALL}


def test_a_fit_that_failed_in_its_first_epoch_beside_many_that_did_not_has_no_row() -> None:
    found = rows(program([[FIRST], *[[1.0]] * 9]), program([[]], backend="a/y"))
    assert (FIT, "a/x") in found and (FIT, "a/y") not in found


def test_the_faster_row_is_the_one_whose_calls_cost_less_whatever_its_epochs_take() -> None:
    fast_epochs = [[FIRST], *[[0.4 + 0.001 * number] for number in range(20)]]
    short, long = program(fast_epochs), program(fast_epochs, backend="a/y")
    told = [structs.replace(one, seconds=one.seconds + 2.0) for one in events.fits(short.facts, FIT)]
    slower = with_fits(short, told)
    assert rows(slower, long)[FIT, "a/y"].relative_to_fastest == 1


def test_where_each_model_is_trained_once_compilation_is_part_of_a_call() -> None:
    row = rows(program([[FIRST, 1.0]] * 10))[FIT, "a/x"]
    assert (row.epochs, row.calls, row.first_calls, row.resampled_values) == (20, 10, 10, 9)
    assert row.epoch_seconds == pytest.approx(FIRST + 1.0 + AROUND)
    assert row.compile_seconds == pytest.approx(FIRST - 0.3 - 0.1)
    assert row.steady_epoch_seconds == 1.0


def test_of_models_that_are_trained_a_few_times_each_the_mean_call_counts() -> None:
    row = rows(program([[FIRST], [1.0]] * 4))[FIT, "a/x"]
    assert (row.resampled_values, row.epoch_seconds) == (3, (FIRST + 1.0) / 2 + AROUND)


def test_a_few_models_that_are_trained_often_show_what_their_other_calls_cost() -> None:
    row = rows(program([[FIRST], *[[1.0]] * 20, [FIRST], *[[1.0]] * 20]))[FIT, "a/x"]
    assert (row.calls, row.first_calls, row.resampled_values, row.epoch_seconds) == (42, 2, 40, 1.25)


def test_first_calls_alone_have_no_time_of_other_calls() -> None:
    two = rows(program([[FIRST]], [(2.0, 1), (2.0, 1)]))[EVALUATE, "a/x"]
    assert (two.calls, two.first_calls, two.epoch_seconds, two.first_epoch_seconds) == (2, 2, None, 2.0)
    four = rows(program([[FIRST]], [(2.0, 1), (1.5, 1), (1.6, 1), (1.7, 1)]))[EVALUATE, "a/x"]
    assert (four.calls, four.epoch_seconds) == (4, pytest.approx(1.6 + 0.4 / 4)), "what the first took more is shared"


def test_all_rows_add_up_to_the_program_and_what_is_in_none_is_a_row() -> None:
    cells = [
        replace(
            program([[FIRST], *[[pace]] * 5], [(pace, 1), (0.5, 0)], backend),
            cell=cell("train.py", backend, repeat=repeat),
        )
        for backend, pace in (("a/x", 1.0), ("a/y", 2.0))
        for repeat in (1, 2)
    ]
    found = rows(*cells)
    for backend in ("a/x", "a/y"):
        its = [row for (_, name), row in found.items() if name == backend]
        assert [row.unit for row in its] == [CALL, CALL, REST, RUN]
        *parts, whole = its
        assert sum(row.total_seconds or 0.0 for row in parts) == pytest.approx(whole.epoch_seconds)
        assert parts[-1].total_seconds == pytest.approx(1.0) and parts[-1].phases == {"import": 0.5}
        assert parts[-1].relative_to_fastest is None, "nothing to be faster in"


def test_of_unequal_processes_imports_are_a_part_of_what_is_outside_keras() -> None:
    one = program([[FIRST], [1.0]])
    fast, slow = (
        replace(one, cell=cell("train.py", "a/x", repeat=repeat), phases={"import": imports}, facts=facts)
        for repeat, imports, facts in (
            (1, 0.9, one.facts),
            (2, 9.9, structs.replace(one.facts, program=Program(16.5))),
        )
    )
    rest = rows(fast, slow)["outside Keras", "a/x"]
    assert rest.phases["import"] < (rest.total_seconds or 0.0)


def test_calls_too_short_for_a_table_are_in_the_row_of_all_else() -> None:
    found = rows(program([[FIRST], [1.0]], [(0.01, 1), (0.01, 0)]))
    assert (EVALUATE, "a/x") not in found
    assert found["outside Keras", "a/x"].total_seconds == pytest.approx(1.02)


def test_in_turns_a_call_counts_in_the_turn_in_which_it_began_and_not_if_it_was_its_first() -> None:
    calls = [
        call_costs.CallCost(1.0, (), round=turn, cold=cold)
        for turn, cold in ((0, False), (1, True), (1, False), (2, True))
    ]
    made = call_costs.as_epochs([*calls, call_costs.CallCost(1.0, (), round=2)], fits=True)
    assert [epoch.rounds for epoch in made] == [(), (Turn(1, 0, 1),), (Turn(2, 0, 1),)]
    assert all(epoch.step_seconds == (1.0,) for epoch in made)


def test_calls_that_were_held_are_compared_by_their_steps() -> None:
    its = Epoch(2, 3.0, 64, step_seconds=(1.0, 1.0, 1.0), rounds=(Turn(1, 0, 2), Turn(2, 2, 3)))
    (_, made) = call_costs.as_epochs(
        [call_costs.CallCost(9.0, (its,)), call_costs.CallCost(4.0, (its,), held=True)], fits=True
    )
    assert (made.seconds, made.step_seconds, made.rounds) == (4.0, its.step_seconds, its.rounds)


def test_calls_that_go_on_changing_are_not_called_epochs() -> None:
    slower = [
        (1.0, 1),
        *[(0.1 + 0.001 * number, 0) for number in range(8)],
        *[(0.2 + 0.001 * number, 0) for number in range(8)],
    ]
    row = rows(program([[FIRST]], slower))[EVALUATE, "a/x"]
    assert row.notes == ("not steady: its calls became 1.97 times slower from the first half of them to the second",)


def test_where_calls_compile_rows_compare_by_all_of_them() -> None:
    slow_start = [[9.0, *[0.1] * 2], *[[0.3, 0.1]] * 9]  # as where a compiler's start takes nine seconds
    steady = [[0.5, 0.1], *[[0.4, 0.1]] * 9]
    cells = []
    for backend, fits in (("a/x", slow_start), ("b/y", steady)):
        one = program(fits, backend=backend)
        cells.append(with_fits(one, [structs.replace(fit, first=1) for fit in events.fits(one.facts, FIT)]))
    found = rows(*cells)
    for backend in ("a/x", "b/y"):
        row = found[FIT, backend]
        assert row.epoch_seconds and row.total_seconds
        assert row.epoch_seconds == pytest.approx(row.total_seconds / 10, rel=0.05)
    assert found[FIT, "a/x"].relative_to_fastest == pytest.approx(2.1, rel=0.2)


def test_the_last_scores_are_those_of_the_last_call_whether_its_time_counts_or_not() -> None:
    calls = [
        call_costs.CallCost(1.0, (Epoch(1, 1.0, 8, loss=loss),), round=number, cold=cold)
        for number, (loss, cold) in enumerate([(0.9, False), (0.8, False), (0.7, False), (0.6, True)])
    ]
    made = call_costs.as_epochs(calls, fits=True)
    assert len(made) == 3 and made[-1].loss == 0.6


def test_a_line_of_a_program_is_a_value_on_an_axis_of_its_own() -> None:
    found = summarise(by_line([program([[FIRST, 1.0, 1.0]], [(0.5, 0)])]))
    assert {row.program for row in found} == {"train.py"}
    assert {row.site for row in found} >= {FIT, EVALUATE}
    assert {row.example for row in found} >= {f"train.py: {FIT}", f"train.py: {EVALUATE}"}, "as summary.csv has it"
    assert len({row.key.without([SITE]) for row in found}) == 1, "they differ in nothing else"
