"""Whether a process holds more memory after each epoch or call: a leak, not its start.

The memory at the end of each is compared with the ends before. What grows with every one, all along and not only at
first, is said; caches that fill, allocators that settle and single jumps are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kbench.analysis.times import trend
from kbench.records.findings import Finding
from kbench.records.values import Measured

SETTLING = 0.25  # the first part, which may grow: caches, compilation
LEAST_MIB = 10.0  # in all: allocators take memory in pieces of up to 2 MiB, and arenas of several
FEW, LARGE_MIB = 3, 8.0  # of calls that each compile another model so few tell, if each takes so much more


@dataclass(frozen=True)
class MemoryGrowth:
    """MiB more with each epoch or call: from `first` MiB, after those that settle, to `last`."""

    mib: float
    first: float
    last: float
    count: int  # of epochs or calls between these two


def growth(ends: Sequence[tuple[float, float]], each_compiles: bool = False) -> MemoryGrowth | None:
    """The growth of [(number of the epoch or call, MiB at its end)], in their order; None where it does not grow."""
    held = _settled(ends)
    small = [b[1] - a[1] < LARGE_MIB for a, b in itertools.pairwise(held)]
    # Of four and more such steps one may be small, and all else need not be even; not the last one.
    few = each_compiles and len(held) >= FEW and sum(small) <= (len(small) > FEW) and not small[-1]
    if len(held) < trend.LEAST and not few:
        return None
    slope = trend.growing(held, LEAST_MIB, few=FEW + 1 < len(held) < trend.LEAST)
    if slope is None:
        return None
    return MemoryGrowth(slope, held[0][1], held[-1][1], round(held[-1][0] - held[0][0]))


def is_flat(ok: Sequence[Measured]) -> bool:
    """Whether no process of a row holds more in its last third than in its first, but for what allocators do."""
    several = [[mib for _, mib in _settled(_ends(one))] for one in ok]
    thirds = [(held[: len(held) // 3], held[-(len(held) // 3) :]) for held in several if len(held) >= trend.LEAST]
    return bool(ok) and len(thirds) == len(ok) and all(median(b) - median(a) < LEAST_MIB for a, b in thirds)


def _settled(ends: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return list(ends[max(1, int(len(ends) * SETTLING)) :])


def of_row(ok: Sequence[Measured]) -> MemoryGrowth | None:
    """That of most of a row's processes, by the median one; None where most do not grow."""
    each = [growth(_ends(measured), measured.facts.each_compiles) for measured in ok]
    found = [one for one in each if one is not None]
    if 2 * len(found) <= len(ok):
        return None
    return sorted(found, key=lambda one: one.mib)[len(found) // 2]


def finding(grows: MemoryGrowth, unit: str, ok: Sequence[Measured]) -> Finding:
    """What is said of it beside the row. unit: such as "epoch"."""
    about = {"first": grows.first, "last": grows.last, "count": grows.count, "compiles": _compiles(ok)}
    return Finding(kind="memory growth", aspect=unit, own=grows.mib, about=about)


def _compiles(ok: Sequence[Measured]) -> bool:
    """Whether most epochs but the first compile something: the framework keeps what it has compiled."""
    counted = [one.compilations for measured in ok for one in measured.epochs if one.epoch > 1]
    return 2 * sum(1 for compilations in counted if compilations) > len(counted)


def _ends(measured: Measured) -> list[tuple[float, float]]:
    if measured.facts.resident:
        return [*measured.facts.resident]
    return [(one.epoch, one.resident_mib) for one in measured.epochs if one.resident_mib is not None]
