"""The place of this machine among several that have a worker each: which one is its own, and where they meet."""

from __future__ import annotations

import contextlib
import hashlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import psutil

from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.records.values import Environment

FIRST_PORT, PORTS = 20_000, 12_000  # below those that systems give to whoever asks for any


@dataclass(frozen=True)
class Place:
    """Of a machine, while it measures what the others do, cell by cell."""

    rank: int  # of its worker in each cell that has so many
    hosts: tuple[str, ...]  # of all of them
    token: str  # of this attempt: the ports of the next one are others

    def addresses(self, task: CellTask) -> list[str]:
        """Those of a cell's workers, as all machines find by themselves."""
        number = hashlib.sha256(f"{self.token} {task.id}".encode()).digest()
        first = int.from_bytes(number[:4], "big")
        hosts = self.hosts[: task.workers]
        return [f"{host}:{FIRST_PORT + (first + rank) % PORTS}" for rank, host in enumerate(hosts)]

    def interface(self) -> str:
        """The network interface by which this machine and the first one reach each other; empty if unknown."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect((self.hosts[0], FIRST_PORT))  # sends nothing
            own = one.getsockname()[0]
            there = psutil.net_if_addrs().items()
            return next((name for name, has in there if own in {address.address for address in has}), "")
        return ""

    def check_environments(
        self, tasks: Sequence[CellTask], environments: Mapping[tuple[str, str], Environment | str]
    ) -> None:
        """Raises UserError if this machine has no environment for a cell of several: the others would wait for it."""
        for task in tasks:
            environment = environments.get(task.environment)
            if task.workers > 1 and isinstance(environment, str):
                raise UserError(f"{task.backend} is unavailable on this machine: {environment}")

    def own(self, tasks: Sequence[CellTask]) -> tuple[CellTask, ...]:
        """The cells of this machine, in their order. The first one has all; another may have to wait for each until
        all before it are done there.
        """
        if self.rank == 0:
            return tuple(tasks)
        until = accumulate(task.timeout for task in tasks)
        waiting = (replace(task, timeout=seconds) for task, seconds in zip(tasks, until, strict=True))
        return tuple(task for task in waiting if task.workers > self.rank)
