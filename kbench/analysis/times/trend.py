"""Whether a number grows with every epoch or call, all along: not only at first, and not in a single jump."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median

LEAST = 6  # values: all larger than those before by chance in one of 720 orders
PARTS, HALVES = 3, 2  # each grows by EVEN of its share; of values with noise
EVEN = 0.3
RISE = 0.25  # of the whole rise of the medians of PARTS: each step from one to the next, where values have noise
LASTING = 0.65  # the last part grows so fast, compared with the first
STEADY, NOISY = 0.9, 0.88  # of all pairs of values, how many have a larger later one; of values with noise
MOST = 400  # that are compared

Values = Sequence[tuple[float, float]]  # (number of the epoch or call, value), in their order


def growing(values: Values, whole: float, noisy: bool = False, few: bool = False) -> float | None:
    """The growth from one to the next, if they grow by at least `whole` from the first to the last; else None.

    noisy: whether something else makes them go up and down, as it does with times. few: too few to have parts.
    """
    if len(values) < 2 or values[-1][0] <= values[0][0]:
        return None
    held = [*values[:: -(-len(values) // MOST)]]
    pairs = list(itertools.combinations(held, 2))
    slope = _slope(held)
    grown = sum(two[1] > one[1] for one, two in pairs)
    if slope * (held[-1][0] - held[0][0]) < whole or grown < (NOISY if noisy else STEADY) * len(pairs):
        return None
    if few:
        return slope
    parts = min(HALVES if noisy else PARTS, len(held) - 1)
    cuts = [round(part * (len(held) - 1) / parts) for part in range(parts + 1)]
    rates = [_slope(held[one : two + 1]) for one, two in itertools.pairwise(cuts)]
    lasts = _medians_rise(held) if noisy else rates[-1] >= LASTING * rates[0]
    return slope if lasts and min(rates) >= EVEN * slope else None


def _medians_rise(held: Values) -> bool:
    cuts = [round(part * len(held) / PARTS) for part in range(PARTS + 1)]
    medians = [median(value for _, value in held[one:two]) for one, two in itertools.pairwise(cuts)]
    return all(two - one >= RISE * (medians[-1] - medians[0]) for one, two in itertools.pairwise(medians))


def _slope(held: Values) -> float:
    """The median slope between two values (Theil 1950; Sen 1968)."""
    pairs = itertools.combinations(held, 2)
    return median((two[1] - one[1]) / (two[0] - one[0]) for one, two in pairs if two[0] > one[0])
