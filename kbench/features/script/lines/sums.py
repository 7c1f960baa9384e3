"""Whether the times of a program add up. Its parts are measured each by itself, so that those that come to more than
the whole are wrong; so is a usual time of which as many as there were would take longer than all did. Such numbers
are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kbench.analysis.row_figures import RowProcesses
from kbench.features.script import events
from kbench.features.script.events import InFits
from kbench.features.script.lines.finding_kinds import NO_SUM
from kbench.features.script.lines.units import EPOCH, REST, RUN
from kbench.records.findings import Finding
from kbench.records.values import Measured
from kbench.summary import Summary

ALLOWED = 0.01  # of the whole: parts may come to so much more
OF_ESTIMATE = 0.5  # the same of so many usual times: of unequal ones the middle one is off the mean
WITHIN, USUAL, LINES, IMPORT = "within", "usual", "lines", "import"  # the parts of a sum that fails
_OF_EPOCHS = (
    "epoch_seconds", "samples_per_second", "seconds_per_1000_samples", "tokens_per_second", "step_seconds_median",
    "step_seconds_p95",
)  # fmt: skip
# What is left out where a sum fails, of the fields of a row.
_LEFT_OUT = {
    WITHIN: (*_OF_EPOCHS, "first_epoch_seconds", "evaluation_seconds", "around_seconds", "steady_epoch_seconds"),
    USUAL: _OF_EPOCHS,
}


def failing(what: str, parts: float, whole: float, allowed: float = ALLOWED) -> list[Finding]:
    """That the parts come to more than the whole, if they do. what: which ones they are."""
    return [Finding(kind=NO_SUM, aspect=what, own=parts, other=whole)] if parts > (1 + allowed) * whole else []


def of_lines(taken: Sequence[float], program: float) -> list[Finding]:
    """That of the lines of a program, and of all of it."""
    return failing(LINES, sum(taken), program)


def checked(fields: Mapping[str, Any], row: RowProcesses, whole: float | None) -> dict[str, Any]:
    """The fields of a row without those of sums that fail, with what is said of these; whole: of all its calls."""
    found = [*(_within(row.ok) or _usual(fields, row, whole)), *_import(fields, whole)]
    left_out = {name: None for one in found for name in _LEFT_OUT.get(one.aspect, ()) if name in fields}
    kept = {} if any(one.aspect == IMPORT for one in found) else fields["phases"]
    return {**fields, **left_out, "phases": kept, "findings": (*fields["findings"], *found)}


def without_intervals(rows: Sequence[Summary]) -> list[Summary]:
    """The rows without the intervals of times that were left out."""
    none: dict[str, Any] = {
        "epoch_interval": None, "per_1000_interval": None, "resampled": "", "resampled_values": None
    }  # fmt: skip
    return [replace(row, **none) if row.has(NO_SUM) and row.epoch_seconds is None else row for row in rows]


def _within(ok: Sequence[Measured]) -> list[Finding]:
    """What is within fits: epochs, their validation, and callbacks between them."""
    known: list[InFits] = [events.of_line(one.facts).in_fits for one in ok]
    found = [failing(WITHIN, one.epochs + one.validation + one.between, one.seconds) for one in known]
    return next((one for one in found if one), [])


def _usual(fields: Mapping[str, Any], row: RowProcesses, whole: float | None) -> list[Finding]:
    """The first epoch or call, and as many usual ones as there were after it, beside what all of them took."""
    unit = row.facts.unit
    usual: float | None = fields["epoch_seconds"]
    first: float | None = fields["first_epoch_seconds"]
    counts = [len(one.epochs) if unit == EPOCH else one.facts.calls or 0 for one in row.ok]
    if unit in (RUN, REST) or whole is None or not usual or first is None:
        return []
    count = sum(counts) / len(counts)
    others = _outside_epochs(row.ok) if unit == EPOCH else 0.0
    # Where each call compiles, each has its share of what the first one took longer.
    once, often = (others, count) if row.facts.each_compiles else (first + others, count - 1)
    return failing(USUAL, once + often * usual, whole, OF_ESTIMATE)


def _outside_epochs(ok: Sequence[Measured]) -> float:
    known = [events.of_line(one.facts).in_fits for one in ok]
    return sum(one.validation + one.between for one in known) / len(known)


def _import(fields: Mapping[str, Any], whole: float | None) -> list[Finding]:
    taken = fields["phases"].get(IMPORT)
    return failing(IMPORT, taken, whole) if taken is not None and whole is not None else []
