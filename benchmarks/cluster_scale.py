"""A cluster of 200 workers that measure 20,000 cells: whether the client's memory and time per cell stay flat.

    python benchmarks/cluster_scale.py [--workers N] [--cells N]

The workers are real Dask workers, each with an address of its own. They and the scheduler are in one process, and the
client is in another one. Only the measuring is left out: a block's files are ready, and its worker sends them back.
Printed for each fifth of the cells: milliseconds per cell, of the clock and of the client's processor time, and the
client's memory. The exit status is 1 if the last fifth takes more than 1.5 times as much processor time per cell as
the second, or memory grows by more than 10 KiB a cell.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT), str(Path(__file__).resolve().parent)]

import report_scale
from distributed import Client, Scheduler, SpecCluster, Worker
from tabulate import tabulate

from kbench.features.cluster import fleet, folder
from kbench.features.cluster.block import KEPT
from kbench.features.cluster.loop import Loop
from kbench.features.cluster.machines import this_machine
from kbench.features.cluster.messages import Block, BlockOrder, Result, decode, encode
from kbench.features.cluster.schedule import Schedule
from kbench.planning.request import Request
from kbench.records.values import Cell

MOST_TIME, MOST_KIB = 1.5, 10.0  # per cell
PARTS = 5
NAME = b"the_example"


def cells_of(example: str) -> list[Cell]:
    """The eight of a block."""
    (first, *_) = report_scale.cells_of(1, repeats=1, epochs=3)
    return [first.at(example=example, backend=one.backend) for one in report_scale.cells_of(8, repeats=1, epochs=3)]


def template(place: Path) -> dict[str, bytes]:
    """The files of a block whose example is called NAME."""
    cells = cells_of(NAME.decode())
    run = report_scale.generate(place, "template", cells, 4, 0)
    files = {path.relative_to(run).as_posix(): path for pattern in KEPT for path in run.glob(pattern)}
    return {name: path.read_bytes() for name, path in files.items()}


class Instead:
    """What runs on the workers instead of measuring."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def measure(self, order: bytes, topic: str) -> bytes:
        """As kbench.features.cluster.worker.measure."""
        name = decode(order, BlockOrder).block.example
        files = {
            path.replace(NAME.decode(), name): content.replace(NAME, name.encode())
            for path, content in self._files.items()
        }
        return encode(Result(status="measured", files=files))


class Orders:
    """As kbench.features.cluster.orders.Orders."""

    def of(self, block: Block, hosts: Sequence[str]) -> list[BlockOrder]:
        """The block's order for each machine."""
        return [BlockOrder(block=block, request={}, device="cpu", path="", sha256="", argv=()) for _ in hosts]

    def cells(self, block: Block, chosen: Request) -> list[Cell]:
        """Those of the block."""
        return cells_of(block.example)


def serve(workers: int, pipe: Connection) -> None:
    """Be the cluster; its address is sent into the pipe."""
    quiet()
    spec = {
        str(number): {
            "cls": Worker,
            "options": {"host": f"127.0.{number // 250 + 1}.{number % 250 + 1}", "nthreads": 1},
        }
        for number in range(workers)
    }
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "port": 0, "dashboard": False}}
    with SpecCluster(scheduler=scheduler, workers=spec) as cluster:
        pipe.send(cluster.scheduler_address)
        signal.pause()


def quiet() -> None:
    """No log lines of Dask."""
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def main() -> int:
    """Run all cells, print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--cells", type=int, default=20000)
    options = parser.parse_args()
    quiet()
    count = max(PARTS, options.cells // 8)
    blocks = tuple(Block(example=f"example_{number}", repeat=1) for number in range(count))
    with tempfile.TemporaryDirectory(prefix="kbench-") as place, cluster(options.workers) as address:
        files = template(Path(place))
        vars(fleet)["on_worker"] = Instead(files)
        request: dict[str, Any] = {**json.loads(files["run.json"])["request"], "repeats": 1}
        record = folder.ClusterRun(on="", request=request, device="cpu", blocks=blocks, argv=())
        run = folder.create(Path(place), record, "run")
        rows = measured(run, Schedule(blocks, spread=False), address, options.workers)
        assert len(folder.finished_blocks(run)) == count
    print(tabulate(rows, headers=["cells", "ms per cell", "CPU ms per cell", "MiB"], floatfmt=".2f"))
    grown = 1024 * (rows[-1][3] - rows[1][3]) / (rows[-1][0] - rows[1][0])
    ratio = rows[-1][2] / rows[1][2]
    print(f"last fifth against the second: {ratio:.2f} x the processor time; {grown:.1f} KiB more memory a cell")
    return int(ratio > MOST_TIME or grown > MOST_KIB)


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a cluster in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=serve, args=(workers, theirs))
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.kill()  # to close 200 workers takes minutes
        process.join()


def measured(run: Path, schedule: Schedule, address: str, workers: int) -> list[list[float]]:
    """For each fifth: cells so far, milliseconds per cell, CPU milliseconds per cell, MiB."""
    process, rows = psutil.Process(), list[list[float]]()
    total = schedule.open
    with Client(address, set_as_default=False) as client:
        crew = fleet.Fleet(client, this_machine(), {}, print)
        while len(crew.workers()) < workers:
            time.sleep(0.1)
        done, before = 0, (time.monotonic(), time.process_time())

        def said(line: str) -> None:
            nonlocal done, before
            if "measured after" not in line:
                return
            done += 1
            if done * PARTS // total > len(rows):
                now = (time.monotonic(), time.process_time())
                cells = 8 * done - (rows[-1][0] if rows else 0)
                taken = [1000 * (after - earlier) / cells for after, earlier in zip(now, before, strict=True)]
                rows.append([8 * done, *taken, process.memory_info().rss / 2**20])
                before = now

        Loop(run, crew, Orders(), schedule, said).run()
    return rows


if __name__ == "__main__":
    sys.exit(main())
