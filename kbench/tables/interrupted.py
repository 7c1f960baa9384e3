"""The table of epochs that were finished before a run was interrupted: rows need cells that ended."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kbench.tables.content import Table
from kbench.text import MISSING, plain, significant
from kbench.values import INTERRUPTED, Measured

_TEXT = frozenset({"example", "backend", "epochs"})


def table(measured: Sequence[Measured]) -> Table | None:
    """A row for each interrupted cell that had finished an epoch; None if none had."""
    cut = [one for one in measured if one.outcome.status == INTERRUPTED and one.epochs]
    if not cut:
        return None
    losses = any(one.epochs[-1].loss is not None for one in cut)
    scores = any(_accuracy(one) is not None for one in cut)
    heads = (
        "example",
        "backend",
        "epochs",
        "s/epoch",
        "first epoch (s)",
        *(["loss"] * losses),
        *(["accuracy"] * scores),
    )
    rows = []
    for one in cut:
        steady = [epoch.seconds for epoch in one.epochs[1:] if epoch.seconds is not None]
        cells = [
            plain(one.cell.example) + (f" (repeat {one.cell.repeat})" if one.cell.repeat > 1 else ""),
            plain(one.cell.backend),
            f"{len(one.epochs)}{f' of {one.cell.epochs}' if one.cell.epochs else ''}",
            significant(median(steady)) if steady else MISSING,
            significant(one.epochs[0].seconds),
        ]
        cells += [significant(one.epochs[-1].loss)] if losses else []
        accuracy = _accuracy(one)
        cells += [MISSING if accuracy is None else f"{accuracy:.4f}"] if scores else []
        rows.append(tuple(cells))
    remark = "What did not end is not compared."
    return Table("Epochs that were done when the run was stopped", heads, tuple(rows), _TEXT, remarks=(remark,))


def _accuracy(one: Measured) -> float | None:
    last = one.epochs[-1]
    return last.accuracy if last.val_accuracy is None else last.val_accuracy
