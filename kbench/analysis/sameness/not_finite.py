"""Losses, scores, weights and outputs that are no finite numbers: nobody wants such a training faster."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kbench.records import workloads
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.values import OK, Measured

NAMES = {
    "loss": "loss",
    "val_loss": "validation loss",
    "accuracy": "accuracy",
    "val_accuracy": "validation accuracy",
}
NAN = "nan"


def finding(one: Measured) -> Finding | None:
    """The first such thing of a cell that ended ok: what it learns from before what follows from that."""
    return next(_all(one), None) if one.outcome.status == OK else None


def _all(one: Measured) -> Iterator[Finding]:
    by_call = workloads.workload_for(one.facts.task, one.facts.unit).by_call  # whose numbers are of calls
    names = dict.fromkeys([*NAMES, *(name for epoch in one.epochs for name in epoch.metrics or {})])
    for name in names:
        if (found := _of_score([(epoch.epoch, _score(epoch, name)) for epoch in one.epochs])) is not None:
            own, about = found
            yield Finding(kind="not finite", aspect=NAMES.get(name, name), own=own, about={} if by_call else about)
    if lost := [number for number, about in sorted(one.facts.received.items()) if about.not_finite]:
        yield Finding(kind="not finite", aspect="weights", own=NAN, about={"epoch": lost[0], "on": True})
    if not all(scale is not None and math.isfinite(scale) for scale in one.facts.probe_scales or ()):
        yield Finding(kind="not finite", aspect="outputs", own=NAN)


def _score(epoch: Epoch, name: str) -> float | None:
    value: float | None = getattr(epoch, name) if name in NAMES else (epoch.metrics or {}).get(name)
    return value


def _of_score(values: Sequence[tuple[int, float | None]]) -> tuple[str, dict[str, object]] | None:
    """(nan or infinite, from which epoch on) of {epoch: score}; None where all are finite, or not known."""
    known = [(number, value) for number, value in values if value is not None]
    place = next((place for place, (_, value) in enumerate(known) if not math.isfinite(value)), None)
    if place is None:
        return None
    number, value = known[place]
    stays = all(not math.isfinite(later) for _, later in known[place:])
    return NAN if math.isnan(value) else "infinite", {"epoch": number, "on": stays}
