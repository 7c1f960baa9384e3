"""Gives blocks to machines until all are measured, and keeps what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from kbench.features.cluster import folder
from kbench.features.cluster.joined import joined
from kbench.features.cluster.messages import Block, BlockOrder, Result
from kbench.features.cluster.schedule import Schedule, Worker
from kbench.planning.request import Request
from kbench.records.values import Cell

PAUSE = 0.2  # seconds between two looks at what is done
PATIENCE = 5.0  # seconds without a worker, after which that is said
LATER = 60.0  # seconds after the first worker in which the others of its block have to end


class GivesOrders(Protocol):
    """Says what machines that measure a block together have to do, each of them."""

    def of(self, block: Block, hosts: Sequence[str]) -> Sequence[BlockOrder]: ...

    def cells(self, block: Block, chosen: Request) -> Sequence[Cell]: ...


@dataclass(eq=False)
class Given:
    """A block that was given to a machine, or to several that have a worker each, in the order of these."""

    block: Block
    workers: Sequence[Worker]
    futures: Sequence[Any]  # Dask's
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    first_ended: float | None = None  # when the first one had, on the clock

    def is_late(self) -> bool:
        """Whether the first one has ended and another one still has not."""
        if self.first_ended is None and self.futures[0].done():
            self.first_ended = time.monotonic()
        return self.first_ended is not None and time.monotonic() > self.first_ended + LATER


class Loop:
    """Gives each machine one block at a time until none is left."""

    def __init__(
        self, run: Path, fleet: Any, made: GivesOrders, schedule: Schedule, say: Callable[[str], None]
    ) -> None:
        self._folder, self._fleet, self._orders, self._schedule, self._say = run, fleet, made, schedule, say
        self._running: list[Given] = []

    def run(self) -> None:
        """Until all blocks are measured or given up."""
        since, waited = time.monotonic(), False
        try:
            while self._schedule.open or self._running or self._schedule.waits_for_machines:
                # In this order: a scheduler that goes is noticed before its blocks look as if they had ended.
                done = {future for one in self._running for future in one.futures if future.done()}
                workers = self._fleet.workers()
                there = {one.address for one in workers}
                ended = [one for one in list(self._running) if self._look(one, done, there)]
                self._give_out(workers)
                self._schedule.give_up_stuck(workers)
                since = time.monotonic() if self._running else since
                if not self._running and not waited and time.monotonic() > since + PATIENCE:
                    self._say(self._schedule.waiting)
                    waited = True
                if not ended:
                    time.sleep(PAUSE)
        finally:
            self._fleet.cancel([future for one in self._running for future in one.futures])
            for one in self._running:
                for worker in one.workers:
                    self._attempt(one, worker, "stopped", "the run ended before")

    def _give_out(self, workers: list[Worker]) -> None:
        busy = {worker.host for one in self._running for worker in one.workers}
        by_host: dict[str, Worker] = {}
        for one in workers:
            by_host.setdefault(one.host, one)
        idle = [one for one in by_host.values() if one.host not in busy]
        while idle:
            worker = idle.pop(0)
            block = self._schedule.take(worker, idle)
            if block is None:
                continue
            chosen = self._schedule.together(block, worker, idle)
            idle = [one for one in idle if one not in chosen]
            given = self._orders.of(block, [one.host for one in chosen])
            futures = [self._fleet.submit(order, one) for order, one in zip(given, chosen, strict=True)]
            self._running.append(Given(block, chosen, futures))
            self._say(f"[{', '.join(one.host for one in chosen)}] {block.title}: started")

    def _look(self, given: Given, done: Collection[Any], there: Collection[str]) -> bool:
        """See whether a block is over, and keep what was measured; a worker that is gone and comes back does not
        count any more.
        """
        results: list[Result] = []
        for number, (worker, future) in enumerate(zip(given.workers, given.futures, strict=True)):
            if future in done:
                result: Result = self._fleet.result(future)
                if result.status != "measured":
                    self._over(given, number, result.status, result.reason)
                    return True
                results.append(result)
            elif worker.address not in there:
                self._over(given, number, "lost", "its worker is gone")
                return True
            elif given.is_late():
                self._over(given, number, "failed", f"it had not ended {LATER:.0f} s after the first worker")
                return True
        if len(results) < len(given.workers):
            return False
        try:
            folder.accept(self._folder, given.workers[0].kind, given.block, joined(results), self._orders.cells)
        except ValueError as error:
            self._over(given, 0, "failed", f"its result was refused: {error}")
            return True
        self._running.remove(given)
        for worker in given.workers:
            self._note(given, worker, "measured", "")
        return True

    def _over(self, given: Given, number: int, status: str, reason: str) -> None:
        """Put a block back that the worker of this number did not measure; all others are stopped."""
        self._running.remove(given)
        self._fleet.cancel([future for future in given.futures if not future.done()])
        host = given.workers[number].host
        self._schedule.put_back(given.block, host if status == "failed" else "")
        self._note(given, given.workers[number], status, reason)
        for other in [worker for worker in given.workers if worker.host != host]:
            self._note(given, other, "stopped", f"worker {number} on {host}: {reason or status}")

    def _attempt(self, given: Given, worker: Worker, status: str, reason: str) -> None:
        folder.note_attempt(self._folder, given.block, worker, given.started, status, reason)

    def _note(self, given: Given, worker: Worker, status: str, reason: str) -> None:
        self._attempt(given, worker, status, reason)
        seconds = (datetime.now(UTC) - given.started).total_seconds()
        why = f": {reason}" if reason else ""
        self._say(f"[{worker.host}] {given.block.title}: {status} after {seconds:.0f} s{why}")
