"""Whether a process holds more memory after each epoch, call of fit or other call: a leak, not its start.

The memory at the end of each is compared with the ends before. What grows with every one, all along and not only at
first, is said; caches that fill, allocators that settle and single jumps are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from kbench.text import significant
from kbench.values import Measured

SETTLING = 0.25  # the first part, which may grow: caches, compilation
LEAST = 6  # ends after that: all larger than those before by chance in one of 720 orders
PARTS = 3  # each grows by EVEN of its share
EVEN = 0.5
LASTING = 0.65  # the last part grows so fast, compared with the first
LEAST_MIB = 10.0  # in all: allocators take memory in pieces of up to 2 MiB, and arenas of several
STEADY = 0.9  # of all pairs of ends, how many have more memory at the later one
_COMPILES = "; it compiles again in most of them and keeps what it compiled"
MOST_ENDS = 400  # that are compared


@dataclass(frozen=True)
class Growth:
    """MiB more with each epoch or call: from `first` MiB, after those that settle, to `last`."""

    mib: float
    first: float
    last: float
    count: int  # of epochs or calls between these two


def growth(ends: Sequence[tuple[float, float]]) -> Growth | None:
    """The growth of [(number of the epoch or call, MiB at its end)], in their order; None where it does not grow."""
    held = list(ends[max(1, int(len(ends) * SETTLING)) :])
    if len(held) < LEAST or held[-1][0] <= held[0][0]:
        return None
    held = [*held[:: -(-len(held) // MOST_ENDS)]]
    pairs = list(itertools.combinations(held, 2))
    slope = _slope(held)
    whole = slope * (held[-1][0] - held[0][0])
    grown = sum(two[1] > one[1] for one, two in pairs)
    if whole < LEAST_MIB or grown < STEADY * len(pairs):
        return None
    cuts = [round(part * (len(held) - 1) / PARTS) for part in range(PARTS + 1)]
    rates = [_slope(held[one : two + 1]) for one, two in itertools.pairwise(cuts)]
    if min(rates) < EVEN * slope or rates[-1] < LASTING * rates[0]:
        return None
    return Growth(slope, held[0][1], held[-1][1], round(held[-1][0] - held[0][0]))


def _slope(held: Sequence[tuple[float, float]]) -> float:
    """The median slope between two ends (Theil 1950; Sen 1968)."""
    pairs = itertools.combinations(held, 2)
    return median((two[1] - one[1]) / (two[0] - one[0]) for one, two in pairs if two[0] > one[0])


def of_row(ok: Sequence[Measured]) -> Growth | None:
    """That of most of a row's processes, by the median one; None where most do not grow."""
    found = [one for one in (growth(_ends(measured)) for measured in ok) if one is not None]
    if 2 * len(found) <= len(ok):
        return None
    return sorted(found, key=lambda one: one.mib)[len(found) // 2]


def sentence(found: Growth, unit: str, ok: Sequence[Measured]) -> str:
    """What is said of it beside the row, without a full stop. unit: such as "epoch"."""
    return (
        f"its memory grows by {significant(found.mib, 2)} MiB with each {unit}: from {significant(found.first)} to "
        f"{significant(found.last)} MiB after {found.count:,}{_COMPILES if _compiles(ok) else ''}"
    )


def _compiles(ok: Sequence[Measured]) -> bool:
    """Whether most epochs but the first compile something: the framework keeps what it has compiled."""
    counted = [one.compilations for measured in ok for one in measured.epochs if one.epoch > 1]
    return 2 * sum(1 for compilations in counted if compilations) > len(counted)


def _ends(measured: Measured) -> list[tuple[float, float]]:
    if measured.facts.resident:
        return [*measured.facts.resident]
    return [(one.epoch, one.resident_mib) for one in measured.epochs if one.resident_mib is not None]


def of_line(measured: Measured, line: str, by_call: bool) -> dict[str, object]:
    """The facts on the memory at the ends of a program's line: of its calls, or of its epochs."""
    epochs = [one for one in measured.epochs if one.site == line]
    fits = measured.facts.fits.get(line, ())
    if by_call and fits:
        numbered = [*enumerate((one.resident_mib for one in fits), 1)]
    else:
        counts = itertools.accumulate(one.calls or 1 for one in epochs)
        numbered = [*zip(counts, (one.resident_mib for one in epochs), strict=True)]
    return {"resident": tuple((float(number), mib) for number, mib in numbered if mib is not None)}
