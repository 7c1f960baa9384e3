"""A row's part of the time of a user's program: mean shares of its processes, so that all rows add up to it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from kbench.analysis.times.step_times import median_of
from kbench.records.values import Measured


def seconds(ok: Sequence[Measured]) -> float | None:
    """Of all calls of a line, or of what is outside Keras; None where that is not known."""
    return _part(ok, [one.facts.site_seconds for one in ok])


def phases(ok: Sequence[Measured]) -> dict[str, float]:
    """Of each phase, such as importing Keras."""
    names = dict.fromkeys(name for one in ok for name in one.phases)
    found = {name: _part(ok, [one.phases.get(name, 0.0) for one in ok]) for name in names}
    return {name: part for name, part in found.items() if part is not None}


def _part(ok: Sequence[Measured], parts: Sequence[float | None]) -> float | None:
    """The usual time of the program, times the mean share of these parts of its processes."""
    known = [(part, one.facts.program_seconds) for part, one in zip(parts, ok, strict=True)]
    times = [(part, whole) for part, whole in known if part is not None and whole]
    if not times:  # no program has ended
        return median_of(part for part in parts if part is not None)
    return median(whole for _, whole in times) * fmean(part / whole for part, whole in times)
