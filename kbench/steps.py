"""What the steps of steady epochs show: how long one takes, and whether the epochs were steady at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kbench.epochs import Epochs

if TYPE_CHECKING:
    from kbench.epochs import Numbers

CHANGE = 0.1  # of the time of a step, from which on the reader is told
CHANCE = 0.01  # how often epochs that do not change would look so at most: five in each half are the fewest that can


def median_of(values: Numbers) -> float | None:
    """The median of these; None where there are none."""
    return float(np.median(values)) if values.size else None


def p95_seconds(steps: Numbers) -> float | None:
    """What 95 % of these did not exceed, interpolated linearly; None where there are none."""
    return float(np.percentile(steps, 95)) if steps.size else None


def still_changing(repeats: Sequence[Epochs], epochs: int) -> str:
    """A sentence where the steady epochs of a row go on getting faster or slower; empty where they do not.

    repeats: the epochs of each; epochs: how many a repeat was to have. The first halves of all repeats' steady epochs
    are held against their second halves (an epoch in the middle counts for neither), by the usual step of each epoch.
    """
    paces = [_paces(one) for one in repeats]
    early = np.concatenate([np.empty(0), *(pace[: pace.size // 2] for pace in paces)])
    late = np.concatenate([np.empty(0), *(pace[pace.size - pace.size // 2 :] for pace in paces)])
    before, after = median_of(early), median_of(late)
    if not before or not after:
        return ""
    change = after / before
    if 1 / (1 + CHANGE) <= change <= 1 + CHANGE or not _beyond_chance(early, late):
        return ""
    how = f"{change:.2f} times slower" if change > 1 else f"{1 / change:.2f} times faster"
    return (
        f"not steady: its steps became {how} from the first half of its steady epochs to the second; "
        f"more epochs (--epochs {2 * epochs}) show where that ends"
    )


def _beyond_chance(early: Numbers, late: Numbers) -> bool:
    """Whether the two differ by the test of Mann, Whitney and Wilcoxon, which asks nothing of their distribution."""
    from scipy.stats import mannwhitneyu  # takes a second to import

    return bool(mannwhitneyu(early, late).pvalue < CHANCE)


def _paces(epochs: Epochs) -> Numbers:
    """The usual step of each steady epoch, which one interruption does not change; its whole time where no step was
    timed.
    """
    counts = epochs.steps[epochs.steady]
    seconds: Numbers = epochs.seconds[epochs.steady]
    if not counts.any():
        return seconds
    steps = epochs.steady_steps
    if (counts == counts[0]).all():  # all at once, as it usually is
        paces: Numbers = np.median(steps.reshape(counts.size, -1), axis=1)
        return paces
    each = zip(np.split(steps, np.cumsum(counts)[:-1]), seconds, strict=True)
    return np.array([np.median(of_one) if of_one.size else whole for of_one, whole in each])
