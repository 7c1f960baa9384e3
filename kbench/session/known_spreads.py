"""How much processes differ, from the runs that come with kbench and from the user's own, kept in the cache."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.analysis.times import machine_stability, spreads
from kbench.analysis.times.row_times import observed
from kbench.analysis.times.spreads import Priors, Processes
from kbench.base import paths
from kbench.machine import provenance
from kbench.planning.plan import Plan

MOST_ROWS = 1000  # of the user's own that are kept, the newest


def priors(plan: Plan) -> Priors:
    """The priors of a run's rows, as far as kbench knows now."""
    names = {"", *(name for task in plan.tasks for name in spreads.more_general(spreads.configuration(task)))}
    found = spreads.fit([*spreads.read(), *own]) if (own := _own()) else spreads.shipped()
    return {name: one for name, one in found.items() if name[0] in names}


def keep(analysis: Analysis) -> None:
    """Add what the run shows to the user's own; nothing of a busy machine, or if the cache cannot be written."""
    run = analysis.run
    source = run.created  # to a microsecond; its folder may have another name by then
    rows = observed(analysis.row_cells, run.short, source, provenance.whole_cores(run.provenance))
    if not rows or machine_stability.is_busy(run.measured):
        return
    with contextlib.suppress(OSError):
        file = _file()
        part = file.with_suffix(f".{os.getpid()}")
        spreads.write(part, [*(row for row in _own() if row.source != source), *rows][-MOST_ROWS:])
        part.replace(file)


def _own() -> list[Processes]:
    with contextlib.suppress(OSError, ValueError, KeyError, AttributeError):  # a damaged file
        return spreads.read(_file())
    return []


def _file() -> Path:
    return paths.cache_folder() / spreads.SHIPPED.name
