"""Gives blocks to machines until all are measured, and keeps what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kbench.cluster import folder
from kbench.cluster.messages import Block, Result
from kbench.cluster.schedule import Schedule, Worker

PAUSE = 0.2  # seconds between two looks at what is done
PATIENCE = 5.0  # seconds without a worker, after which that is said


class Loop:
    """Gives each machine one block at a time until none is left."""

    def __init__(self, run: Path, fleet: Any, made: Any, schedule: Schedule, say: Callable[[str], None]) -> None:
        self._folder, self._fleet, self._orders, self._schedule, self._say = run, fleet, made, schedule, say
        self._running: dict[Any, tuple[Block, Worker, datetime]] = {}  # by Dask's future

    def run(self) -> None:
        """Until all blocks are measured or given up."""
        begin, waited = time.monotonic(), False
        try:
            while self._schedule.open or self._running or self._schedule.waits_for_machines:
                # In this order: a scheduler that goes is noticed before its blocks look as if they had ended.
                done = [one for one in self._running if one.done()]
                workers = self._fleet.workers()
                for future in done:
                    self._ended(future)
                self._lost({one.address for one in workers})
                self._give_out(workers)
                self._schedule.give_up_stuck(workers)
                if not workers and not waited and time.monotonic() > begin + PATIENCE:
                    self._say("Waiting for workers that can measure.")
                    waited = True
                if not done:
                    time.sleep(PAUSE)
        finally:
            self._fleet.cancel(list(self._running))
            for block, worker, started in self._running.values():
                folder.note_attempt(self._folder, block, worker, started, "stopped", "the run ended before")

    def _give_out(self, workers: list[Worker]) -> None:
        busy = {worker.host for _, worker, _ in self._running.values()}
        for worker in workers:
            if worker.host in busy or (block := self._schedule.take(worker)) is None:
                continue
            busy.add(worker.host)
            future = self._fleet.submit(self._orders.of(block), worker)
            self._running[future] = (block, worker, datetime.now(UTC))
            self._say(f"[{worker.host}] {block.title}: started")

    def _ended(self, future: Any) -> None:
        block, worker, started = self._running.pop(future)
        result: Result = self._fleet.result(future)
        status, reason = result.status, result.reason
        if status == "measured":
            try:
                folder.accept(self._folder, worker.kind, block, result)
            except ValueError as error:
                status, reason = "failed", f"its result was refused: {error}"
        if status != "measured":
            self._schedule.put_back(block, worker.host if status == "failed" else "")
        self._note(block, worker, started, status, reason)

    def _lost(self, there: set[str]) -> None:
        """Put back the blocks whose worker is gone; if it comes back, its result does not count."""
        lost = [one for one, (_, worker, _) in self._running.items() if worker.address not in there]
        self._fleet.cancel(lost)
        for future in lost:
            block, worker, started = self._running.pop(future)
            self._schedule.put_back(block)
            self._note(block, worker, started, "lost", "its worker is gone")

    def _note(self, block: Block, worker: Worker, started: datetime, status: str, reason: str) -> None:
        folder.note_attempt(self._folder, block, worker, started, status, reason)
        seconds = (datetime.now(UTC) - started).total_seconds()
        self._say(f"[{worker.host}] {block.title}: {status} after {seconds:.0f} s{f': {reason}' if reason else ''}")
