"""The rows of a run's tables, from the run as the store gives it back."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis import roofline, summaries
from kbench.analysis.ratios import Timed, compare
from kbench.analysis.roofline import Limits
from kbench.store.reading import RunRecord, RunResults
from kbench.values import Summary


def limits(run: RunRecord) -> Limits | None:
    """What the run's machine was measured to do at most; None where it was not."""
    return roofline.limits(roofline.larger(run.provenance))


def timed(run: RunResults) -> list[Timed]:
    """The rows of the run's tables, in their order and not yet compared."""
    return summaries.timed(run.measured, limits(run))


def summarised(run: RunResults, baseline: str = "") -> Sequence[Summary]:
    """The rows of the run's tables, compared with the fastest and with the backend `baseline`, or the plan's own."""
    return compare(timed(run), baseline or run.baseline)
