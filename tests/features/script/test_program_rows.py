"""The rows of a program: how its cells are split, and what tables, answers, plots and the progress say of them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_runs import COLORS, cell, known, measured, summary, task

from kbench.analysis.learning import unlike_others
from kbench.analysis.summaries import summarise
from kbench.analysis.times.overall import overall
from kbench.cells import runner
from kbench.features.script.events import Fit, Site
from kbench.features.script.lines import call_sites
from kbench.features.script.lines.call_sites import by_line
from kbench.features.script.lines.finding_kinds import NO_CALLS, OTHER_CALL
from kbench.features.script.lines.line_details import LineDetails
from kbench.features.script.lines.units import CALL, EPOCH, REST, RUN
from kbench.features.script.told import line_tables, unlike_calls
from kbench.plots.bars import _figure as draw_bars
from kbench.plots.styles import row_styles
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.values import FAILED, NOT_COMPARED, SCRIPT, SLOWER, Interval, Measured, Outcome
from kbench.screen.progress import one_cell
from kbench.summary import Summary
from kbench.tables import lost
from kbench.tables.answers import answer, headline
from kbench.tables.content import tables
from kbench.tables.text import text

NAN = math.nan


def line(backend: str, ratio: float = 1.0, **changes: Any) -> Summary:
    about = {"unit": CALL, "relative_to_fastest": ratio, "turns": 12, **changes}
    about |= {} if ratio == 1 else {"relative_interval": Interval(0.97 * ratio, 1.03 * ratio), "verdict": SLOWER}
    return summary(backend, **{"example": "train.py: fit, line 8", **about, **changes})


def test_calls_that_compile_say_how_often_and_how_long() -> None:
    about: dict[str, Any] = {"calls": 10, "first_calls": 10}
    fast = line("keras3/jax", epoch_seconds=0.5, compile_seconds=0.01, **about)
    slow = line("keras2/theano", 3.0, epoch_seconds=1.5, compile_seconds=1.4, **about)
    assert answer([fast, slow]).endswith(
        " 10 of 10 calls are a model's first, and compilation and warm-up take 1.40 s on keras2/theano each time."
    )
    assert "compile" not in answer([fast, replace(slow, calls=100)])


def test_one_call_each_is_no_comparison() -> None:
    unknown = {"relative_interval": None, "resampled_values": None, "verdict": NOT_COMPARED}
    rows = [line("keras3/jax", profile="smoke"), line("keras2/theano", 3.0, profile="smoke", **unknown)]
    assert answer(rows) == "train.py: fit, line 8 could not be compared: one call each is too few; use --repeats 3."


def test_who_is_done_first_with_compilation_is_not_said_of_a_line_since_the_program_has_a_row() -> None:
    fast = line("keras3/jax", unit=EPOCH, epochs=3, epoch_seconds=1.0, first_epoch_seconds=10.0)
    slow = line("keras3/torch", 2.0, unit=EPOCH, epochs=3, epoch_seconds=2.0, first_epoch_seconds=2.5)
    assert "Counting compilation" not in answer([fast, slow])


def test_calls_of_a_program_are_no_examples() -> None:
    rows = [replace(line(name, ratio), unit=EPOCH) for name, ratio in (("a", 1.0), ("b", 2.0))]
    assert overall(rows) == []


def test_all_known_causes_stay_in_its_tables() -> None:
    causes = Finding(kind="first step", reference="keras2/cntk", explanation="ties.")
    odd = Finding(kind="odd process", own=2.0, about={"repeat": 2, "number": 0})
    assert all(note in text([line("a/x", findings=(causes, odd))]) for note in ("known difference", "hardly counts"))


def test_what_predicts_otherwise_stands_first_and_once_for_all_lines() -> None:
    about = {"backend": "keras2/theano", "does": "same weights", "score": "accuracy"}
    scores = Finding(
        kind=OTHER_CALL, aspect="scores", reference="keras2/tensorflow", own=0.09, other=0.941, about=about
    )
    scores = replace(scores, explanation="its kernels are flipped")
    outputs = replace(scores, aspect="numbers", own=1.0, about={**about, "relative": True, "allowed": 1e-4})

    def row(line: str, wrong: Finding) -> Summary:
        return summary("keras2/theano", f"train.py: {line}", unit=CALL, findings=(wrong,))

    right = summary("keras2/tensorflow", "train.py: predict, line 8", unit=CALL)
    rows = [
        row("predict, line 8", outputs),
        right,
        row("evaluate, line 9", scores),
    ]
    first, *_ = text(rows, 400).split("\n\n")
    assert first == (
        "The same weights predict otherwise on keras2/theano than on keras2/tensorflow: accuracy 0.09 instead of "
        "0.941 (predict, line 8; evaluate, line 9). Its kernels are flipped."
    )
    assert headline(rows).startswith(first)
    assert text(rows, 400).count("flipped") == 1
    assert "ok, other outputs" in text(rows, 400)
    assert text([right], 400).startswith("train.py: predict, line 8")


def program(backend: str, **losses: float | None) -> Measured:
    """A program with two fits, and what the loss of each is in its second epoch."""
    epochs = tuple(
        Epoch(number, 1.0, 100, site=site.replace("_", ", line "), loss=loss if number == 2 else 1.0)
        for site, loss in losses.items()
        for number in (1, 2, 3)
    )
    sites = {site.replace("_", ", line "): Site(site, "train", {}) for site in losses}
    facts = known(task=SCRIPT, of={"site": sites}, program={"seconds": 9.0, "keras": 1})
    return Measured(cell("train.py", backend), Outcome("ok"), epochs, {}, facts)


def test_a_line_of_a_program_and_the_whole_of_it_lose_their_rank() -> None:
    rows = summarise(by_line([program(f"a/{name}", fit_3=NAN, fit_9=0.5) for name in "xy"]))
    ranked = {row.site: row.relative_to_fastest is not None for row in rows if row.work.compared}
    assert ranked == {"fit, line 3": False, "fit, line 9": True, "whole program": False}
    assert lost.sentences(rows) == [
        "The loss of train.py: fit, line 3 is nan in epoch 2 on a/x and a/y: no time is ranked."
    ]
    assert {row.notes for row in rows} == {()}


def test_of_a_line_that_fits_often_the_ends_of_its_calls_count() -> None:
    epochs = tuple(Epoch(number, 1.0, 10, site="fit, line 3", resident_mib=500.0) for number in range(1, 4))
    fits = [Fit("fit, line 3", 1.0, epochs=1, first=0, resident_mib=600.0 + number) for number in (1, 2)]
    one = measured(cell(), facts={"of": {"fit": {"fit, line 3": fits}}})
    one = Measured(one.cell, one.outcome, epochs, {}, one.facts)
    by_call = call_sites.memory_at_ends(one, "fit, line 3", by_call=True)
    assert by_call == ((1.0, 601.0), (2.0, 602.0))
    by_epoch = call_sites.memory_at_ends(one, "fit, line 3", by_call=False)
    assert by_epoch == ((1.0, 500.0), (2.0, 500.0), (3.0, 500.0))


def test_of_a_program_the_calls_of_its_line_are_counted(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    lines = [
        {"event": "epoch", "epoch": 1, "seconds": 1.0, "samples": 8, "site": "fit, line 9"},
        {"event": "epoch", "epoch": 1, "seconds": 0.1, "samples": 8, "site": "predict, line 12", "calls": 1},
        {"event": "epoch", "epoch": 2, "seconds": 0.1, "samples": 8, "site": "predict, line 12", "calls": 399},
    ]
    events.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = runner.EpochReader(events).sample()
    assert (found.epochs, found.site) == (400, "predict, line 12")
    one = task(cell("train.py", "keras3/jax", epochs=0), task="script", input="sequence")
    assert one_cell(one, found, 3.0) == "predict, line 12: call 400, 0.100 s/call, 3 s"
    fits = replace(found, site="fit, line 9", epochs=2)
    assert one_cell(one, fits, 3.0) == "fit, line 9: epoch 2, 0.100 s/epoch, 3 s"


@pytest.mark.parametrize(
    ("told", "axis"),
    [
        ({"task": "infer", "unit": CALL}, "seconds per call (estimate)"),
        ({"task": SCRIPT, "unit": RUN}, "seconds of the run"),
    ],
)
def test_bars_show_what_the_table_shows(told: dict[str, object], axis: str) -> None:
    rows = summarise([measured(cell(samples=500), 3.0, 1.0, facts={**told, "input": "flat"})])
    (axes,) = draw_bars(rows, row_styles(rows, COLORS)).axes
    assert axes.get_xlabel() == axis
    assert [bar.get_width() for bar in axes.containers[0]] == [1.0]


@pytest.mark.parametrize(("accuracy", "unlike"), [(0.61, False), (0.3, True)])
def test_a_program_from_weights_of_its_own_may_be_further_off(accuracy: float, unlike: bool) -> None:
    sizes = {"samples": 10000, "epochs": 3, "batch_size": 128, "validation_samples": 4000}
    facts = {"unit": EPOCH, "task": "train", "weights": "its own", "optimizer": {"class_name": "Adam"}}
    cells = [
        measured(cell("train.py: fit, line 9", f"a/{name}", **sizes), 1.0, 1.0, 1.0, facts=facts, val_accuracy=score)
        for name, score in zip("xyz", (0.66, 0.65, accuracy), strict=True)
    ]
    assert any(row.has("learning") for row in unlike_others.add_notes(summarise(cells), cells)) == unlike


def trained_lines() -> list[Summary]:
    """A program's fit on three backends, with other samples on one and another rate on one."""
    told: dict[str, Any] = {"task": "train", "unit": EPOCH, "parameters": 9}
    one, rate = ({"class_name": "SGD", "learning_rate": rate} for rate in (0.1, 0.2))
    several = (
        {"samples": 64, "optimizer": one},
        {"samples": 64, "optimizer": rate},
        {"samples": 32, "optimizer": one},
    )
    return summarise(
        [
            measured(cell("train.py: fit, line 9", f"keras9/{name}"), 2.0, 1.0, 1.0, facts={**told, **facts})
            for name, facts in zip("abc", several, strict=True)
        ]
    )


