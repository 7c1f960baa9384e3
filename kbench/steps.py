"""What the steps of steady epochs show: how long one takes, and whether the epochs were steady at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import median

import numpy as np

from kbench.values import Epoch

CHANGE = 0.1  # of the time of a step, from which on the reader is told
CHANCE = 0.01  # how often epochs that do not change would look so at most: five in each half are the fewest that can


def median_seconds(epochs: Sequence[Epoch]) -> float | None:
    """The median over all steps of these epochs; None where none was timed."""
    known = _steps(epochs)
    return float(np.median(known)) if known.size else None


def p95_seconds(epochs: Sequence[Epoch]) -> float | None:
    """What 95 % of all steps of these epochs did not exceed, interpolated linearly; None where none was timed."""
    known = _steps(epochs)
    return float(np.percentile(known, 95)) if known.size else None


def still_changing(repeats: Sequence[Sequence[Epoch]], epochs: int) -> str:
    """A sentence where the steady epochs of a row go on getting faster or slower; empty where they do not.

    repeats: the steady epochs of each; epochs: how many a repeat had in all. The first halves of all repeats are
    held against their second halves (an epoch in the middle counts for neither), by the usual step of each epoch.
    """
    early: list[float] = []
    late: list[float] = []
    for one in repeats:
        paces = _paces(one)
        half = len(paces) // 2
        early += paces[:half]
        late += paces[len(paces) - half :]
    if not early or not median(early) or not median(late):
        return ""
    change = median(late) / median(early)
    if 1 / (1 + CHANGE) <= change <= 1 + CHANGE or not _beyond_chance(early, late):
        return ""
    how = f"{change:.2f} times slower" if change > 1 else f"{1 / change:.2f} times faster"
    return (
        f"not steady: its steps became {how} from the first half of its steady epochs to the second; "
        f"more epochs (--epochs {2 * epochs}) show where that ends"
    )


def _beyond_chance(early: Sequence[float], late: Sequence[float]) -> bool:
    """Whether the two differ by the test of Mann, Whitney and Wilcoxon, which asks nothing of their distribution."""
    from scipy.stats import mannwhitneyu  # takes a second to import

    return bool(mannwhitneyu(early, late).pvalue < CHANCE)


def _paces(epochs: Sequence[Epoch]) -> list[float]:
    """The pace of each epoch; all at once where they have as many steps, as they usually have."""
    steps = [epoch.step_seconds for epoch in epochs]
    if len(set(map(len, steps))) == 1 and steps[0]:
        paces: list[float] = np.median(np.array(steps), axis=1).tolist()
        return paces
    return [_pace(epoch) for epoch in epochs]


def _pace(epoch: Epoch) -> float:
    """The usual step of an epoch, which one interruption does not change; its whole time where none was timed."""
    return median(epoch.step_seconds) if epoch.step_seconds else epoch.seconds


def _steps(epochs: Sequence[Epoch]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(epoch.step_seconds for epoch in epochs), dtype=np.float64)
