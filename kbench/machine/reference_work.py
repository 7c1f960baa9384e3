"""Times a fixed numpy computation in new processes: how fast the machine is now, and how much processes differ.

Two processes with the same work differ in speed because of the placement of their memory and threads. Several
processes take turns, like cells, so that disturbances affect all of them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import threadpoolctl

from kbench.paths import PACKAGE

SIZE = 384  # rows and columns
ROUNDS = 20  # of turns
PRODUCTS = 15  # in a turn: ten milliseconds or so
REPORTED = 150  # products: the reported seconds are for so many
WARMUP = 10  # products
TIMEOUT = 60.0  # seconds, for all

Process = subprocess.Popen[str]


def measure(number: int, threads: int, variables: Mapping[str, str]) -> tuple[float, ...]:
    """The reference seconds of `number` new processes with only these environment variables.

    Each process is compared with the others of each round; the seconds are for a median round. A process takes about
    0.4 s. Empty if one fails. Raises only KeyboardInterrupt.
    """
    processes: list[Process] = []
    with _killed(processes):
        try:
            for _ in range(number):
                processes.append(_started(threads, variables))
                _turn(processes[-1])  # until it has warmed up
            order = np.random.default_rng(0)
            taken = np.zeros((ROUNDS, number))
            for of_round in taken:
                for place in order.permutation(number):
                    of_round[place] = _turn(processes[place])
        except (OSError, ValueError):
            return ()
    usual = taken.mean(axis=1, keepdims=True)
    if not usual.min() > 0:
        return ()
    return tuple((np.median(taken / usual, axis=0) * np.median(usual) * (REPORTED / PRODUCTS)).tolist())


def _started(threads: int, variables: Mapping[str, str]) -> Process:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, str(threads)],
        env={**variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # numpy, from where it is here
        cwd=PACKAGE.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _turn(process: Process) -> float:
    """Seconds of a turn, after which the process is stopped with all its threads. Raises OSError, ValueError."""
    assert process.stdin is not None and process.stdout is not None
    process.send_signal(signal.SIGCONT)
    process.stdin.write("\n")
    process.stdin.flush()
    seconds = float(process.stdout.readline())
    process.send_signal(signal.SIGSTOP)
    return seconds


@contextlib.contextmanager
def _killed(processes: Sequence[Process]) -> Iterator[None]:
    """Kill the processes at the end, or if they take too long."""

    def kill() -> None:
        for process in processes:
            process.kill()

    timer = threading.Timer(TIMEOUT, kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        kill()
        for process in processes:
            with contextlib.suppress(OSError):  # what was not read
                process.communicate()


def work(threads: int) -> None:
    """A turn for each line of the standard input: products of matrices and sorting, by numpy."""
    matrix = np.random.RandomState(0).normal(size=(SIZE, SIZE)).astype(np.float32)
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        _products(matrix, WARMUP)
        for _ in sys.stdin:
            start = time.perf_counter()
            _products(matrix, PRODUCTS)
            print(time.perf_counter() - start, flush=True)


def _products(matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]], number: int) -> None:
    for _ in range(number):
        np.sort(matrix @ matrix, axis=None)


if __name__ == "__main__":
    work(int(sys.argv[1]))
