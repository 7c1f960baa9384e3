"""Times a fixed numpy computation in a process of its own: how fast this machine is just now.

Of two processes that do the same one is faster, by where its memory and its threads happen to lie. So each time is
taken in a new process, as a cell's times are.
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
    """The reference seconds, those of `work`, in a new process with these environment variables; None if it fails.

    A process takes about 0.3 s. Never raises.
    """
    reference_seconds = fresh_process.run(__name__, (threads,), variables)
    return reference_seconds if isinstance(reference_seconds, float) and reference_seconds > 0 else None


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
