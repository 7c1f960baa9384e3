"""The table of epochs that were finished before a run was interrupted: rows need cells that ended."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kbench.records.values import INTERRUPTED, Measured
from kbench.tables.content import Table
from kbench.words.text import MISSING, plain, significant

_TEXT = frozenset({"example", "backend", "epochs"})


def table(measured: Sequence[Measured]) -> Table | None:
    """A row for each interrupted cell that had finished an epoch; None if none had."""
    cut = [_cells(one) for one in measured if one.outcome.status == INTERRUPTED and one.epochs]
    if not cut:
        return None
    heads = tuple(name for name in cut[0] if any(cells[name] != MISSING for cells in cut))
    rows = tuple(tuple(cells[name] for name in heads) for cells in cut)
    remark = "What did not end is not compared."
    return Table("Epochs that were done when the run was stopped", heads, rows, _TEXT, remarks=(remark,))


def _cells(one: Measured) -> dict[str, str]:
    first, *later = one.epochs
    last = one.epochs[-1]
    accuracy = last.accuracy if last.val_accuracy is None else last.val_accuracy
    return {
        "example": plain(one.cell.example) + (f" (repeat {one.cell.repeat})" if one.cell.repeat > 1 else ""),
        "backend": plain(one.cell.backend),
        "epochs": f"{len(one.epochs)}{f' of {one.cell.epochs}' if one.cell.epochs else ''}",
        "s/epoch": significant(median(epoch.seconds for epoch in later) if later else None),
        "first epoch (s)": significant(first.seconds),
        "loss": significant(last.loss),
        "accuracy": MISSING if accuracy is None else f"{accuracy:.4f}",
    }
