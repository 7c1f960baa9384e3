"""Published accuracies beside a run that trained on as much: what it reaches, when, and the line in its curves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_runs import COLORS, cell, fake_run, measured, summary

from kbench import store
from kbench.additions import ReferenceLine
from kbench.analysis.summaries import summarise
from kbench.features.published import figures as published
from kbench.features.published.accuracies import PublishedAccuracy, match_published
from kbench.features.published.accuracy_tables import table
from kbench.features.published.figures import PublishedFigure
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.plots.convergence import _figure as draw
from kbench.plots.styles import OWN, row_styles
from kbench.records.values import OK, Measured, Outcome

FIGURE = PublishedFigure(
    source="paper2017",
    year=2017,
    workload="mnist_cnn",
    framework="Keras(CNTK)",
    backend="keras2/cntk",
    epochs=12,
    metric="test_accuracy",
    value=0.75,
    unit="fraction",
)
FIGURES = [
    FIGURE,
    replace(FIGURE, framework="Keras(TF)", backend="keras2/tensorflow", value=0.5),
    replace(FIGURE, framework="Keras(MXNet)", backend="keras2/mxnet", value=0.875),
    replace(FIGURE, metric="training_time", value=99.0, unit="s"),
    replace(FIGURE, workload="mnist_mlp", value=0.99),
]
FACTS = {"task": "train", "available_samples": 1000, "data_source": "real"}


def trained(backend: str, *accuracy: float, repeat: int = 1, **facts: Any) -> Measured:
    one = cell(backend=backend, samples=1000, epochs=len(accuracy), repeat=repeat)
    return measured(one, *[2.0] * len(accuracy), facts={**FACTS, **facts}, val_accuracy=list(accuracy))


def found(*cells: Measured, figures: list[PublishedFigure] = FIGURES) -> list[PublishedAccuracy]:
    return match_published(summarise(cells), cells, figures)


def test_rows_are_to_reach_the_median_of_what_was_published_of_their_network() -> None:
    (one,) = found(trained("keras2/cntk", 0.6, 0.76, 0.8), trained("keras3/tensorflow", 0.6, 0.7, 0.74))
    assert (one.example, one.value, one.ends) == ("mnist_cnn", 0.75, (0.5, 0.875))
    cntk, tensorflow = sorted(one.rows, key=lambda reached: reached.row.backend)
    assert (cntk.epochs, cntk.seconds) == (2, 4.0)
    assert [figure.value for figure in cntk.own] == [0.75]
    assert (tensorflow.epochs, tensorflow.seconds) == (None, None), "it never gets there"
    assert [figure.value for figure in tensorflow.own] == [0.5], "of its backend in the other generation"


def test_of_repeats_the_median_counts_and_half_that_never_get_there_are_too_few() -> None:
    (one,) = found(*(trained("keras2/cntk", *accuracy, repeat=place) for place, accuracy in enumerate(REPEATS, 1)))
    assert one.rows[0].epochs == 2
    (one,) = found(*(trained("keras2/cntk", *REPEATS[place], repeat=place + 1) for place in (0, 2)))
    assert one.rows[0].epochs is None


REPEATS = [(0.6, 0.8, 0.8), (0.8, 0.8, 0.8), (0.6, 0.6, 0.6)]


@pytest.mark.parametrize("other", [{"available_samples": 60000}, {"data_source": "synthetic"}, {"task": "infer"}])
def test_a_run_on_fewer_or_other_data_is_not_beside_them(other: dict[str, Any]) -> None:
    assert found(trained("keras2/cntk", 0.6, 0.8, **other)) == []
    assert found(trained("keras2/cntk", 0.6, 0.8), figures=FIGURES[3:]) == []


def test_the_table_has_the_first_to_get_there_first() -> None:
    late, never, early = (
        trained("keras2/cntk", 0.6, 0.7, 0.8),
        trained("keras3/jax", 0.6, 0.7, 0.7),
        trained("keras2/mxnet", 0.6, 0.8, 0.8),
    )
    (one,) = found(late, never, early)
    shown = table(one)
    assert shown.columns == ("backend", "epochs", "val. accuracy", "published", "epochs to 0.7500", "s to 0.7500")
    assert shown.rows == (
        ("keras2/mxnet", "3", "0.8000", "0.8750", "2", "4.00"),
        ("keras2/cntk", "3", "0.8000", "0.7500", "3", "6.00"),
        ("keras3/jax", "3", "0.7000", "-", "-", "-"),
    )
    assert "on the test set after 12 epochs" in shown.remarks[0]
    assert "the median of 3 published figures" in shown.remarks[1]


def test_what_is_known_of_all_published_figures_stands_below_the_table() -> None:
    noted = [replace(figure, note="other data") for figure in FIGURES]
    (one,) = found(trained("keras2/cntk", 0.6, 0.8), figures=noted)
    assert table(one).remarks[2:] == ("Published figures: other data.",)
    noted[0] = replace(noted[0], note="CNTK 2.1")
    (one,) = found(trained("keras2/cntk", 0.6, 0.8), figures=noted)
    assert table(one).remarks[2:] == ()


def test_a_single_figure_is_no_range() -> None:
    (one,) = found(trained("keras2/cntk", 0.6, 0.8), figures=[FIGURE])
    assert one.in_words == "published: 0.7500"
    (one,) = found(trained("keras2/cntk", 0.6, 0.8))
    assert one.in_words == "published: 0.5000 to 0.8750, median 0.7500"


def test_the_curves_have_it_as_a_line_in_both_panels_and_in_the_legend() -> None:
    cells = [trained("keras2/cntk", 0.6, 0.8), trained("keras3/jax", 0.5, 0.7)]
    (one,) = found(*cells)
    chosen = row_styles(summarise(cells), COLORS)
    figure = draw(cells, chosen, "val_accuracy", OWN, ReferenceLine(one.value, one.ends, one.in_words))
    for axes in figure.axes:
        assert [line for line in axes.lines if np.asarray(line.get_ydata()).tolist() == [0.75, 0.75]]
    (legend,) = figure.legends
    assert legend.get_texts()[-1].get_text() == one.in_words


@pytest.mark.parametrize("shown", [True, False])
def test_page_and_charts_have_it_where_a_run_trained_on_as_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    monkeypatch.setattr(published, "read", lambda: FIGURES)
    fates = [(cell(backend=name, samples=1000), 2.0, Outcome(OK)) for name in ("keras2/cntk", "keras3/jax")]
    run = fake_run(tmp_path, fates, available_samples=1000 if shown else 60000)
    one_run.rebuild(ToldRun(store.read(run)))
    page, markdown = (run / "report.html").read_text("utf-8"), (run / "summary.md").read_text("utf-8")
    assert ("accuracy, here and published" in page) == shown
    assert ("## mnist_cnn (accuracy, here and published)" in markdown) == shown
    assert ('"reference":0.75' in page) == shown
    assert ("Grey line: published: 0.5000 to 0.8750" in page) == shown


def test_rows_without_an_accuracy_have_none() -> None:
    row = summary(available_samples=1000, final_val_accuracy=None)
    assert match_published([row], [], FIGURES) == []
