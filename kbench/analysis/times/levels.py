"""What a row's processes say of its time: a distribution of the logarithm of its level, and intervals from it.

A process's deviation from its row's level is Student's t with FREEDOM degrees of freedom (Lange, Little & Taylor,
*Robust statistical modeling using the t distribution*, JASA 84, 1989), so an odd process among several moves the
level by little. Its scale is unknown: each of SPREADS has a prior weight, which is measured (see `spreads`), and what
the row's own processes show updates it. Integrating over both gives intervals for one process as for ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kbench.records.values import Interval

Numbers = np.ndarray[Any, np.dtype[np.float64]]

FREEDOM = 4.0
# Possible scales of a process's deviation, as a logarithm: from 0.3 % on, up to half as much again.
SPREADS: Numbers = np.geomspace(0.003, 0.5, 20)
_POINTS = 601  # at which a level's distribution is computed, close together around the median process
_FINEST, _FARTHEST = 0.0005, 8.0  # their distances from there, as logarithms
_STEPS = 60  # of a bisection
# A level in few numbers: what it does not exceed with these probabilities, which are close together at either end.
PARTS: Numbers = 1 / (1 + np.exp(-np.linspace(-14, 14, 85)))
_BINS = 3**8  # of the distribution of a sum: odd, so that one is in the middle
Quantiles = tuple[float, ...]  # of a level, at PARTS


@dataclass(frozen=True, eq=False)
class Level:
    """The distribution of the logarithm of a row's time."""

    logs: Numbers  # ascending
    cumulative: Numbers  # the probability that the level is at most that
    spreads: Numbers  # the probability of each of SPREADS

    def quantile(self, part: float) -> float:
        """What the level does not exceed with this probability."""
        return float(np.interp(part, self.cumulative, self.logs))

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def quantiles(self) -> Quantiles:
        """Its quantiles at PARTS."""
        return tuple(np.interp(PARTS, self.cumulative, self.logs).tolist())


def likelihood(logs: Sequence[float], errors: Sequence[float]) -> tuple[Numbers, Numbers]:
    """(grid, likelihood): possible levels, and how likely each of SPREADS (rows) and level (columns) makes the logs.

    errors: standard errors of the logs themselves. The likelihood is scaled so that its largest value is 1, and each
    column is weighted by the part of the axis that it stands for.
    """
    values = np.asarray(logs, dtype=float)
    grid = np.median(values) + _FINEST * np.sinh(np.linspace(-1, 1, _POINTS) * math.asinh(_FARTHEST / _FINEST))
    scales = np.hypot(SPREADS[:, None], np.asarray(errors, dtype=float)[None, :])
    deviations = (values[None, :] - grid[:, None])[None, :, :] / scales[:, None, :]
    each = -(FREEDOM + 1) / 2 * np.log1p(deviations**2 / FREEDOM) - np.log(scales)[:, None, :]
    of_all = each.sum(axis=2)
    return grid, np.exp(of_all - of_all.max()) * np.gradient(grid)[None, :]


def level(logs: Sequence[float], errors: Sequence[float], prior: Numbers) -> Level:
    """The level of a row with these processes; `prior`: the weight of each of SPREADS."""
    grid, likely = likelihood(logs, errors)
    joint = likely * prior[:, None]
    joint /= joint.sum()
    density = joint.sum(axis=0)
    cumulative = np.cumsum(density) - density / 2
    return Level(grid, cumulative, joint.sum(axis=1))


def of_difference(one: Level, other: Level, alpha: float) -> tuple[float, float]:
    """The ends of one - other that are wrong, on either side, with a probability of alpha / 2."""
    weights = np.diff(other.cumulative, prepend=0.0, append=1.0)
    weights = (weights[1:] + weights[:-1]) / 2
    weights /= weights.sum()

    def end(part: float) -> float:
        low, high = float(one.logs[0] - other.logs[-1]), float(one.logs[-1] - other.logs[0])
        for _ in range(_STEPS):
            middle = (low + high) / 2
            below = float(weights @ np.interp(middle + other.logs, one.logs, one.cumulative, 0.0, 1.0))
            low, high = (middle, high) if below < part else (low, middle)
        return middle

    return end(alpha / 2), end(1 - alpha / 2)


def of_sum(parts: Sequence[tuple[Quantiles, float]], alpha: float) -> tuple[float, float]:
    """The ends of a sum of levels, each times a factor, that are wrong, on either side, with a chance of alpha / 2.

    They are relative to the sum of the medians. Densities are convolved, so the tails of few processes stay heavy.
    """
    offsets = [factor * (np.asarray(its) - its[len(its) // 2]) for its, factor in parts]
    reach = 2 * math.hypot(*(float(np.abs(one).max()) for one in offsets))
    edges = reach * np.linspace(-1, 1, _BINS + 1)
    transformed = np.ones(_BINS // 2 + 1, dtype=complex)
    for one in offsets:
        cumulative = np.interp(edges, one if one[0] < one[-1] else one[::-1], PARTS, 0.0, 1.0)
        transformed *= np.fft.rfft(np.fft.ifftshift(np.diff(cumulative)))
    density = np.fft.fftshift(np.fft.irfft(transformed, _BINS))
    middles = (edges[1:] + edges[:-1]) / 2
    low, high = np.interp([alpha / 2, 1 - alpha / 2], np.cumsum(density) - density / 2, middles)
    return float(low), float(high)


def half_width(spreads: Numbers, alpha: float) -> float:
    """How far a further process lies off in all but `alpha` of cases: the logarithm of a factor.

    spreads: the probability of each of SPREADS.
    """
    from scipy.special import stdtr

    low, high = 0.0, 100 * float(SPREADS.max())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        beyond = 2 * float(spreads @ stdtr(FREEDOM, -middle / SPREADS))
        low, high = (middle, high) if beyond > alpha else (low, middle)
    return high


def interval(low: float, high: float) -> Interval | None:
    """The factors whose logarithms these are, to nine digits; None where they are no numbers."""
    if not -700 < low <= high < 700:
        return None
    ends = (float(f"{math.exp(end):.9g}") for end in (low, high))
    return Interval(*ends)
