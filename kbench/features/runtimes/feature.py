"""Runs models that Keras has exported, in runtimes without Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import GuestDriver
from kbench.records.values import EXPORT

if TYPE_CHECKING:
    from kbench.planning.tasks import CellTask


@hooks.fills
def guest_driver(task: CellTask) -> GuestDriver | None:
    """What exports a model and runs it."""
    return GuestDriver("runtimes", "kbench_runtimes.driver") if task.kind == EXPORT else None
