"""Measures the peak rates of this machine's processor and memory, in half a second with numpy.

The arithmetic is a float32 matrix product by numpy's BLAS. The memory traffic is that of STREAM's copy and scale
(McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995): the bytes read plus
the bytes written, over arrays larger than the caches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import timeit
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
import threadpoolctl

from kbench.base.paths import PACKAGE

MATRIX = 768  # rows and columns of the first product
LARGEST_MATRIX = 6144
PRODUCT_SECONDS = 0.008  # below this, many cores are not kept busy: a larger matrix is used
SMALLEST_ARRAY, LARGEST_ARRAY = 32 << 20, 64 << 20  # bytes
TIMEOUT = 60.0  # seconds, for all
ROUNDS = 12  # each operation runs for a tenth of a second or more


def measure(threads: int, cache_bytes: int | None, variables: Mapping[str, str]) -> dict[str, Any] | None:
    """The `rates` in a separate process; None if they cannot be measured. Never raises.

    The process gets only these environment variables, like a guest: others, such as OPENBLAS_CORETYPE, can halve
    numpy's speed.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, str(threads), str(cache_bytes or 0)],
            env={**variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # numpy, from where it is here
            cwd=PACKAGE.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=True,
        )
        found = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def rates(threads: int, cache_bytes: int | None = None) -> dict[str, Any] | None:
    """JSON-able rates of this process with `threads` threads; None if they cannot be measured. Never raises.

    cache_bytes: of the largest cache, if it is known: the arrays are then at least as large, each.
    """
    try:
        products = []
        # If other programs keep cores busy, one thread can be faster than several that wait for each other.
        for count in sorted({1, threads}, reverse=True):
            with threadpoolctl.threadpool_limits(count, user_api="blas"):
                products.append(_product_rate())
        rate, size = max(products)
        array = min(LARGEST_ARRAY, max(SMALLEST_ARRAY, 2 * (cache_bytes or 0)))
        if psutil.virtual_memory().available < 8 * array:
            return None
        moved = _move_seconds(array, threads)
    except Exception:  # out of memory or threads: a run must not fail because of this
        return None
    return {
        "threads": threads,
        "operations_per_second": _rounded(rate),
        "matrix": size,
        "bytes_per_second": _rounded(2 * array / moved),
        "array_bytes": array,
        "cache_bytes": cache_bytes,
    }


def _product_rate() -> tuple[float, int]:
    """(operations a second of the product of two square matrices, their rows)."""
    size = MATRIX
    while True:
        left = np.ones((size, size), np.float32)
        right, into = left.copy(), np.empty_like(left)
        seconds = _best(lambda a=left, b=right, c=into: np.matmul(a, b, out=c))  # type: ignore[misc]
        if seconds >= PRODUCT_SECONDS or size >= LARGEST_MATRIX:
            return 2 * size**3 / seconds, size
        size *= 2


def _move_seconds(size: int, threads: int) -> float:
    """The least seconds in which an array of `size` bytes was copied or scaled into another, by parts."""
    source = np.ones(size // 4, np.float32)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    factor = np.float32(3)
    with ThreadPoolExecutor(threads) as pool:  # numpy releases the interpreter's lock meanwhile
        copying = _best(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
        return min(copying, _best(lambda: list(pool.map(lambda part: np.multiply(part[0], factor, part[1]), parts))))


def _best(work: Callable[[], object]) -> float:
    """The shortest time of `work`: disturbances only make it slower."""
    return min(timeit.repeat(work, repeat=ROUNDS, number=1))


def _rounded(rate: float) -> float:
    """Four significant digits; the measurement is no more precise."""
    return float(f"{rate:.4g}")


if __name__ == "__main__":
    print(json.dumps(rates(int(sys.argv[1]), int(sys.argv[2]) or None)))
