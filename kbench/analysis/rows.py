"""The rows of a run's tables, from the run as the store gives it back."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis import intervals, roofline
from kbench.analysis.call_sites import expanded
from kbench.analysis.roofline import Limits
from kbench.analysis.summaries import summarise
from kbench.store.reading import RunRecord, RunResults
from kbench.values import Summary


def limits(run: RunRecord) -> Limits | None:
    """What the run's machine was measured to do at most; None where it was not."""
    return roofline.limits(roofline.larger(run.provenance))


def summarised(run: RunResults, baseline: str = "") -> Sequence[Summary]:
    """The rows of the run's tables, compared with the fastest and with the backend `baseline`, or the plan's own."""
    level = intervals.LEVEL_OF_A_LOOK if run.adds_processes else intervals.LEVEL
    return summarise(expanded(run.measured), baseline or run.baseline, limits(run), level)
