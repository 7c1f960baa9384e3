"""Published accuracies of an example's network: what a run reaches of them, and when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from kbench.analysis.learning import learning_curves
from kbench.analysis.times import step_times
from kbench.features.published.figures import PublishedFigure, same_backend
from kbench.records.values import OK, Measured
from kbench.summary import Summary

METRIC = "test_accuracy"


@dataclass(frozen=True)
class Reached:
    """What a row reaches: medians over the repeats that ended ok."""

    row: Summary
    own: tuple[PublishedFigure, ...]  # the figures of its backend, in whichever generation
    epochs: float | None  # until the published accuracy; None if half of them or more never got there
    seconds: float | None  # of training, the first epoch included


@dataclass(frozen=True)
class PublishedAccuracy:
    """The figures of one network."""

    example: str
    figures: tuple[PublishedFigure, ...]
    rows: tuple[Reached, ...]

    @property
    def value(self) -> float:
        """The one that rows are to reach, the same for all: the median."""
        return median(figure.value for figure in self.figures)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest."""
        values = [figure.value for figure in self.figures]
        return min(values), max(values)

    @property
    def in_words(self) -> str:
        """Such as `published: 0.9841`, or `published: 0.9822 to 0.9846, median 0.9841`."""
        low, high = self.ends
        return f"published: {low:.4f}" + (f" to {high:.4f}, median {self.value:.4f}" if high > low else "")


def match_published(
    rows: Iterable[Summary], measured: Sequence[Measured], figures: Sequence[PublishedFigure]
) -> list[PublishedAccuracy]:
    """For each example with such figures, its rows that trained on as many real samples as was published.

    `measured` are the cells of the rows.
    """
    by_example: dict[str, list[Summary]] = {}
    for row in rows:
        if _trained_on_all(row):
            by_example.setdefault(row.example, []).append(row)
    found = []
    for example, there in by_example.items():
        of_network = tuple(one for one in figures if (one.workload, one.metric) == (example, METRIC))
        if of_network:
            published = PublishedAccuracy(example, of_network, ())
            found.append(replace(published, rows=tuple(_reached(row, published, measured) for row in there)))
    return found


def _trained_on_all(row: Summary) -> bool:
    return (
        row.task == "train"
        and row.final_val_accuracy is not None
        and row.data_source == "real"
        and row.samples >= (row.available_samples or math.inf)
    )


def _reached(row: Summary, published: PublishedAccuracy, measured: Sequence[Measured]) -> Reached:
    ok = [one for one in measured if one.cell.key == row.key and one.outcome.status == OK]
    reached = [learning_curves.to_target(one.epochs, f"val_accuracy >= {published.value}") for one in ok]
    epochs, seconds = (step_times.median_of([one[place] for one in reached]) for place in (0, 1))
    same = tuple(one for one in published.figures if same_backend(one.backend, row.backend))
    return Reached(row, same, _finite(epochs), _finite(seconds))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
