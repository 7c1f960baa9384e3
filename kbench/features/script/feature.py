"""Runs a user's own Keras program, unchanged, on each backend, and times what it calls of its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbench import hooks
from kbench.hooks import GuestDriver

if TYPE_CHECKING:
    from kbench.planning.tasks import CellTask


@hooks.fills
def guest_driver(task: CellTask) -> GuestDriver | None:
    """What runs a program in a backend's process, also where a feature does something else with it."""
    return GuestDriver("script", "kbench_script.driver") if task.script is not None else None
