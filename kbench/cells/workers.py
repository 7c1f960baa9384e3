"""What a cell of several workers takes: addresses, devices, and which of its processes run here."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

from kbench.cells.spec import RunPaths
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.records.values import Device


def addresses(count: int) -> list[str]:
    """So many addresses of this machine alone, at ports that are free now."""
    with contextlib.ExitStack() as stack:  # all at once, or two might be the same
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]


def numbers(task: CellTask, run_paths: RunPaths) -> list[int]:
    """Which of the cell's processes run on this machine."""
    place = run_paths.place if task.apart else None
    return [*range(task.processes)] if place is None else [place.rank]


def meeting(task: CellTask, run_paths: RunPaths) -> list[str]:
    """The addresses at which the cell's workers find each other: one for each, or the first one's."""
    if task.apart and run_paths.place:
        return run_paths.place.addresses(task)
    return addresses(task.workers) if task.workers > 1 else []


def check_environments(tasks: Sequence[CellTask], run_paths: RunPaths) -> None:
    """Raises UserError if this machine has no environment for a cell of several: the others would wait for it."""
    for task in tasks:
        environment = run_paths.environments.get(task.environment)
        if task.apart and isinstance(environment, str):
            raise UserError(f"{task.backend} is unavailable on this machine: {environment}")


def devices_of(task: CellTask, run_paths: RunPaths, worker: int) -> list[Device]:
    """Those that a process of the cell sees: of several workers on GPUs one each, or all of them in one process."""
    device = run_paths.devices[task.device]
    if device.kind == "cpu" or task.workers == 1 or task.apart:
        return [device]
    there = [one for one in run_paths.gpus if (one.index or 0) >= (device.index or 0)][: task.workers]
    return there if task.processes == 1 else there[worker : worker + 1]
