"""The table of epochs that were finished before a run was interrupted: rows need cells that ended."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from kbench.analysis.times.machine_stability import mostly_disturbed
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
    load = ["?time: disturbed, so not to be relied on."] if any(map(_is_disturbed, measured)) else []
    remarks = ("What did not end is not compared.", *load)
    return Table("Epochs that were done when the run was stopped", heads, rows, _TEXT, remarks=remarks)


def _is_disturbed(one: Measured) -> bool:
    return one.outcome.status == INTERRUPTED and bool(one.epochs) and mostly_disturbed([one])


def _cells(one: Measured) -> dict[str, str]:
    first, *later = one.epochs
    last = one.epochs[-1]
    mark = "?" if _is_disturbed(one) else ""
    accuracy = last.accuracy if last.val_accuracy is None else last.val_accuracy
    return {
        "example": plain(one.cell.example) + (f" (repeat {one.cell.repeat})" if one.cell.repeat > 1 else ""),
        "backend": plain(one.cell.backend),
        "epochs": f"{len(one.epochs)}{f' of {one.cell.epochs}' if one.cell.epochs else ''}",
        "s/epoch": f"{mark}{significant(median(epoch.seconds for epoch in later))}" if later else MISSING,
        "first epoch (s)": f"{mark}{significant(first.seconds)}",
        "loss": significant(last.loss),
        "accuracy": MISSING if accuracy is None else f"{accuracy:.4f}",
    }
