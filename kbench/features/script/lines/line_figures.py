"""What is known of a program's line beside its time: what callbacks and data take of a fit, and its first losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from kbench.analysis.times.step_times import median_of, steady
from kbench.features.script import events
from kbench.features.script.lines.finding_kinds import NO_SUM, NO_TRAINING
from kbench.features.script.lines.line_details import with_details
from kbench.features.script.lines.sums import WITHIN
from kbench.records.axes import RowKey
from kbench.records.findings import Finding
from kbench.records.values import OK, Measured
from kbench.summary import Summary


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows of lines, with these figures of their processes that ended ok."""
    of_row: dict[RowKey, list[Measured]] = {}
    for one in measured:
        if one.outcome.status == OK:
            of_row.setdefault(one.cell.key, []).append(one)
    return [_with(row, of_row.get(row.key, ())) if row.work.repeated else row for row in rows]


def _is_eager(one: Measured) -> bool:
    """Whether its framework starts each operation from Python: it counts no compilations, and jit_compile is off."""
    counts = any(epoch.compilations is not None for epoch in one.epochs)
    return bool(one.facts.run_eagerly) or (one.facts.jit_compile is False and not counts)


def _share(parts: Sequence[tuple[float, float]]) -> float:
    """What all parts are of all wholes, as measured: first epochs, too, in which validation compiles."""
    whole = sum(seconds for _, seconds in parts)
    return min(1.0, sum(part for part, _ in parts) / whole) if whole > 0 else 0.0


def _with(row: Summary, ok: Sequence[Measured]) -> Summary:
    epochs = [epoch for one in ok for epoch in steady(one.epochs)]
    fails = row.has(NO_SUM)
    known = [] if fails and fails.aspect == WITHIN else ok
    of_callbacks = [one.callback_seconds for one in epochs if known and one.callback_seconds is not None]
    in_fits = [events.of_line(one.facts).in_fits for one in known]
    told = [returned for one in ok if (returned := events.returned_by(one.facts)) is not None]
    a_batch = median_of([one.batch_seconds for one in told if one.batch_seconds is not None])
    steps = [] if row.work.by_call else [len(epoch.step_seconds) for epoch in epochs if epoch.step_seconds]
    losses = next((one.first_losses for one in told if one.first_losses), ())
    unchanged = [one.unchanged for one in told if one.unchanged is not None]
    nothing = [Finding(kind=NO_TRAINING)] if unchanged and all(unchanged) else []
    detailed = with_details(
        row,
        validation_share=_share([(one.validation, one.seconds) for one in in_fits]),
        callback_share=_share([(one.callbacks, one.seconds) for one in in_fits]),
        first_losses=tuple(math.nan if loss is None else loss for loss in losses),
        compiles=not (row.work.trains and ok and all(map(_is_eager, ok))),
        compiled_again=max((sum(epoch.compilations or 0 for epoch in steady(one.epochs)) for one in ok), default=0),
    )
    return replace(
        detailed,
        findings=(*row.findings, *nothing),
        callback_seconds=median_of(of_callbacks),
        batch_making_seconds=a_batch * median(steps) if a_batch is not None and steps else None,
    )
