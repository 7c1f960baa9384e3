"""What is said of a line of a user's program: what was asked for first, then what else its calls show."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fake_runs import replace, summary

from kbench.features.script.lines.finding_kinds import NO_TRAINING
from kbench.features.script.lines.line_details import LikeLine, LineDetails, with_details
from kbench.features.script.lines.units import CALL, EPOCH, RUN
from kbench.features.script.told import line_answers, unlike_calls
from kbench.records.findings import Finding
from kbench.records.values import FAILED, NO_DIFFERENCE, OK, SLOWER, TIMEOUT, UNAVAILABLE, UNSUPPORTED, Interval
from kbench.summary import TO_DEFAULT, Ratio, Summary
from kbench.tables import text

BY_LINE = (("a/x", 0.0), ("a/y", 3e-14))
FIT, PREDICT = "train.py: fit, line 9", "train.py: predict, line 12"


def line(backend: str, example: str = FIT, **changes: Any) -> Summary:
    unit = changes.pop("unit", EPOCH if example == FIT else CALL)
    names = {field.name for field in dataclasses.fields(LineDetails)} & changes.keys()
    of_kind = LineDetails(**{name: changes.pop(name) for name in names})
    about = {"task": "script", "unit": unit, "calls": 40, "memory_growth_mib": None, "of_kind": of_kind}
    return summary(backend, example, **about | changes)


def test_failures_come_before_all_tables_once_for_all_backends_with_the_same() -> None:
    def whole(backend: str, status: str = FAILED, reason: str = "line 9: KeyError: 0") -> Summary:
        return line(
            backend, "train.py: whole program", unit=RUN, status=status, reason=reason, relative_to_fastest=None
        )

    rows = [line("a/x"), whole("a/x"), whole("a/y"), whole("a/z", OK, ""), whole("a/w", TIMEOUT, "it took too long.")]
    rows += [whole(name, UNAVAILABLE, "numpy cannot be added to its environment: no") for name in ("a/u", "a/v")]
    rows += [whole("a/t", UNSUPPORTED, "line 21 uses tensorflow.reduce_mean")]
    assert line_answers.failures(rows) == [
        "train.py failed on a/x and a/y: line 9: KeyError: 0.",
        "train.py failed on a/w: it took too long.",
        "train.py could not run on a/u and a/v: numpy cannot be added to its environment: no.",
        "train.py could not run on a/t: line 21 uses tensorflow.reduce_mean.",
    ]
    assert text.text(rows).startswith("train.py failed on a/x and a/y: line 9: KeyError: 0.\n\n")


def test_what_arguments_change_is_told_for_each_backend() -> None:
    def beside(backend: str, value: float, verdict: str) -> Summary:
        ratio = Ratio(TO_DEFAULT, backend, value, Interval(0.9 * value, 1.1 * value), verdict)
        row = line(f"{backend}+args=--mask")
        return dataclasses.replace(row, ratios={**row.ratios, TO_DEFAULT: ratio})

    rows = [line("a/x"), beside("a/x", 2.5, SLOWER), line("a/y"), beside("a/y", 1.02, NO_DIFFERENCE)]
    assert line_answers.on_arguments(rows) == [
        "With --mask, a/x takes 2.50 times as long (2.25 to 2.75); a/y shows no difference (0.918 to 1.12)."
    ]
    assert line_answers.on_arguments(rows[:2]) == [], "of one backend the comparison itself says it"


@pytest.mark.parametrize(("share", "told"), [(0.1, False), (0.5, True)])
def test_validation_that_is_much_of_fit_is_told(share: float, told: bool) -> None:
    found = line_answers.on_rows([line("a/x", validation_share=share), line("a/y", validation_share=0.06)])
    assert found == (
        ["Validation, which is not in these times, takes 50% of fit on a/x, 6% of fit on a/y."] if told else []
    )


def test_that_validation_is_not_in_the_times_is_said_only_of_rows_of_which_it_is_true() -> None:
    assert line_answers.on_rows([line("a/x", unit=CALL, validation_share=0.37)]) == [
        "Validation takes 37% of fit on a/x."
    ]


def test_growth_of_memory_and_time_is_told_and_that_there_is_none() -> None:
    flat = {"memory_growth_mib": 0.0, "time_growth": ()}
    assert line_answers.on_rows([line("a/x", PREDICT, **flat), line("a/y", PREDICT, **flat)]) == [
        "Memory does not grow from call to call, and neither does time."
    ]
    unclear = {"memory_growth_mib": 0.0, "time_growth": None}
    assert line_answers.on_rows([line("a/x", PREDICT, **unclear)]) == ["Memory does not grow from call to call."]
    grows = {"memory_growth_mib": 7.0, "time_growth": (0.22, 0.57)}
    assert line_answers.on_rows([line("a/x", PREDICT, **grows), line("a/y", PREDICT, **flat)]) == [
        "Memory grows with each call on a/x by 7.0 MiB.",
        "Each call takes longer than those before on a/x (0.220 s the second, 0.570 s the last).",
    ]
    assert line_answers.on_rows([line("a/x", PREDICT), line("a/y", PREDICT, **flat)]) == []


def test_outputs_that_agree_and_repeats_that_do_are_told() -> None:
    rows = [line(name, PREDICT, outputs_apart=apart) for name, apart in (("a/x", 2e-7), ("a/y", 1e-8))]
    assert line_answers.on_rows(rows) == ["Outputs agree, to 2e-07 of the largest number."]
    same = [with_details(row, outputs_apart=0.0) for row in rows]
    assert line_answers.on_rows(same) == ["Outputs agree, to the last bit."]
    scored = [line(name, PREDICT, scores_agree=True) for name in ("a/x", "a/y")]
    assert line_answers.on_rows(scored) == ["Scores agree."]
    repeated = [line("a/x", deterministic=True, seeds=1), line("a/y", deterministic=True, seeds=1)]
    assert line_answers.on_rows(repeated) == ["Repeats give the same losses on a/x and a/y."]
    assert line_answers.on_rows([repeated[0], line("a/y", deterministic=False, seeds=1)]) == []
    assert line_answers.on_rows([replace(row, final_loss=0.0) for row in repeated]) == []


def test_a_line_that_returns_what_another_one_did_is_told() -> None:
    rows = [line(name, PREDICT, like_line=LikeLine("predict, line 8", apart)) for name, apart in BY_LINE]
    assert line_answers.on_rows(rows) == ["It returns the same as predict, line 8, to 3e-14 of the largest number."]
    scored = [line("a/x", PREDICT, like_line=LikeLine("evaluate, line 9")), line("a/y", PREDICT)]
    assert line_answers.on_rows(scored) == ["It returns the same scores as evaluate, line 9 on a/x."]


def test_what_was_tried_out_is_told_once_for_all_backends_of_which_it_is_true() -> None:
    rows = [line("a/x", PREDICT, on_batch_seconds=0.002), line("a/y", PREDICT, on_batch_seconds=0.0003)]
    assert line_answers.on_rows(rows) == [
        "For so few samples predict_on_batch takes 0.00200 s on a/x, 0.000300 s on a/y."
    ]
    rows[1] = replace(rows[1], turns=12, disturbed_turns=9)
    assert line_answers.on_rows(rows)[-1].endswith("takes 0.00200 s on a/x, less on a/y.")
    told = [line(name, PREDICT, afterwards="accuracy is 0.5 there") for name in ("a/x", "a/y")]
    assert unlike_calls.sentences(told) == ["On a/x and a/y, accuracy is 0.5 there."], "before all tables"


def test_callbacks_and_data_that_are_much_of_fit_are_told() -> None:
    slow = line("a/x", callback_share=0.48, batch_making_seconds=0.9)
    other = line("a/y", callback_share=0.07, batch_making_seconds=0.9)
    assert slow.epoch_seconds == 1.5
    assert line_answers.on_rows([slow, other]) == [
        "Its callbacks take 48% of fit on a/x, 7% of fit on a/y.",
        "Making its batches, without training, takes 0.900 s of an epoch's 1.50 s on a/x, 0.900 s of an epoch's "
        "1.50 s on a/y.",
    ]
    assert line_answers.on_rows([other, line("a/z", batch_making_seconds=0.1)])[0].startswith("Making its batches")
    busy = replace(other, turns=12, disturbed_turns=9)
    assert line_answers.on_rows([busy, line("a/z", batch_making_seconds=0.1)]) == []
    assert line_answers.on_rows([line("a/x", batch_making_seconds=0.1, callback_share=0.1)]) == []


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ((2.0, 1.5, 1.0), "The first 3 losses agree, to the last bit."),
        ((2.0, 1.5003, 1.0), "The first 3 losses agree, to 2e-04."),
        ((2.0, 1.6, 1.0), "The first loss agrees, and that of step 2 does not: 1.5 on a/x, 1.6 on a/y."),
        ((2.1, 1.5, 1.0), "The first loss is 2 on a/x, 2.1 on a/y: weights or data are not the same."),
        ((float("nan"),), "The first loss is 2 on a/x, nan on a/y: weights or data are not the same."),
    ],
)
def test_first_losses_of_a_loop_are_compared(losses: tuple[float, ...], told: str) -> None:
    loop = "train.py: loop, line 9"
    rows = [line("a/x", loop, first_losses=(2.0, 1.5, 1.0)), line("a/y", loop, first_losses=losses)]
    assert line_answers.on_rows(rows) == [told]
    assert line_answers.on_rows(rows[:1]) == []


def test_calls_that_compile_again_are_told() -> None:
    rows = [line("a/x", PREDICT, compiled_again=29), line("a/y", PREDICT)]
    assert line_answers.on_rows(rows) == ["Its calls after the first compile again 29 times on a/x."]


def test_how_a_line_trains_otherwise_comes_before_all_tables() -> None:
    rate = "is unlike a/x in its optimizer: learning_rate 0.03 instead of 0.001"
    own, usual = {"learning_rate": 0.03}, {"learning_rate": 0.001}
    of_rate = Finding(kind="aspect", aspect="optimizer", reference="a/x", own=own, other=usual)
    other, fit = "train.py: fit, line 15", {"task": "train", "unit": EPOCH}
    rows = [
        line("a/x", **fit),
        line("a/y", findings=(of_rate, Finding(kind=NO_TRAINING)), **fit),
        line("a/x", other, **fit),
        line("a/y", other, **fit),
    ]
    assert unlike_calls.sentences([*rows[:3], replace(rows[3], findings=(of_rate,))]) == [
        f"On a/y, fit, line 9 (and fit, line 15) {rate}.",
        "On a/y, fit, line 9 trains nothing: none of the model's weights changed.",
    ]
    assert text.text(rows).startswith(f"On a/y, fit, line 9 {rate}.")


def test_fits_that_stopped_after_other_numbers_of_epochs_are_told() -> None:
    rows = [line(name, epochs=epochs) for name, epochs in (("a/x", 4), ("a/y", 31), ("a/z", 31))]
    said = "It trained 4 epochs on a/x, 31 epochs on a/y and a/z: losses and scores are of the last epoch of each."
    assert said in " ".join(text.text(rows).split())
    assert "It trained" not in text.text(rows[1:])


def test_times_that_other_programs_are_in_are_marked_and_not_told() -> None:
    rows = [
        line("a/x", final_loss=0.5),
        line("a/y", turns=12, disturbed_turns=9, verdict=SLOWER, relative_to_fastest=2.0),
    ]
    shown = text.text(rows)
    assert "?1.50" in shown and "\n?time: disturbed, so not to be relied on.\n" in f"{shown}\n"
    assert "?time" not in text.text(rows[:1])
    alone = " ".join(text.text([replace(rows[1], relative_to_fastest=1.0)]).split())
    assert "could not be timed on a/y: other programs used the processor in 9 of 12 turns; end them" in alone
