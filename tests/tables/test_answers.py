"""The answer in sentences: who is fastest, by how much, and how sure that is."""

from __future__ import annotations

import dataclasses

from fake_runs import cell, measured, replace, summary

from kbench.analysis.summaries import summarise
from kbench.records.values import FAILED, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval
from kbench.report.page import html
from kbench.summary import TO_FASTEST
from kbench.tables import markdown, overall, text
from kbench.tables.answers import answer, headline
from kbench.tables.content import tables
from kbench.tables.page import Run

ROWS = [
    summary("keras3/jax", epoch_seconds=2.0, relative_to_fastest=1.0),
    summary(
        "keras3/torch",
        relative_to_fastest=1.0019,
        relative_interval=Interval(0.98, 1.0021),
        verdict=NO_DIFFERENCE,
    ),
    summary("keras2/cntk", relative_to_fastest=2.5, relative_interval=Interval(2.4, 2.6), verdict=SLOWER),
    summary("keras2/mxnet", relative_to_fastest=4.0, relative_interval=Interval(3.9, 4.1), verdict=SLOWER),
    summary("keras2/theano", status=FAILED, reason="it broke", relative_to_fastest=None),
]


def test_it_names_the_fastest_the_next_the_slowest_and_what_cannot_be_told_apart() -> None:
    assert answer(ROWS) == (
        "mnist_cnn trains fastest on keras3/jax: 2.00 s an epoch. keras2/cntk takes 2.50 times as long (2.40 to "
        "2.60); the slowest, keras2/mxnet, 4.00 times (3.90 to 4.10). keras3/torch (1.002 times, "
        "0.980 to 1.002) may be as fast."
    )


def test_of_an_interval_that_is_very_wide_only_the_lower_end_is_said() -> None:
    wide = summary("a/y", relative_to_fastest=14.4, relative_interval=Interval(1.18, 176.0), verdict=SLOWER)
    assert answer([ROWS[0], wide]).endswith("a/y takes at least 1.18 times as long.")


def test_one_row_has_nothing_to_be_compared_with_and_none_no_answer() -> None:
    assert answer(ROWS[:1]) == (
        "mnist_cnn trains on keras3/jax in 2.00 s an epoch; there is nothing to compare it with."
    )
    assert answer(ROWS[-1:]) == ""


def test_each_device_has_its_own_and_a_model_that_only_predicts_is_said_to() -> None:
    both = [
        summary("a/x", relative_to_fastest=1.0),
        summary("a/y", relative_to_fastest=2.0, relative_interval=Interval(1.9, 2.1), verdict=SLOWER),
        summary("a/x", device="gpu:0", task="infer", relative_to_fastest=1.0, seconds_per_1000_samples=3.0),
    ]
    first, second = answer(both).split("long (1.90 to 2.10). ")
    assert first.startswith("mnist_cnn trains fastest on cpu on a/x: ") and first.endswith("a/y takes 2.00 times as ")
    assert second.startswith("mnist_cnn predicts on gpu:0 on a/x in 3.00 s per 1,000 samples; ")


AGAIN = "python run.py resume mine --budget 10m"
# What a busy machine leaves of a comparison: few turns, and intervals that say nothing.
FASTEST_ROW = summary("keras3/jax", epoch_seconds=2.0, relative_to_fastest=1.0, turns=12, disturbed_turns=9)
WIDE = summary(
    "keras2/theano",
    relative_to_fastest=2.96,
    relative_interval=Interval(0.00716, 1364.0),
    verdict=NOT_COMPARED,
    resampled_values=2,
    turns=12,
    disturbed_turns=10,
)
QUIET = {"turns": 12, "disturbed_turns": 0}


def test_what_other_programs_made_impossible_is_said_and_how_to_mend_it() -> None:
    why = f"other programs used the processor in 19 of 24 turns; end them, then `{AGAIN}`."
    assert answer([FASTEST_ROW, WIDE], AGAIN) == f"mnist_cnn could not be compared: {why}"
    assert headline([FASTEST_ROW, WIDE], AGAIN) == f"mnist_cnn could not be compared: {why} All 2 rows were measured."
    sure = replace(WIDE, backend="keras3/torch", relative_interval=Interval(2.9, 3.1), verdict=SLOWER)
    assert answer([FASTEST_ROW, WIDE, sure], AGAIN) == (
        "mnist_cnn trains fastest on keras3/jax. keras3/torch takes 2.96 times as long (2.90 to "
        "3.10). keras2/theano could not be compared: other programs used the processor in 29 of 36 turns; end them, "
        "then "
        f"`{AGAIN}`."
    )
    assert answer([FASTEST_ROW, WIDE]).endswith("turns; end them and measure again.")


def test_the_command_that_measures_again_stands_once_on_a_screen() -> None:
    sure = replace(WIDE, backend="keras3/torch", relative_interval=None, verdict=SLOWER)
    rough = {TO_FASTEST: dataclasses.replace(sure.ratios[TO_FASTEST], rough=True)}
    rows = []
    for name in "ab":
        rows += [replace(row, example=name) for row in (FASTEST_ROW, WIDE)]
        rows += [dataclasses.replace(replace(sure, example=name), ratios=rough)]
    shown = " ".join(text.text(rows, 100, AGAIN).split())
    assert shown.count(AGAIN) == 1 and shown.count("other programs used the processor in 29 of 36 turns") == 4
    assert shown.index(AGAIN) < shown.index("b trains fastest")


def test_of_rows_without_turns_it_is_said_without_their_number() -> None:
    rows = [replace(row, turns=0, disturbed_turns=0, others=0.9) for row in (FASTEST_ROW, WIDE)]
    assert answer(rows) == (
        "mnist_cnn could not be compared: other programs used the processor; end them and measure again."
    )


