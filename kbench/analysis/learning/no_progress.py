"""Whether training comes to nothing on every backend: a loss that never falls, a score that never changes.

So it is with dead units, wrong labels or a wrong learning rate. Short trainings show nothing: in the runs that come
with kbench the loss of a small one may stay within 0.1 %, and after 40 steps it has fallen by at least 6 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kbench.records.axes import RowKey
from kbench.records.findings import Finding
from kbench.records.values import OK, Measured
from kbench.summary import Summary

EPOCHS, STEPS = 3, 40  # at least, to say anything
FALLS = 0.01  # of the first loss: less is none
SCORES = {"val_loss": "validation loss", "val_accuracy": "validation accuracy"}


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with what comes to nothing on all of their example."""
    of_cells: dict[RowKey, list[Measured]] = {}
    for one in measured:
        if one.outcome.status == OK:
            of_cells.setdefault(one.cell.key, []).append(one)
    groups: dict[str, list[Summary]] = {}
    for row in rows:
        if row.status == OK and row.work.trains and not row.work.by_call and not row.has("not finite"):
            groups.setdefault(row.title, []).append(row)
    noted: dict[RowKey, tuple[Finding, ...]] = {}
    for group in groups.values():
        cells = [one for row in group for one in of_cells.get(row.key, ())]
        several = len({row.backend for row in group}) > 1
        for aspect in set.intersection(*(set(_without_progress(one)) for one in cells)) if cells else ():
            about = {"epochs": min(len(one.epochs) for one in cells), "several": several}
            found = Finding(kind="no progress", aspect=aspect, about=about)
            noted |= {row.key: (*noted.get(row.key, ()), found) for row in group}
    return [replace(row, findings=(*row.findings, *noted.get(row.key, ()))) for row in rows]


def _without_progress(one: Measured) -> Iterator[str]:
    """The aspects in which a training comes to nothing."""
    cell, epochs = one.cell, one.epochs
    steps = sum(len(epoch.step_seconds) or epoch.samples // max(1, cell.batch_size) for epoch in epochs)
    if len(epochs) < EPOCHS or steps < STEPS:
        return
    losses = [math.nan if epoch.loss is None else epoch.loss for epoch in epochs]
    step = one.facts.first_step
    first = max(losses[0], step.loss if step is not None and step.loss is not None else losses[0])
    if min(losses) > (1 - FALLS) * first > 0:
        yield "loss"
    for name, words in SCORES.items():
        scores = {getattr(epoch, name) for epoch in epochs}
        if len(scores) == 1 and scores.isdisjoint({None, 0.0, 1.0}):
            yield words