def test_no_code_asks_a_sentence_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "not steady: does not learn like the others, unlike a/x in its dtype and in its model"
    for _ in range(2):
        assert [bool(row.differs) for row in trained_lines()] == [False, False, True]
        assert len(unlike_calls.sentences(trained_lines())) == 2
        for module in ("kbench.words.sentences", "kbench.features.script.told.finding_sentences"):
            monkeypatch.setattr(f"{module}.sentence", lambda finding: f"{words}: {finding}")


@pytest.mark.parametrize(
    ("names", "last"),
    [
        (("loss", "accuracy", "val_loss", "val_accuracy"), "val_accuracy"),
        (("loss", "specificity_at_sensitivity"), "specificity_at_sensitivity"),
        (("loss", "val_loss", "learning_rate"), "val_loss"),
        (("a_loss", "b_loss", "loss"), "loss"),
        ((), "total (s)"),
    ],
)
def test_the_score_that_is_asked_for_is_left_out_last(names: tuple[str, ...], last: str) -> None:
    assert line_tables.optional([line("keras3/jax", metrics=dict.fromkeys(names, 0.5))])[-1] == last


def test_on_a_narrow_page_it_stands_where_other_times_do_not() -> None:
    scores = {"loss": 0.1, "specificity_at_sensitivity": 0.5}
    about: dict[str, Any] = {"metrics": scores, "total_seconds": 9.0, "unit": EPOCH, "steps": 10}
    rows = [line(backend, ratio, **about) for backend, ratio in (("keras3/jax", 1.0), ("keras2/theano", 2.0))]
    shown, _, left_out = text(rows, 85).partition("Not shown for lack of width")
    assert "specificity_at_sensitivity" in shown
    assert " ".join(left_out.split()).startswith(": first epoch (s), steps/s, total (s), loss")


