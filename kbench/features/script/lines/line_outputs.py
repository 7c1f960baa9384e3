"""Compares what the lines of one program return on the same backend, where the same weights and inputs went in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kbench.analysis.sameness import first_outputs
from kbench.features.script import events
from kbench.features.script.events import Returned
from kbench.features.script.lines import call_outputs, call_weights
from kbench.features.script.lines.line_details import LikeLine, with_details
from kbench.records.axes import SITE, RowKey
from kbench.records.values import OK, Measured
from kbench.summary import Summary


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with what a line before them returned, too."""
    found: dict[RowKey, LikeLine] = {}
    before: dict[tuple[object, ...], list[tuple[str, Returned]]] = {}
    for one in measured:
        told, line = events.returned_by(one.facts), one.cell.site
        if one.outcome.status != OK or told is None or told.random:
            continue
        cell = one.cell.key.without([SITE])
        earlier = before.setdefault((cell, one.cell.repeat), [])
        like = next(filter(None, (_alike(told, other, name) for name, other in earlier)), None)
        if like:
            found.setdefault(one.cell.key, like)
        else:
            earlier.append((line, told))
    return [with_details(row, like_line=found.get(row.key)) for row in rows]


def _alike(told: Returned, other: Returned, line: str) -> LikeLine | None:
    """That a call returns the same as that of `line` before it, if it does."""
    if not (call_weights.same_inputs(told, other) and call_weights.same_weights(told, other)):
        return None
    mine, its = call_weights.outputs(told), call_weights.outputs(other)
    if mine and its:
        apart = first_outputs.apart(mine, its)
        return LikeLine(line, apart) if not math.isnan(apart) and first_outputs.same(mine, its) else None
    if not told.scores or not other.scores or told.scores.keys() != other.scores.keys():
        return None
    return None if call_outputs.scores_apart(told, other) else LikeLine(line)
