"""The processes of a cell of several workers: what they are, which run here, where they meet, what each is told."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kbench.features.workers.axes import scaling
from kbench.records.values import Device

if TYPE_CHECKING:
    from kbench.cells.spec import RunPaths
    from kbench.planning.tasks import CellTask

# What several workers are, if not devices of one process: processes of a machine, or one on each. Those of the last
# kind all get whole batches, which the engine divides.
PROCESSES, MACHINES, DIVIDING = "processes", "machines", "machines, dividing batches"


def apart(task: CellTask) -> bool:
    """Whether each worker is on a machine of its own."""
    return task.engine in (MACHINES, DIVIDING)


def count(task: CellTask) -> int:
    """How many processes it runs in at once, on all its machines."""
    return task.workers if task.engine == PROCESSES or apart(task) else 1


def numbers(task: CellTask, run_paths: RunPaths) -> list[int]:
    """Which of them run on this machine."""
    if apart(task) and run_paths.place:
        return [run_paths.place.rank]
    return [*range(count(task))]


def addresses(task: CellTask, run_paths: RunPaths) -> list[str]:
    """At which the workers find each other: one for each, or the first one's."""
    if apart(task) and run_paths.place:
        return run_paths.place.addresses(task)
    return free_addresses(task.workers)


def free_addresses(number: int) -> list[str]:
    """So many addresses of this machine alone, at ports that are free now."""
    with contextlib.ExitStack() as stack:  # all at once, or two might be the same
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def devices(task: CellTask, run_paths: RunPaths, number: int) -> list[Device]:
    """Those that a process of the cell sees: of several workers on GPUs one each, or all of them in one process."""
    device = run_paths.devices[task.device]
    if device.kind == "cpu" or apart(task):
        return [device]
    following = [gpu for gpu in run_paths.gpus if (gpu.index or 0) >= (device.index or 0)][: task.workers]
    return following if count(task) == 1 else following[number : number + 1]


def told(task: CellTask, run_paths: RunPaths, number: int, meeting: Sequence[str]) -> dict[str, Any]:
    """What a process is told of the others; meeting: the `addresses`."""
    return {
        "count": task.workers,
        "rank": number,
        "addresses": list(meeting),
        "processes": count(task),
        "scaling": scaling(task),
        **({"interface": run_paths.place.interface()} if run_paths.place and apart(task) else {}),
        **({"whole": True} if task.engine == DIVIDING else {}),
    }