@pytest.mark.parametrize(("sites", "said"), [((), True), (("call_7",), False), (("fit_7", "call_9"), False)])
def test_that_it_calls_no_fit_is_said_only_where_no_call_has_a_table(sites: tuple[str, ...], said: bool) -> None:
    *_, whole = by_line([program("a/x", **dict.fromkeys(sites, 0.5))])
    assert whole.cell.site == "whole program"
    assert any(finding.kind == NO_CALLS for finding in whole.findings) == said


WHOLE: Any = {"example": "train.py: whole program", "unit": RUN}
REFUSED = {"relative_interval": None, "resampled_values": None, "verdict": NOT_COMPARED, "turns": 12}


def refused(**changes: Any) -> list[Summary]:
    """The rows of a program of which no times could be compared, since other programs used the processor."""
    times: dict[str, dict[str, Any]] = {
        "keras3/jax": {"turns": 12},
        "keras3/torch": {**REFUSED, "relative_to_fastest": 3.0},
    }
    of_units: dict[str, dict[str, Any]] = {
        CALL: {"example": "train.py: fit, line 8", "memory_growth_mib": 34.0, "disturbed_turns": 12},
        REST: {"example": "train.py: outside Keras", "relative_to_fastest": None},
        RUN: {"example": "train.py: whole program", **changes},
    }
    return [
        summary(backend, unit=unit, **{**of_times, **about})
        for unit, about in of_units.items()
        for backend, of_times in times.items()
    ]


