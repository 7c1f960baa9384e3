"""The rows of a run's tables, from the run as the store gives it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbench.analysis import intervals, roofline
from kbench.analysis.call_sites import expanded
from kbench.analysis.roofline import Limits
from kbench.analysis.summaries import summarise
from kbench.store.reading import RunRecord, RunResults
from kbench.values import NATIVE, Summary, base


def limits(run: RunRecord) -> Limits | None:
    """What the run's machine was measured to do at most; None where it was not."""
    return roofline.limits(roofline.larger(run.provenance))


def summarised(run: RunResults, baseline: str = "") -> Sequence[Summary]:
    """The rows of the run's tables, compared with the fastest and with the backend `baseline`, or the plan's own."""
    level = intervals.LEVEL_OF_A_LOOK if run.adds_processes else intervals.LEVEL
    return summarise(expanded(run.measured), baseline or run.baseline, limits(run), level, natives(run.backends))


def natives(backends: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Backend of Keras -> the run's backend of the same framework without Keras, if there is one.

    Of several that of the same version and settings, then the one that is called like the framework.
    """
    known = {name: found for name, about in backends.items() if isinstance(found := about.get("framework"), str)}
    without = [name for name in known if name.startswith(f"{NATIVE}/")]
    found = dict[str, str]()
    for name, framework in known.items():
        same = [one for one in without if known[one] == framework and name not in without]
        suffix = name.removeprefix(base(name))
        order = {one: (not one.endswith(suffix), one != base(one), one != f"{NATIVE}/{framework}") for one in same}
        if same:
            found[name] = min(same, key=order.__getitem__)
    return found
