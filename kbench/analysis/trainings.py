"""Compares what trainings received and did, epoch by epoch, and says in words which ones did other work."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from statistics import median
from typing import Any

from kbench.analysis import machine_stability, step_times
from kbench.text import significant
from kbench.values import Measured

# What a guest reports of an epoch, and of what kind it is: of each kind the first difference is told.
QUANTITIES = {
    "samples": "data",
    "steps": "data",
    "sha256": "data",
    "weights_changed": "weights",
    "learning_rate": "rate",
    "learning_rate_at_end": "rate",
    "updates": "updates",
}
OUTPUTS = 1e-3  # of the largest number: those of the same samples do not change by more from pass to pass
WAITED = 0.3  # of an epoch's time
RELATIVE = 1e-4  # of a learning rate, which backends hold as float32


def differences(group: Sequence[Measured], others: Container[str] = ()) -> list[tuple[Measured, str]]:
    """How trainings of the same example and repeat differ from the majority, or else from the first.

    Of each kind of QUANTITIES the first difference. What a guest did not report is not compared, nor are epochs that
    only some have. Of `others` (by id) it is known that their samples are others in some way, so not told again.
    """
    found = [(one, text) for one in group for text in (_threads(one), _cores(one)) if text]
    found += _changing(group)
    told = set[tuple[str, str]]()
    for epoch in sorted({number for one in group for number in one.facts.received}):
        for name, kind in QUANTITIES.items():
            known = [(one, getattr(one.facts.received.get(epoch), name, None)) for one in group]
            values = [(one, value) for one, value in known if value is not None]
            if not values:
                continue
            usual = Counter(_rounded(value) for _, value in values).most_common(1)[0][0]
            reference, expected = next((one, value) for one, value in values if _rounded(value) == usual)
            for one, value in values:
                if name.startswith("learning_rate") and one.facts.optimizer != reference.facts.optimizer:
                    continue  # which says so itself
                if name == "sha256" and one.cell.id in others:
                    continue
                if (one.cell.id, kind) not in told and not _equal(value, expected):
                    told.add((one.cell.id, kind))
                    found.append((one, _text(name, one, reference, epoch, value, expected)))
    return found


def callback_seconds(one: Measured) -> list[float]:
    """What its callbacks took around the batches of each epoch but the first."""
    return [about.callback_seconds or 0.0 for number, about in one.facts.received.items() if number > 1]


def _threads(one: Measured) -> str:
    """Whether the framework has another number of threads in an epoch, or in the end, than before the example's file
    was read.
    """
    before = one.facts.threads_at_start
    within = [(f" in epoch {number}", about.threads or {}) for number, about in sorted(one.facts.received.items())]
    for when, after in [("", one.facts.framework_threads), *within]:
        changed = [name for name in before if name in after and before[name] != after[name]]
        if changed:
            how = ", ".join(f"{name} {after[name]} instead of {before[name]}" for name in changed)
            return f"its number of threads was changed{when}: {how}"
    return ""


def _cores(one: Measured) -> str:
    """Whether it trained on other cores than it had before the example's file was read."""
    before = one.facts.cores_at_start
    for number, about in sorted(one.facts.received.items()):
        if before is not None and about.cores not in (None, before):
            return f"its number of cores was changed in epoch {number}: {about.cores} instead of {before}"
    return ""


def _changing(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Those whose outputs for the same samples changed from pass to pass, unless all do: their model has states."""
    told = [(one, [about.outputs_off for about in one.facts.received.values()]) for one in group]
    known = [(one, max(off)) for one, each in told if (off := [value for value in each if value is not None])]
    changed = [(one, off) for one, off in known if off > OUTPUTS]
    text = "its outputs changed from pass to pass, by up to {} of the largest number"
    return [(one, text.format(significant(off, 2))) for one, off in changed] if len(changed) < len(known) else []


def waiting(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Notes on those that waited during much of their epochs, as for a sleep or a lock, while others computed."""
    shares = [(one, share) for one in group if (share := _waited(one)) is not None]
    found = []
    for one, share in shares:
        least = min((other for beside, other in shares if beside is not one), default=share)
        if share > least + WAITED:
            found.append((one, f"its process only waited in {share:.0%} of its epochs' time, others in {least:.0%}"))
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


def _text(name: str, one: Measured, reference: Measured, epoch: int, value: Any, expected: Any) -> str:
    unlike = f"unlike {reference.cell.backend}"
    training = "run" if one.facts.task == "infer" else "trained"
    match name:
        case "samples":
            return (
                f"{unlike} in the number of samples: {training} on {value:,} in epoch {epoch} instead of {expected:,}"
            )
        case "steps":
            return f"{unlike} in the number of steps: {value:,} in epoch {epoch} instead of {expected:,}"
        case "sha256":
            return f"{unlike} in the data that its training received in epoch {epoch}"
        case "updates":
            counted = f"{value:,} in epoch {epoch} instead of {expected:,}"
            return f"{unlike} in the steps that its optimizer counts: {counted}"
        case "weights_changed":
            changed = "were changed outside training" if value else "were not changed outside training"
            return f"{unlike} in its weights, which {changed}, before epoch {epoch}"
        case _:
            when = f"at the {'end' if name.endswith('end') else 'start'} of epoch {epoch}"
            return f"{unlike} in its learning rate {when}: {significant(value)} instead of {significant(expected)}"
