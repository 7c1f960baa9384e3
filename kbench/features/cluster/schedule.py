"""Decides which block goes to which machine next, and when a block is given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from kbench.features.cluster.messages import Block

MOST_ATTEMPTS = 3  # of a block


@dataclass(frozen=True)
class Worker:
    """A Dask worker that measures."""

    address: str
    host: str  # a machine measures one block at a time, whatever number of workers it has
    kind: str  # of its machine: a folder's name


class Schedule:
    """The blocks that are not measured yet."""

    def __init__(
        self, blocks: Sequence[Block], spread: bool, measured: Collection[str] = (), machines: int = 1
    ) -> None:
        """`spread`: every kind of machine measures every block; else any machine does. `measured`: names. `machines`:
        how many of one kind measure a block together.
        """
        self._blocks = list(blocks)
        self._spread = spread
        self._machines = machines
        self._measured = set(measured)
        self._open = [] if spread else [one for one in blocks if one.name not in self._measured]
        self._kinds: set[str] = set()
        self._attempts: dict[str, int] = {}
        self._failed_on: dict[str, set[str]] = {}  # hosts, by block
        self.given_up: list[Block] = []

    @property
    def open(self) -> int:
        """The number of blocks that nobody measures."""
        return len(self._open)

    @property
    def waits_for_machines(self) -> bool:
        """Whether the blocks are unknown, because no kind of machine is known."""
        return self._spread and not self._kinds

    @property
    def waiting(self) -> str:
        """What is waited for, while no block is measured."""
        if self._machines == 1:
            return "Waiting for workers that can measure."
        return f"Waiting for {self._machines} machines of one kind: a block takes so many at once."

    def take(self, worker: Worker, idle: Sequence[Worker] = ()) -> Block | None:
        """The next block for an idle machine, and as many others as it takes; None if there is none."""
        if self._spread and worker.kind not in self._kinds:
            self._kinds.add(worker.kind)
            more = [replace(one, kind=worker.kind) for one in self._blocks]
            self._open += [one for one in more if one.name not in self._measured]
        for position, block in enumerate(self._open):
            if self._may(block, worker) and len(self.together(block, worker, idle)) == self._machines:
                return self._open.pop(position)
        return None

    def together(self, block: Block, worker: Worker, idle: Sequence[Worker]) -> list[Worker]:
        """The machines that measure the block together: this one, and others of its kind, as far as there are any."""
        fit = [one for one in (worker, *idle) if one.kind == worker.kind and self._may(block, one)]
        return fit[: self._machines]

    def _may(self, block: Block, worker: Worker) -> bool:
        return block.kind in ("", worker.kind) and worker.host not in self._failed_on.get(block.name, ())

    def put_back(self, block: Block, host: str = "") -> None:
        """A block was not measured. `host` failed and does not get it again; it is empty if the worker was lost."""
        self._attempts[block.name] = self._attempts.get(block.name, 0) + 1
        if host:
            self._failed_on.setdefault(block.name, set()).add(host)
        if self._attempts[block.name] < MOST_ATTEMPTS:
            self._open.insert(0, block)
        else:
            self.given_up.append(block)

    def give_up_stuck(self, workers: Sequence[Worker]) -> None:
        """Give up the blocks that have failed on so many of the machines there are that too few are left."""
        for block in list(self._open):
            hosts = {(one.kind, one.host) for one in workers if block.kind in ("", one.kind)}
            left = Counter(kind for kind, host in hosts if host not in self._failed_on.get(block.name, ()))
            if hosts and block.name in self._failed_on and max(left.values(), default=0) < self._machines:
                self._open.remove(block)
                self.given_up.append(block)
