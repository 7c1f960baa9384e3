"""The times of a program add up: parts do not come to more than the whole, or what does is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from fake_runs import cell, known
from guest_modules import guest
from msgspec import convert

from kbench.analysis.summaries import summarise
from kbench.features.script.events import Fit, Site
from kbench.features.script.lines import call_costs
from kbench.features.script.lines.call_sites import by_line
from kbench.features.script.lines.line_details import details
from kbench.features.script.lines.sums import IMPORT, LINES, USUAL, WITHIN, failing
from kbench.features.script.program_work import ProgramWork
from kbench.records.epochs import Epoch, Turn
from kbench.records.values import OK, SCRIPT, Measured, Outcome
from kbench.summary import Summary
from kbench.tables.text import text

FIT, PREDICT = "fit, line 9", "predict, line 10"


def program(
    epochs: list[float], fit: float | None, whole: float = 20.0, calls: tuple[float, ...] = (), **of_epoch: Any
) -> Measured:
    """A program with a fit of these epochs, which took `fit` seconds or has not returned, and calls of predict."""
    of_fit = [Epoch(number, one, 64, site=FIT, loss=1.0, **of_epoch) for number, one in enumerate(epochs, 1)]
    of_calls = [Epoch(number, one, 8, site=PREDICT, calls=1) for number, one in enumerate(calls, 1)]
    fits = convert([{"site": FIT, "seconds": fit, "epochs": len(epochs), "first": 1}] if fit else [], list[Fit])
    sites = {site: Site(site, task, {"layers": []}) for site, task in ((FIT, "train"), (PREDICT, "infer"))}
    facts = {"task": SCRIPT, "of": {"site": sites, "fit": {FIT: fits}}, "program": {"seconds": whole, "keras": 1}}
    outcome = Outcome(OK, seconds=whole + 1)
    return Measured(cell("train.py", "a/x"), outcome, (*of_fit, *of_calls), {"import": 0.5}, known(**facts))


def rows(*cells: Measured) -> dict[str, Summary]:
    parts = by_line(cells)
    return {row.site: row for row in ProgramWork().compared(summarise(parts), parts)}


def failed(row: Summary) -> list[str]:
    return [one.aspect for one in row.findings if one.kind == "no sum"]


def test_a_hundredth_of_the_whole_may_be_too_much() -> None:
    assert not failing(WITHIN, 1.009, 1.0) and failing(WITHIN, 1.02, 1.0)[0].own == 1.02


def test_what_adds_up_is_told_as_it_is() -> None:
    found = rows(program([5.0, 1.0, 1.0], 7.2, calls=(1.0, 0.5, 0.6)))
    assert not any(map(failed, found.values())) and found[FIT].epoch_seconds == 1.0
    assert found[FIT].total_seconds == pytest.approx(7.2)
    assert sum(row.total_seconds or 0.0 for site, row in found.items() if site != "whole program") == pytest.approx(
        20
    )


def test_epochs_and_validation_that_take_longer_than_their_fit_are_left_out_with_all_that_follows() -> None:
    told: dict[str, Any] = {"evaluation_seconds": 0.5, "callback_seconds": 0.3, "callback_seconds_within": 0.1}
    row = rows(program([5.0, 1.0, 1.0], 7.2, **told))[FIT]
    assert failed(row) == [WITHIN] and row.total_seconds == pytest.approx(7.2)
    nothing = (row.epoch_seconds, row.first_epoch_seconds, row.evaluation_seconds, row.epoch_interval)
    assert nothing == (None,) * 4 and row.callback_seconds is None and details(row).validation_share == 0.0
    shown = text([row], 400)
    assert "epochs, validation and callbacks add up to 9.10 s, its fits to 7.20 s: a fault of kbench" in shown
    assert shown.count(" ? ") >= 3 and "7.20" in shown
    assert not failed(rows(program([5.0, 1.0, 1.0], 9.2, **told))[FIT])


def test_a_usual_time_of_which_so_many_would_take_longer_than_all_did_is_left_out() -> None:
    uneven = rows(program([1.0], 1.1, calls=(0.5, *[0.4] * 9, *[0.01] * 8)))[PREDICT]
    assert failed(uneven) == [USUAL] and uneven.epoch_seconds is None and uneven.first_epoch_seconds == 0.5
    assert "as many usual times as it has would add up to 7.30 s, and it took 4.18 s" in uneven.notes[-1]
    near = rows(program([1.0], 1.1, calls=(0.5, 0.4, 0.4, 0.38, 0.35)))[PREDICT]
    assert not failed(near) and near.epoch_seconds == pytest.approx(0.39)
    faster = rows(program([1.0], 1.1, calls=(0.1, *[0.05] * 6, *[0.02] * 5)))[PREDICT]
    assert not failed(faster) and faster.epoch_seconds == pytest.approx(0.05), "the middle one, 1.3 times the mean"


def test_a_program_of_which_the_lines_take_more_than_all_of_it_has_no_row_of_what_is_outside() -> None:
    found = rows(program([5.0, 1.0], 6.2, whole=6.0))
    assert "outside Keras" not in found and failed(found["whole program"]) == [LINES]
    assert "its lines add up to 6.20 s, all of it to 6.00 s" in found["whole program"].notes[0]
    assert found["whole program"].epoch_seconds == 6.0


def test_an_import_that_takes_longer_than_all_outside_of_keras_is_left_out() -> None:
    one = program([5.0, 1.0], 6.2, whole=6.5)
    found = rows(replace(one, phases={"import": 0.9}))
    assert failed(found["outside Keras"]) == [IMPORT] and found["outside Keras"].phases == {}
    assert found["whole program"].phases == {"import": 0.9}


def test_of_a_fit_that_has_not_returned_validation_is_part_of_its_total() -> None:
    row = rows(program([5.0, 1.0, 1.0], None, evaluation_seconds=2.0))[FIT]
    assert row.total_seconds == pytest.approx(13.0) and not failed(row)


@pytest.mark.parametrize("held", [False, True])
def test_calls_that_compile_take_in_the_middle_what_they_take_on_average(held: bool) -> None:
    its = Epoch(1, 0.5, 64, step_seconds=(0.49, 0.005, 0.005), rounds=(Turn(3, 1, 3),))
    calls = [call_costs.CallCost(seconds, (its,), first=True, held=held) for seconds in (4.0, 3.0, 3.0, 1.0)]
    made = call_costs.as_epochs(calls, fits=True)
    assert sorted(one.seconds for one in made[1:])[1] == pytest.approx(11.0 / 4)
    assert all(not one.rounds for one in made), "the steps that are steady say nothing of such a call"


def test_a_loops_steps_and_what_it_calls_between_them_add_up(tmp_path: Path) -> None:
    written: list[dict[str, Any]] = []
    events = SimpleNamespace(write=lambda event, **values: written.append({"event": event, **values}))
    line = 0
    files = SimpleNamespace(line=lambda: ("", line))
    now = 0.0
    names = ("kbench_script.watching.recorder", "turns", "kbench_script.watching.loops")
    with guest(tmp_path, *names) as (recorder, turns, loops):
        observed = recorder.Recorder(events, turns.TurnClient(0), files, float, 0)
        of_program = loops.Loops(None, observed, files)
        loops.overhead.now = lambda: now
        for _ in range(4):  # two models, trained in lines 7 and 8, and a second of evaluate between two steps
            for number, seconds in ((7, 3.0), (8, 2.0)):
                line, now = number, now + seconds
                of_program._end(9)
            now += 1.0
            observed.in_calls += 1.0
        observed.flush()
    taken: dict[str, float] = {}
    for one in written:
        if one["event"] == "epoch":
            taken[one["site"]] = taken.get(one["site"], 0.0) + one["seconds"] * one["calls"]
    assert taken == {"loop, line 7": 9.0, "loop, line 8": 6.0}, "of 4 times 6 seconds, without the first of each line"


def test_calls_of_a_model_within_a_loops_steps_have_no_part_of_the_program() -> None:
    sites = {name: Site(name, "train", {"layers": []}) for name in ("loop, line 7", "call, line 6")}
    epochs = tuple(Epoch(number, 1.0, 8, site=name, calls=2) for name in sites for number in (1, 2, 3))
    facts = known(task=SCRIPT, of={"site": sites}, program={"seconds": 9.0, "keras": 1})
    found = rows(Measured(cell("train.py", "a/x"), Outcome(OK), epochs, {}, facts))
    assert found["call, line 6"].total_seconds is None and found["call, line 6"].epoch_seconds == 1.0
    assert (found["loop, line 7"].total_seconds, found["outside Keras"].total_seconds) == (6.0, 3.0)


def test_what_kbench_does_before_a_fit_is_no_part_of_its_first_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def callback(**hooks: Any) -> SimpleNamespace:  # which takes kbench a second to make
        now[0] += 1.0
        return SimpleNamespace(**hooks)

    def fit(model: Any, x: Any, callbacks: Any = None) -> None: ...

    with guest(tmp_path, "keras", "kbench_script.watching.fits", "turns") as (keras, fits, turns):
        callbacks = SimpleNamespace(LambdaCallback=callback)
        monkeypatch.setattr(keras, "callbacks", callbacks, raising=False)
        monkeypatch.setattr(fits.time, "perf_counter", lambda: now[0])
        site = SimpleNamespace(described=True, fit_seconds=1.0, epochs=0, models=set())
        recorder = mock.Mock(turns=turns.TurnClient(0), site=lambda method: site)
        framework = mock.Mock(steps_of_a_call=lambda model: 1)
        models = SimpleNamespace(framework=framework, recorder=recorder)
        model = type("Model", (), {})()
        observed = fits.Fits(models, None, None, {"variant": "", "max_epochs": None})
        observed.begin("fit", fit, model, (np.ones((4, 2)),), {})
        assert now[0] == observed._fit._called == 2.0


def test_batches_that_take_longer_to_make_than_an_epoch_take_all_of_it() -> None:
    from test_line_answers import line

    from kbench.features.script.told import line_answers

    said = line_answers.on_rows([line("a/x", epoch_seconds=1.5, batch_making_seconds=1.6)])
    assert said[0] == "Making its batches, without training, takes all of an epoch's 1.50 s on a/x."
