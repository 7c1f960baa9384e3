"""The columns of rows: what a sample takes, and how near its time comes to the least that the machine needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbench.additions import Column
from kbench.analysis.times import step_times
from kbench.features.limit import roofline
from kbench.summary import Figure, Summary

if TYPE_CHECKING:
    from kbench.analysis.row_figures import RowProcesses

ABOVE = "% of limit: above 100 if the machine was busy when its limit was measured or fewer operations suffice."
ABOUT = (
    "% of limit is how close a row comes to the fastest that this machine could be, by its measured arithmetic and "
    "memory rates and the operations counted from the layers."
)


def operations(row: RowProcesses) -> int | None:
    """Floating-point operations of a sample; None where its layers are not known."""
    work = roofline.work(row.facts)
    return None if work is None else work.operations * _passes(row)


def percent(row: RowProcesses) -> float | None:
    """How near to the processor's limit it is: a GPU's is not measured. 100: as fast as the machine allows."""
    work, limits = roofline.work(row.facts), roofline.limits(roofline.larger(row.provenance))
    cell, per_1000 = row.repeats[0].cell, row.per_1000
    if work is None or not work.operations or limits is None or per_1000 is None or cell.device != "cpu":
        return None
    return roofline.percent(work, cell.batch_size, per_1000 / _passes(row) / 1000, limits)


def _passes(row: RowProcesses) -> int:
    """Of generation: a forward pass for each token."""
    return int(step_times.median_of([epoch.tokens / epoch.samples for epoch in row.timed if epoch.tokens]) or 1)


def _above(rows: Sequence[Summary]) -> str:
    return ABOVE if any((row.of_features.get("percent_of_limit") or 0) > 100 for row in rows) else ""


COLUMNS = (
    Column(
        "operations_per_sample",
        "allocator_peak_mib",
        operations,
        Figure(),
        whole=True,
        of_examples="operations / sample",
    ),
    Column(
        "percent_of_limit",
        "operations_per_sample",
        percent,
        Figure(title="% of limit", shown="memory", digits=2, left_out=3),
        about=ABOUT,
        remark=_above,
    ),
)