def test_of_what_other_programs_disturbed_no_number_is_said() -> None:
    far = replace(WIDE, relative_to_fastest=303.0, relative_interval=None, verdict=SLOWER)
    rough = {TO_FASTEST: dataclasses.replace(far.ratios[TO_FASTEST], rough=True)}
    far = dataclasses.replace(far, ratios=rough)
    assert answer([FASTEST_ROW, far], AGAIN) == (
        "mnist_cnn trains fastest on keras3/jax. keras2/theano takes longer, but how much longer is not known: other "
        f"programs used the processor in 19 of 24 turns; end them, then `{AGAIN}`."
    )
    shown = text.text([FASTEST_ROW, far], 120)
    assert "303" not in shown and "slower" in shown
    both = [replace(row, example=name) for name in "ab" for row in (FASTEST_ROW, far)]
    assert not any("303" in one for one in overall.sentences(both))


def test_turns_that_were_disturbed_in_several_examples_are_counted_together() -> None:
    both = [replace(row, example=name) for name in "ab" for row in (FASTEST_ROW, WIDE)]
    assert "2 of 2 examples could not be compared: other programs used the processor in 38 of 48 turns" in headline(
        both
    )


def test_one_value_each_is_no_comparison_and_the_smoke_profile_is_why() -> None:
    first, second = (
        replace(FASTEST_ROW, **QUIET),
        replace(WIDE, relative_interval=None, resampled_values=None, **QUIET),
    )
    smoke = [replace(row, profile="smoke") for row in (first, second)]
    said = "mnist_cnn could not be compared: one epoch each is too few; "
    assert answer(smoke) == f"{said}run without --profile smoke, or with --repeats 3."
    assert answer([first, second]) == f"{said}use --repeats 3."


def test_times_that_vary_too_much_are_no_comparison_either() -> None:
    rows = [replace(FASTEST_ROW, **QUIET), replace(WIDE, **QUIET)]
    assert answer(rows, AGAIN) == (
        f"mnist_cnn could not be compared: times vary too much; measure again with `{AGAIN}`."
    )


def test_the_headline_ranks_only_what_was_compared() -> None:
    others = [replace(row, example="mnist_mlp") for row in ROWS]
    assert headline([FASTEST_ROW, WIDE, *others], AGAIN) == (
        "keras3/jax was fastest in 1 of 2 examples. In 1 of these, another backend may be as fast. 1 of 2 examples "
        "could not be compared: other programs used the processor in 19 of 24 turns; end them, then "
        f"`{AGAIN}`. Rows: 6 ok, 1 failed."
    )
    once = [
        replace(row, example="babi_rnn", profile="smoke", resampled_values=None, relative_interval=None, **QUIET)
        for row in (FASTEST_ROW, WIDE)
    ]
    calm = [*once, *(replace(row, example="imdb_gru") for row in once)]
    assert headline([FASTEST_ROW, WIDE, *calm], AGAIN).startswith(
        "3 of 3 examples could not be compared. 2 of these: one epoch each is too few; run without --profile smoke, "
        "or with --repeats 3. 1 of these: other programs used the processor in 19 of 24 turns; end them, then "
    )
    partly = replace(WIDE, example="mnist_mlp")
    assert "keras2/theano could not be compared: other programs used" in headline([*others, partly])
    assert "slowest, keras2/mxnet" in answer([*others, replace(partly, relative_to_fastest=9.0)])


def test_it_stands_above_its_table_wherever_that_is_shown() -> None:
    sentence = answer(ROWS)
    shown = " ".join(text.text(ROWS).split())
    assert shown.index(sentence) < shown.index("backend s/epoch")
    assert markdown.markdown(ROWS).index(markdown.escape(sentence)) < markdown.markdown(ROWS).index("| backend")
    cells = [measured(cell(backend=name), 9.0, seconds, seconds) for name, seconds in (("a/x", 2.0), ("a/y", 3.0))]
    rows = summarise(cells)
    page = html([Run("mine", "2026", "", {}, {}, {}, rows, cells)])
    section = page[page.index('<section class="example"') :]
    assert section.index(answer(rows)) < section.index("<table")


def test_what_several_tables_have_to_note_is_noted_below_the_first_of_them() -> None:
    rows = [
        summary("a/x", example=example, status=status, reason=reason, repeats=2, final_val_accuracy_sd=0.01)
        for example in ("one", "two")
        for status, reason in (("ok", ""), (FAILED, "the same"), (FAILED, f"that of {example}"))
    ]
    first, second = tables(rows)
    assert first.numbered == ["[1] the same", "[2] that of one"]
    assert second.numbered == ["[3] that of two"]
    assert [row[-1] for row in second.rows] == ["ok", "failed [1]", "failed [3]"]
    assert any(remark.startswith("±") for remark in first.remarks) and not second.remarks


def test_who_is_done_first_with_compilation_is_said_where_that_is_another() -> None:
    fast = summary("keras3/jax", epochs=3, epoch_seconds=1.0, first_epoch_seconds=10.0)
    slow = replace(fast, backend="keras3/torch", epoch_seconds=2.0, first_epoch_seconds=2.5, relative_to_fastest=2.0)
    said = answer([fast, replace(slow, relative_interval=Interval(1.9, 2.1), verdict=SLOWER)])
    assert said.endswith(
        " Counting compilation, keras3/torch finishes these 3 epochs first: 6.50 s against 12.0 s on keras3/jax."
    )
    assert "Counting compilation" not in answer([replace(fast, epochs=100), replace(slow, epochs=100)])
