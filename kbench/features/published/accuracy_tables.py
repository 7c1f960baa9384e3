"""The table of an example's accuracies, here and published."""

from __future__ import annotations

from kbench.features.published.accuracies import PublishedAccuracy, Reached
from kbench.tables.content import Table
from kbench.tables.entries import accuracy
from kbench.words.text import MISSING, plain, significant


def heading(one: PublishedAccuracy) -> str:
    """Such as `mnist_mlp (accuracy, here and published)`."""
    return plain(f"{one.example} (accuracy, here and published)")


def table(one: PublishedAccuracy) -> Table:
    """Its rows, the first to get there first."""
    until = f"{one.value:.4f}"
    late = float("inf")
    rows = sorted(one.rows, key=lambda reached: late if reached.seconds is None else reached.seconds)
    epochs = {figure.epochs for figure in one.figures if figure.epochs}
    trained = f" after {' or '.join(map(str, sorted(epochs)))} epochs" if epochs else ""
    number = len(one.figures)
    shared = set.intersection(*({figure.note} for figure in one.figures)) - {""}
    of = "the only published figure" if number == 1 else f"the median of {number} published figures"
    return Table(
        heading=heading(one),
        columns=("backend", "epochs", "val. accuracy", "published", f"epochs to {until}", f"s to {until}"),
        rows=tuple(_row(reached) for reached in rows),
        text_columns=frozenset({"backend"}),
        remarks=(
            "published: for the same backend, any version, on the test set" + trained + ".",
            f"to {until}: until the validation accuracy reaches {of}.",
            *(f"Published figures: {note}." for note in shared),
        ),
    )


def _row(reached: Reached) -> tuple[str, ...]:
    own = " and ".join(f"{figure.value:.4f}" for figure in reached.own)
    return (
        plain(reached.row.backend),
        str(reached.row.epochs),
        accuracy(reached.row),
        own or MISSING,
        MISSING if reached.epochs is None else f"{reached.epochs:g}",
        significant(reached.seconds),
    )
