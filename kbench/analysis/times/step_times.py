"""The steps of steady epochs: how long they take, and whether the epochs were steady at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import median

import numpy as np

from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.values import Measured

CHANGE = 0.1  # of the time of a step; more is reported
CHANCE = 0.01  # of reporting a change where there is none; that needs five epochs in each half


def median_of(values: Iterable[float]) -> float | None:
    """The median of these; None where there are none."""
    known = list(values)
    return median(known) if known else None


def steady(epochs: Sequence[Epoch]) -> Sequence[Epoch]:
    """All but the first, which holds compilation and warm-up."""
    return epochs[1:] if epochs and epochs[0].epoch == 1 else epochs


def cold(repeats: Sequence[Measured]) -> Sequence[Measured]:
    """Those that compiled their code, where others loaded it from a cache; all if none of them is left."""
    return [one for one in repeats if not one.outcome.compilation_cached] or repeats


def steps_of(epochs: Iterable[Epoch]) -> list[float]:
    """Seconds of all their steps."""
    return list(chain.from_iterable(epoch.step_seconds for epoch in epochs))


def p95_seconds(steps: Sequence[float]) -> float | None:
    """The 95th percentile, interpolated linearly; None where there are none."""
    return percentile(steps, 95)


def percentile(steps: Sequence[float], rank: float) -> float | None:
    """The percentile of that rank, interpolated linearly; None where there are none."""
    return float(np.percentile(steps, rank)) if steps else None


def still_changing(repeats: Sequence[Sequence[Epoch]], epochs: int, by_call: bool = False) -> Finding | None:
    """Whether the steady epochs of a row keep getting faster or slower; None if they do not.

    repeats: the epochs of each; epochs: the number asked for, 0 for a script; by_call: whether each is a call. The
    first halves of all repeats' steady epochs are compared with the second halves (without an epoch in the middle),
    by each epoch's median step.
    """
    early: list[float] = []
    late: list[float] = []
    for one in repeats:
        usual = [_usual_step(epoch) for epoch in steady(one)]
        half = len(usual) // 2
        early += usual[:half]
        late += usual[len(usual) - half :]
    before, after = median_of(early), median_of(late)
    if not before or not after:
        return None
    change = after / before
    if 1 / (1 + CHANGE) <= change <= 1 + CHANGE or not _beyond_chance(early, late):
        return None
    return Finding(kind="not steady", own=change, about={"by call": by_call, "epochs": epochs})


def _usual_step(epoch: Epoch) -> float:
    """The median step, which an interruption does not change; the whole epoch if steps were not timed."""
    return median(epoch.step_seconds) if epoch.step_seconds else epoch.seconds


def _beyond_chance(early: Sequence[float], late: Sequence[float]) -> bool:
    """Whether the two differ by the Mann-Whitney test, which assumes nothing of their distribution."""
    from scipy.stats import mannwhitneyu  # takes a second to import

    return bool(mannwhitneyu(early, late).pvalue < CHANCE)
