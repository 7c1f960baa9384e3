"""How fast this machine is just now: a fixed numpy computation in a process of its own, as each cell has one.

One process is faster than another that does the same, by where its memory and its threads happen to lie. What is
timed in the host's own process alone would not show that.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping

import numpy as np
import threadpoolctl

from kbench.machine import fresh_process

SIZE = 384  # rows and columns
ROUNDS = 150  # a tenth of a second or so: an epoch does not feel a disturbance of a millisecond, either
WARMING = 10  # rounds


def measure(threads: int, variables: Mapping[str, str]) -> float | None:
    """Seconds of `work` with `threads` threads in a new process with these environment variables, or None.

    A process takes about 0.3 s. Never raises.
    """
    seconds = fresh_process.told(__name__, (threads,), variables)
    return seconds if isinstance(seconds, float) and seconds > 0 else None


def work(threads: int) -> float:
    """Seconds that a fixed computation takes here and now: matrix products and sorting, by numpy."""
    matrix = np.random.RandomState(0).normal(size=(SIZE, SIZE)).astype(np.float32)
    with threadpoolctl.threadpool_limits(threads, user_api="blas"):
        _rounds(matrix, WARMING)
        start = time.perf_counter()
        _rounds(matrix, ROUNDS)
        return time.perf_counter() - start


def _rounds(matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]], number: int) -> None:
    for _ in range(number):
        np.sort(matrix @ matrix, axis=None)


if __name__ == "__main__":
    print(json.dumps(work(int(sys.argv[1]))))
