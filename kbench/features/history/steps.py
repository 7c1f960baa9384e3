"""Finds the steps in a line of times.

Each time comes with its own error, and those of one run share what the machine did in it. Least squares that know
both (generalized ones, Aitken 1935) give each step with its interval; neighbours whose difference is the weakest are
joined, until no step is left that noise explains (segmentation from the bottom up). Libraries for change points look
for them by the scatter of one number per commit, over hundreds of commits, and take no errors: apache-otava 0.8 pins
numpy 2.2.0, which kbench's own environment is past, and brings clients of BigQuery, PostgreSQL and Slack; ruptures
1.1 is not for Python 3.14, which kbench supports. So scipy, which is there, and `levels`, whose tails are measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from kbench.analysis.times import levels
from kbench.analysis.times.levels import Numbers, Quantiles
from kbench.analysis.times.ratios import BETWEEN_RUNS

ERROR = 0.01  # the chance that any step of a history is noise
# Smaller ones may be how code lies in memory (Mytkowicz et al., *Producing wrong data*, ASPLOS 2009).
SMALLEST = 0.02
FEWEST_FOR_SCATTER = 5  # differences of neighbours, from which the line's own scatter is estimated
_NORMAL = stats.norm.ppf(levels.PARTS)
_OF_RUN = BETWEEN_RUNS / math.sqrt(2) / stats.norm.ppf(0.975)  # the standard error that all times of a run share
_ENDS = np.searchsorted(levels.PARTS, [0.025, 0.975])  # of a 95 % interval
_LEAST = 1e-6  # chance, as far as tails are known


@dataclass(frozen=True)
class Times:
    """The times of a line: of each reading its point's number, its run, its logarithm, and how sure that is."""

    places: Sequence[int]  # from 0 on, ascending
    runs: Sequence[str]
    logs: Sequence[float]
    offsets: Sequence[Quantiles]

    @property
    def boundaries(self) -> int:
        return max(self.places, default=0)


@dataclass(frozen=True)
class FoundStep:
    """A step before a place: the logarithm of its ratio, with the ends of its 95 % interval."""

    place: int
    log: float
    ends: tuple[float, float]
    chance: float  # of noise, among all boundaries


class _Fit:
    """The levels between steps at `starts`, by least squares."""

    def __init__(self, times: Times, starts: Sequence[int]) -> None:
        self._times = times
        places, runs = np.asarray(times.places), np.asarray(times.runs)
        quantiles = np.asarray(times.offsets)
        own = (quantiles[:, _ENDS[1]] - quantiles[:, _ENDS[0]]) / 2 / stats.norm.ppf(0.975)
        own = np.maximum(own, 1e-4)
        # The processes of a line are alike: where three happen to agree, a time is no surer than the usual one.
        evened = np.maximum(own, np.median(own))
        self._offsets = quantiles * (evened / own)[:, None]
        covariance = np.diag(evened**2) + _OF_RUN**2 * (runs[:, None] == runs[None, :])
        design = (places[:, None] >= np.asarray([0, *starts])[None, :]).astype(float)
        weighted = linalg.cho_solve(linalg.cho_factor(covariance), design).T
        of_levels = linalg.inv(weighted @ design)
        self._weights = of_levels @ weighted  # of each time in each level's step
        self.logs: Numbers = (self._weights @ np.asarray(times.logs))[1:]
        self.errors: Numbers = np.sqrt(np.diag(of_levels))[1:]

    def ends(self, number: int, alpha: float, scatter: float) -> tuple[float, float]:
        """Of a step: wrong, on either side, with a chance of alpha / 2."""
        weights = self._weights[number + 1]
        runs = np.asarray(self._times.runs)
        of_runs = [(tuple(_OF_RUN * _NORMAL), float(weights[runs == run].sum())) for run in dict.fromkeys(runs)]
        own = zip(map(tuple, self._offsets.tolist()), map(float, weights), strict=True)
        parts = [(quantiles, weight) for quantiles, weight in (*own, *of_runs) if abs(weight) > 1e-9]
        low, high = levels.of_sum(parts, alpha)
        return float(self.logs[number] + scatter * low), float(self.logs[number] + scatter * high)


def find(times: Times, boundaries: int) -> list[FoundStep]:
    """Its steps, in order. boundaries: of all lines in which steps are looked for."""
    alpha, starts = ERROR / max(1, boundaries), list(range(1, times.boundaries + 1))
    scatter = _scatter(times)
    while starts:
        fit = _Fit(times, starts)
        order = np.argsort(np.abs(fit.logs / fit.errors))
        weak = next((number for number in order if not _is_step(fit, int(number), alpha, scatter)), None)
        if weak is None:
            return [_found(fit, number, place, boundaries, scatter) for number, place in enumerate(starts)]
        del starts[int(weak)]
    return []


def visible(times: Times, boundaries: int) -> tuple[float, float]:
    """The smallest changes that would be found in 9 of 10 cases, as shares: at a usual place, and at the last one."""
    alpha, scatter, found = ERROR / max(1, boundaries), _scatter(times), list[float]()
    for place in range(1, times.boundaries + 1):
        fit = _Fit(times, [place])
        needed = [(high - low) / 2 for low, high in (fit.ends(0, one, scatter) for one in (alpha, 0.2))]
        found.append(math.expm1(max(sum(needed), math.log1p(SMALLEST))))
    return float(np.median(found)), found[-1]


def _scatter(times: Times) -> float:
    """How many times as much neighbours differ as errors say; a few steps do not change it, and 1 is the least."""
    if times.boundaries < FEWEST_FOR_SCATTER:
        return 1.0
    fit = _Fit(times, range(1, times.boundaries + 1))
    usual = float(np.median(np.abs(fit.logs / fit.errors)) / stats.norm.ppf(0.75))
    return max(1.0, usual)


def _is_step(fit: _Fit, number: int, alpha: float, scatter: float) -> bool:
    low, high = fit.ends(number, alpha, scatter)
    return (low > 0 or high < 0) and abs(fit.logs[number]) >= math.log1p(SMALLEST)


def _found(fit: _Fit, number: int, place: int, boundaries: int, scatter: float) -> FoundStep:
    least, most = math.log(_LEAST), 0.0
    for _ in range(20):
        middle = (least + most) / 2
        low, high = fit.ends(number, math.exp(middle), scatter)
        least, most = (least, middle) if low > 0 or high < 0 else (middle, most)
    chance = min(1.0, math.exp(most) * boundaries)
    return FoundStep(place, float(fit.logs[number]), fit.ends(number, 0.05, scatter), chance)
