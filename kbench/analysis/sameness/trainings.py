"""Compares what trainings received and did, epoch by epoch, and finds out which ones did other work."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from statistics import median

from kbench.analysis.sameness.usual import majority
from kbench.analysis.times import machine_stability, step_times
from kbench.records.findings import Finding
from kbench.records.values import Measured

# What a guest reports of an epoch, and of what kind it is: of each kind the first difference is told.
QUANTITIES = {
    "samples": "data",
    "steps": "data",
    "sha256": "data",
    "weights_changed": "weights",
    "learning_rate": "rate",
    "learning_rate_at_end": "rate",
    "updates": "updates",
    "validation_sha256": "validation",
}
OUTPUTS = 1e-3  # of the largest number: those of the same samples do not change by more from pass to pass
WAITED = 0.3  # of an epoch's time
RELATIVE = 1e-4  # of a learning rate, which backends hold as float32


def differences(group: Sequence[Measured], others: Container[str] = ()) -> list[tuple[Measured, Finding]]:
    """How trainings of the same example and repeat differ from the majority, or else from the first.

    Of each kind of QUANTITIES the first difference. What a guest did not report is not compared, nor are epochs that
    only some have. Of `others` (by id) it is known that their samples are others in some way, so not told again.
    """
    found = [(one, how) for one in group for how in (_threads(one), _cores(one)) if how is not None]
    found += _changing(group)
    told = set[tuple[str, str]]()
    for epoch in sorted({number for one in group for number in one.facts.received}):
        for name, kind in QUANTITIES.items():
            known = [(one, getattr(one.facts.received.get(epoch), name, None)) for one in group]
            values = [(one, value) for one, value in known if value is not None]
            if not values:
                continue
            reference, expected = majority(values, lambda one, other: bool(_rounded(one[1]) == _rounded(other[1])))
            for one, value in values:
                if name.startswith("learning_rate") and one.facts.optimizer != reference.facts.optimizer:
                    continue  # which says so itself
                if name == "sha256" and one.cell.id in others:
                    continue
                if (one.cell.id, kind) not in told and not _equal(value, expected):
                    told.add((one.cell.id, kind))
                    about = {"epoch": epoch, "task": one.facts.task}
                    how = Finding(kind="received", aspect=name, own=value, other=expected, about=about)
                    found.append((one, replace(how, reference=reference.cell.backend)))
    return found


def callback_seconds(one: Measured) -> list[float]:
    """What its callbacks took around the batches of each epoch but the first."""
    return [about.callback_seconds or 0.0 for number, about in one.facts.received.items() if number > 1]


def _threads(one: Measured) -> Finding | None:
    """Whether the framework has another number of threads in an epoch, or in the end, than before the example's file
    was read.
    """
    before = one.facts.threads_at_start
    within = [({"epoch": number}, about.threads or {}) for number, about in sorted(one.facts.received.items())]
    for when, after in [({}, one.facts.framework_threads), *within]:
        changed = [name for name in before if name in after and before[name] != after[name]]
        if changed:
            own, other = ({name: threads[name] for name in changed} for threads in (after, before))
            return Finding(kind="threads", own=own, other=other, about=when)
    return None


def _cores(one: Measured) -> Finding | None:
    """Whether it trained on other cores than it had before the example's file was read."""
    before = one.facts.cores_at_start
    for number, about in sorted(one.facts.received.items()):
        if before is not None and about.cores not in (None, before):
            when = {"epoch": number}
            return Finding(kind="cores", own=about.cores, other=before, about=when)
    return None


def _changing(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """Those whose outputs for the same samples changed from pass to pass, unless all do: their model has states."""
    told = [(one, [about.outputs_off for about in one.facts.received.values()]) for one in group]
    known = [(one, max(off)) for one, each in told if (off := [value for value in each if value is not None])]
    changed = [(one, off) for one, off in known if off > OUTPUTS]
    if len(changed) == len(known):
        return []
    return [(one, Finding(kind="changing outputs", own=off)) for one, off in changed]


def waiting(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """Those that waited during much of their epochs, as for a sleep or a lock, while others computed."""
    shares = [(one, share) for one in group if (share := _waited(one)) is not None]
    found = []
    for one, share in shares:
        least = min((other for beside, other in shares if beside is not one), default=share)
        if share > least + WAITED:
            found.append((one, Finding(kind="waiting", own=share, other=least)))
    return found


def _waited(one: Measured) -> float | None:
    """The share of its epochs' time without callbacks in which no thread was ready to compute; None: not known."""
    if one.cell.device != "cpu" or any(machine_stability.disturbed_turns([one])):
        return None
    shares = [
        1 - (ready + (about.callback_seconds or 0.0)) / epoch.seconds
        for epoch in step_times.steady(one.epochs)
        if epoch.seconds > 0
        and (about := one.facts.received.get(epoch.epoch))
        and (ready := about.ready_seconds) is not None
    ]
    return max(0.0, median(shares)) if shares else None


def _rounded(value: object) -> object:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _equal(value: object, expected: object) -> bool:
    if isinstance(value, float) and isinstance(expected, int | float):
        return math.isclose(value, expected, rel_tol=RELATIVE) or (math.isnan(value) and math.isnan(expected))
    return value == expected
