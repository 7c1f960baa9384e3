"""What the steps of steady epochs show: how long one takes, and whether the epochs were steady at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kbench.epochs import Epochs

if TYPE_CHECKING:
    from kbench.epochs import Counts, Numbers

CHANGE = 0.1  # of the time of a step, from which on the reader is told
CHANCE = 0.01  # how often epochs that do not change would look so at most: five in each half are the fewest that can


def median_of(values: Numbers) -> float | None:
    """The median of these; None where there are none."""
    return float(np.median(values)) if values.size else None


def medians_of(each: Sequence[Numbers]) -> list[float | None]:
    """The median of each of these."""
    if each and each[0].size and len({one.size for one in each}) == 1:  # at once, as those of repeats mostly are
        found: list[float | None] = np.median(np.stack(each), axis=1).tolist()
        return found
    return [median_of(one) for one in each]


def p95_seconds(steps: Numbers) -> float | None:
    """What 95 % of these did not exceed, interpolated linearly; None where there are none."""
    return float(np.percentile(steps, 95)) if steps.size else None


def still_changing(repeats: Sequence[Epochs], epochs: int) -> str:
    """A sentence where the steady epochs of a row go on getting faster or slower; empty where they do not.

    repeats: the epochs of each; epochs: how many a repeat was to have. The first halves of all repeats' steady epochs
    are held against their second halves (an epoch in the middle counts for neither), by the usual step of each epoch.
    """
    paces = _paces(repeats)
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


def _paces(repeats: Sequence[Epochs]) -> list[Numbers]:
    """The usual step of each steady epoch of each repeat, which one interruption does not change; its whole time
    where no step was timed.
    """
    counts = [one.steps[one.steady] for one in repeats]
    steps = [one.steady_steps for one in repeats]
    every = np.concatenate([np.empty(0, np.int64), *counts])
    if every.any() and (every == every[0]).all():  # all at once, as it usually is
        paces = np.median(np.concatenate(steps).reshape(every.size, -1), axis=1)
        return np.split(paces, np.cumsum([one.size for one in counts])[:-1])
    return [
        np.array([np.median(few) if few.size else whole for few, whole in zip(_split(own, of), told, strict=True)])
        for own, of, told in zip(steps, counts, (one.seconds[one.steady] for one in repeats), strict=True)
    ]


def _split(steps: Numbers, counts: Counts) -> list[Numbers]:
    """The steps of each epoch, of which each has so many."""
    return np.split(steps, np.cumsum(counts)[:-1]) if counts.size else []
