"""Decides which block goes to which machine next, and when a block is given up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from kbench.cluster.messages import Block

MOST_ATTEMPTS = 3  # of a block


@dataclass(frozen=True)
class Worker:
    """A Dask worker that measures."""

    address: str
    host: str  # a machine measures one block at a time, whatever number of workers it has
    kind: str  # of its machine: a folder's name


class Schedule:
    """The blocks that are not measured yet."""

    def __init__(self, blocks: Sequence[Block], spread: bool, measured: Collection[str] = ()) -> None:
        """`spread`: every kind of machine measures every block; else any machine does. `measured`: names."""
        self._blocks = list(blocks)
        self._spread = spread
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

    def take(self, worker: Worker) -> Block | None:
        """The next block for an idle machine; None if there is none."""
        if self._spread and worker.kind not in self._kinds:
            self._kinds.add(worker.kind)
            more = [replace(one, kind=worker.kind) for one in self._blocks]
            self._open += [one for one in more if one.name not in self._measured]
        for position, block in enumerate(self._open):
            if block.kind in ("", worker.kind) and worker.host not in self._failed_on.get(block.name, ()):
                return self._open.pop(position)
        return None

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
        """Give up the blocks that have failed on every machine there is."""
        for block in list(self._open):
            hosts = {one.host for one in workers if block.kind in ("", one.kind)}
            if hosts and hosts <= self._failed_on.get(block.name, set()):
                self._open.remove(block)
                self.given_up.append(block)
