"""The columns of rows: how long several workers exchange gradients, and what the one that takes most holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbench.additions import Column
from kbench.analysis.times import step_times
from kbench.features.workers import events
from kbench.summary import Figure, Summary

if TYPE_CHECKING:
    from kbench.analysis.row_figures import RowProcesses

_TOLD = "communication: of an epoch, as the engine tells it."


def communication(row: RowProcesses) -> float | None:
    """Of a steady epoch, of which a worker exchanged gradients: mean over workers, median over epochs."""
    found = []
    for one in row.ok:
        told = events.told(one.facts)
        for number in {epoch.epoch for epoch in step_times.steady(one.epochs)}:
            of_epoch = [at.communication_seconds for at in told if at.epoch == number]
            known = [seconds for seconds in of_epoch if seconds is not None]
            found += [sum(known) / len(known)] if known else []
    return step_times.median_of(found)


def memory(row: RowProcesses) -> float | None:
    """Of the worker that takes most; None where several are in one process."""
    held = []
    for one in row.ok:
        told = {at.rank: at.peak_mib for at in events.told(one.facts) if at.peak_mib is not None}  # of the last epoch
        held += [max(told.values())] if len(told) == one.cell.workers > 1 else []
    return step_times.median_of(held)


def _on_communication(rows: Sequence[Summary]) -> str:
    return _TOLD if any(row.of_features.get("communication_seconds") for row in rows) else ""


COLUMNS = (
    Column(
        "communication_seconds",
        "efficiency",
        communication,
        Figure(title="communication", unit="s", shown="speed"),
        remark=_on_communication,
    ),
    Column(
        "worker_memory_mib",
        "communication_seconds",
        memory,
        Figure(title="MiB per worker", shown="speed"),
    ),
)
