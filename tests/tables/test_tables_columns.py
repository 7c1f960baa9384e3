"""The user's choice of columns, and the spread of an accuracy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_runs import cell, measured, summary

from kbench.errors import UserError
from kbench.records.values import FAILED, FASTEST, INTERRUPTED, NO_DIFFERENCE, SLOWER
from kbench.tables import columns, content, csv, interrupted, runs

ROWS = [
    summary("keras3/jax", epoch_seconds=2.0, verdict=SLOWER, peak_memory_mib=512.25),
    summary("keras3/torch", epoch_seconds=None, status=FAILED, reason="it broke"),
    summary("keras2/cntk", epoch_seconds=1.0, verdict=FASTEST, peak_memory_mib=300.0),
    summary("keras3/jax", "imdb_gru", epoch_seconds=0.5, verdict=FASTEST),
]


def test_columns_are_named_as_in_the_table_or_in_summary_csv() -> None:
    shown = columns.named(("Backend", "s/epoch", "peak_memory_mib", "verdict"))
    one = content.tables(ROWS, "", shown)[0]
    assert one.columns == ("backend", "s/epoch", "peak_memory_mib", "verdict") or "verdict" in one.columns
    assert one.columns[:3] == ("backend", "s/epoch", "peak_memory_mib")
    assert one.rows[0][:3] == ("keras3/jax", "2.00", "512.2")
    assert one.rows[1][:3] == ("keras3/torch", "-", "-")
    assert one.optional == () and not one.footnotes
    for rows in (ROWS, []):
        first, *_ = csv.summary_csv(rows, shown).splitlines()
        assert first == "backend,epoch_seconds,peak_memory_mib,verdict"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("s/epohc", "--columns: there is no column 's/epohc': did you mean s/epoch?"),
        ("verdct", "--columns: there is no column 'verdct': did you mean verdict?"),
        ("qqqqqqqq", "--columns: there is no column 'qqqqqqqq': choose from backend, s/epoch"),
    ],
)
def test_a_column_that_there_is_not_is_one_sentence(asked: str, words: str) -> None:
    with pytest.raises(UserError, match="there is no column") as refused:
        columns.named([asked])
    assert words in str(refused.value)


def test_data_are_the_dataset_and_their_source_is_another_column_also_where_it_varies() -> None:
    for sources in (["real"], ["real", "synthetic"]):
        varied = len(sources) > 1
        rows = [
            summary(data="mnist", data_source=one, axes={"data_source": one} if varied else {}) for one in sources
        ]
        assert (
            content.table(rows).columns.count("data source") == varied and "data" not in content.table(rows).columns
        )
        for asked in ("data_source", "data source"):
            found = content.table(rows, shown=columns.named(("data", asked)))
            assert found.columns == ("data", "data source" if varied else "data_source")
            assert found.rows == tuple(("mnist", one) for one in sources)


def test_every_heading_stands_for_a_column_of_summary_csv() -> None:
    assert set(columns.of_headings().values()) <= set(columns.names())


@pytest.mark.parametrize(
    ("spread", "shown"), [(None, "0.9375"), (0.0, "0.9375"), (4e-5, "0.9375"), (0.0125, "0.9375 ± 0.0125")]
)
def test_a_spread_is_shown_where_it_is_more_than_nothing(spread: float | None, shown: str) -> None:
    row = summary(final_val_accuracy_sd=spread, repeats=3, seeds=1)
    assert content.accuracy(row) == shown
    assert any(remark.startswith("±") for remark in content.table([row]).remarks) == ("±" in shown)


def test_epochs_that_were_done_before_an_interruption_are_a_table() -> None:
    cut = measured(
        cell(epochs=8), 9.0, 1.0, 3.0, 2.0, status=INTERRUPTED, loss=0.5, val_accuracy=[0.1, 0.2, 0.3, 0.9]
    )
    first = measured(cell(backend="keras3/jax", epochs=8), 9.0, status=INTERRUPTED, loss=0.75)
    never = measured(cell(backend="keras3/torch"), status=INTERRUPTED)
    ended = measured(cell(backend="keras2/theano"), 1.0, 1.0)
    found = interrupted.table([cut, first, never, ended])
    assert found is not None
    assert found.columns == ("example", "backend", "epochs", "s/epoch", "first epoch (s)", "loss", "accuracy")
    assert found.rows == (
        ("mnist_cnn", "keras2/cntk", "4 of 8", "2.00", "9.00", "0.500", "0.9000"),
        ("mnist_cnn", "keras3/jax", "1 of 8", "-", "9.00", "0.750", "-"),
    )
    assert interrupted.table([never, ended]) is None
    busy = replace(cut, outcome=replace(cut.outcome, others=0.5))
    disturbed = interrupted.table([busy, first])
    assert disturbed is not None and disturbed.rows[0][3:5] == ("?2.00", "?9.00")
    assert disturbed.remarks[1:] == ("?time: disturbed, so not to be relied on.",) and len(found.remarks) == 1


def test_the_verdicts_of_a_run_are_a_few_words() -> None:
    rows = [*ROWS, summary("keras3/torch", "imdb_gru", verdict=NO_DIFFERENCE)]
    assert runs.verdicts(rows) == "fastest cntk, jax; 1 slower; 1 no difference; 1 failed"
    assert runs.verdicts([summary(), summary("a/b")]) == "2 ok"
    assert runs.verdicts([summary(verdict=FASTEST)]) == "1 ok", "fastest of one"
    assert runs.verdicts([]) == "-"
    assert runs.first_names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