def test_where_no_times_could_be_compared_what_else_is_known_comes_first() -> None:
    assert answer(refused()[:2], "again") == (
        "Memory grows with each call on keras3/jax by 34 MiB, keras3/torch by 34 MiB. Its times could not be "
        "compared: other programs used the processor in 24 of 24 turns; end them, then `again`."
    )
    sure = [line("keras3/jax", memory_growth_mib=9.0), line("keras3/torch", 2.0, memory_growth_mib=9.0)]
    assert answer(sure).startswith("train.py: fit, line 8 is fastest on keras3/jax")


def test_tables_of_the_whole_that_say_nothing_are_not_on_the_screen_and_in_summary_md() -> None:
    shown, page = text(refused()), "\n".join(one.heading for one in tables(refused()))
    assert "fit, line 8" in shown and "outside Keras" not in shown and "whole program" not in shown
    assert "outside Keras" in page and "whole program" in page
    noted = text(refused(findings=(Finding(kind="told", own="it has a note"),)))
    assert "whole program" in noted and "outside Keras" not in noted
    assert "whole program" in text(refused(status=FAILED, reason="no")), "how it ended"
    assert "outside Keras" in text(refused()[2:]), "there is nothing else"
    lines = [line("keras3/jax"), line("keras3/torch", 2.0)]
    assert "whole program" not in text([*refused()[2:], *lines]), "only lines were compared"
    assert "whole program" in text([*lines, line("keras3/jax", **WHOLE), line("keras3/torch", 2.0, **WHOLE)])
    assert "whole program" in text([lines[0], line("keras3/jax", **WHOLE)]), "it has nothing to be compared with"
    assert "whole program" not in text([lines[0], line("keras3/jax", **WHOLE, disturbed_turns=12)])


@pytest.mark.parametrize(("own", "shown"), [(0.1, False), (3.0, True)])
def test_what_is_outside_of_keras_has_a_table_on_the_screen_where_it_is_much(own: float, shown: bool) -> None:
    outside: Any = {"unit": REST, "total_seconds": 4.0 + own, "phases": {"import": 4.0}, "relative_to_fastest": None}
    whole = line("keras3/jax", **WHOLE, total_seconds=10.0)
    rows = [line("keras3/jax"), summary("keras3/jax", "train.py: outside Keras", **outside), whole]
    assert ("outside Keras" in text(rows)) == shown
    busy = [*rows[:2], replace(whole, turns=12, disturbed_turns=12)]
    assert "outside Keras" not in text(busy), "the machine's time is in it"


def test_why_a_program_failed_stands_once_on_the_screen() -> None:
    about = {"unit": RUN, "status": FAILED, "reason": "line 9: KeyError: 0", "relative_to_fastest": None}
    row = summary("keras3/jax", "train.py: whole program", **about)
    assert text([row]).count("KeyError") == 1 and text([row]).startswith("train.py failed on keras3/jax: line 9")
    assert "[1] line 9: KeyError: 0" in tables([row])[0].numbered, "in summary.md also beside its row"
    noted = replace(row, findings=(Finding(kind="told", own="it has a note"),))
    assert "[1] it has a note" in text([noted])


def test_why_outputs_are_not_compared_stands_once_below_the_first_table_of_which_it_is_true() -> None:
    why = "each backend draws its own initial weights"
    told = LineDetails(outputs_not_compared=why)
    rows = [
        line(backend, ratio, example=f"train.py: predict, line {number}", of_kind=told)
        for number in (7, 8)
        for backend, ratio in (("keras3/jax", 1.0), ("keras3/torch", 2.0))
    ]
    assert text(rows).count(f"Outputs are not compared: {why}.") == 1
