"""Whether several workers did one worker's work: each sample once an epoch, and a part of it by each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kbench.additions import FindingKind, WorkCheck
from kbench.features.workers import events
from kbench.features.workers.events import WorkerEpoch
from kbench.records.epochs import Epoch
from kbench.records.findings import FeatureKind, Finding
from kbench.records.values import OK, Measured
from kbench.words.text import listed

KIND = FeatureKind("workers")  # aspect: untold, idle, samples, read
_MODULO = 1 << 64  # of what they tell of the samples that they read
# It takes statistics of the batch, of which each worker has a part; in a step on trial each has all samples. What
# dropout draws makes losses differ among any rows (see epoch_losses.py).
_OF_A_BATCH = "BatchNormalization"
MOST = 0.5  # of the larger of two losses: more is not explained by it


def differences(measured: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """The cells of several workers in which they did something else, or which do not tell what they did."""
    several = [one for one in measured if one.cell.workers > 1 and one.outcome.status == OK and one.epochs]
    return [(one, how) for one in several if (how := _of_cell(one)) is not None]


def _of_cell(one: Measured) -> Finding | None:
    """The first difference."""
    by_epoch: dict[int, list[WorkerEpoch]] = {}
    for about in events.told(one.facts):
        by_epoch.setdefault(about.epoch, []).append(about)
    for epoch in one.epochs:
        if how := _of_epoch(epoch, by_epoch.get(epoch.epoch, []), one.cell.workers):
            aspect, own, other = how
            return Finding(kind=KIND, aspect=aspect, own=own, other=other, about={"epoch": epoch.epoch})
    return None


def _of_epoch(epoch: Epoch, told: Sequence[WorkerEpoch], count: int) -> tuple[str, object, object] | None:
    """(aspect, own, other) of what is wrong with it."""
    samples = {about.rank: about.samples for about in told}
    if {*samples} != {*range(count)}:
        return "untold", len(samples), count
    idle = [rank for rank, number in samples.items() if not number]
    if idle:
        return "idle", idle, count
    total = sum(samples.values())
    if total != epoch.samples:
        return "samples", total, epoch.samples
    read = [_number(about.read) for about in told]
    of_all = {_number(about.read_of_all) for about in told}
    known = [one for one in read if one is not None]
    if len(known) == count and of_all != {None} and of_all != {sum(known) % _MODULO}:
        return "read", None, None
    return None


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        return -1


def explained(one: Measured, found: Finding) -> Finding:
    """A difference in an epoch of several workers, explained by layers that compute of a worker's part of a batch."""
    normalized = any(_OF_A_BATCH in layer.class_name for layer in one.facts.layers or ())
    if one.cell.workers == 1 or not normalized or found.explanation:
        return found
    reason = f"each worker has its own part of a batch for {_OF_A_BATCH}"
    low, high = sorted(math.nan if score is None else score for score in (found.own, found.other))
    within = high < math.inf and high - low <= MOST * abs(high)  # false of what is no number
    return replace(found, explanation=reason) if within else found.perhaps(reason)


def sentence(found: Finding) -> str:
    """What they did, in words."""
    epoch, own, other = found.about["epoch"], found.own, found.other
    match found.aspect:
        case "untold":
            return f"{own} of its {other} workers told what they did in epoch {epoch}"
        case "idle" if len(own) == other - 1:
            return f"one of its {other} workers did all the work of epoch {epoch}"
        case "idle":
            return f"{listed(f'worker {rank}' for rank in own)} did nothing in epoch {epoch}"
        case "samples":
            return f"its workers together trained on {own:,} samples in epoch {epoch} instead of {other:,}"
        case _:
            return f"its workers did not read each sample of epoch {epoch} once"


CHECK = WorkCheck(differences, explained)
FINDINGS = FindingKind(KIND, sentence, differs=True)
