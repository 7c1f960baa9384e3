"""What the steps of steady epochs show: how long one takes, and whether the epochs were steady at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import median

import numpy as np

from kbench.epochs import Epoch

CHANGE = 0.1  # of the time of a step, from which on the reader is told
CHANCE = 0.01  # how often epochs that do not change would look so at most: five in each half are the fewest that can


@np.errstate(all="ignore")  # two times may be too long to add
def median_of(values: Sequence[float]) -> float | None:
    """The median of these; None where there are none."""
    return float(np.median(values)) if values else None


def steady(epochs: Sequence[Epoch]) -> Sequence[Epoch]:
    """All but the first, which holds compilation and warm-up."""
    return epochs[1:] if epochs and epochs[0].epoch == 1 else epochs


def steps_of(epochs: Iterable[Epoch]) -> list[float]:
    """Seconds of all their steps."""
    return list(chain.from_iterable(epoch.step_seconds for epoch in epochs))


def p95_seconds(steps: Sequence[float]) -> float | None:
    """What 95 % of these did not exceed, interpolated linearly; None where there are none."""
    return float(np.percentile(steps, 95)) if steps else None


def still_changing(repeats: Sequence[Sequence[Epoch]], epochs: int) -> str:
    """A sentence where the steady epochs of a row go on getting faster or slower; empty where they do not.

    repeats: the epochs of each; epochs: how many a repeat was to have, 0 for a script, which has its own. The first
    halves of all repeats' steady epochs are compared with their second halves (an epoch in the middle counts for
    neither), by each epoch's usual step.
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
        return ""
    change = after / before
    if 1 / (1 + CHANGE) <= change <= 1 + CHANGE or not _beyond_chance(early, late):
        return ""
    how = f"{change:.2f} times slower" if change > 1 else f"{1 / change:.2f} times faster"
    return (
        f"not steady: its steps became {how} from the first half of its steady epochs to the second; "
        f"more epochs{f' (--epochs {2 * epochs})' if epochs else ''} show where that ends"
    )


def _usual_step(epoch: Epoch) -> float:
    """The median step, which one interruption does not change; the whole epoch where no step was timed."""
    return median(epoch.step_seconds) if epoch.step_seconds else epoch.seconds


def _beyond_chance(early: Sequence[float], late: Sequence[float]) -> bool:
    """Whether the two differ by the test of Mann, Whitney and Wilcoxon, which asks nothing of their distribution."""
    from scipy.stats import mannwhitneyu  # takes a second to import

    return bool(mannwhitneyu(early, late).pvalue < CHANCE)
