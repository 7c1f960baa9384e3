"""Compares how far an epoch of training moves each weight: where a rate that is 0 in most steps shows.

Losses that differ for a declared reason hide it, and a step that is taken again has its rate back. No declared reason
is one for all weights: a row differs where each of them moves less than half as far as another row's, or more than
twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from kbench.analysis.sameness.epoch_losses import FLOOR, UNSTABLE
from kbench.analysis.sameness.usual import majority
from kbench.records.findings import Finding
from kbench.records.values import Measured

TIMES = 2.0

_Moved = tuple[Measured, Sequence[float]]


def differences(cells: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How cells differ from most, or from the first of two: of each the first epoch in which it does.

    cells: trainings from common weights. Not compared is what is chaos or has come to its end, and what callbacks set
    by scores.
    """
    found: dict[str, tuple[Measured, Finding]] = {}
    for epoch in sorted({number for one in cells for number in one.facts.received}):
        known = [(one, moved) for one in cells if (moved := _moved(one, epoch))]
        if len(known) < 2:
            continue
        reference = majority(known, lambda one, other: _ratio(one, other) is None)
        for one in known:
            ratio = _ratio(one, reference)
            if ratio is not None and one[0].cell.id not in found:
                how = Finding(
                    kind="received",
                    aspect="moved",
                    reference=reference[0].cell.backend,
                    own=ratio,
                    other=1.0,
                    about={"epoch": epoch, "task": one[0].facts.task},
                )
                found[one[0].cell.id] = (one[0], how)
    return list(found.values())


def _moved(one: Measured, epoch: int) -> Sequence[float]:
    """How far each weight moved, sorted, as backends list them in another order; empty if that says nothing."""
    about = one.facts.received.get(epoch)
    if about is None or not about.moved or not all(_is_training(one, number) for number in range(1, epoch + 1)):
        return ()
    first = one.facts.received.get(1)
    if first is not None and first.learning_rate is not None and about.learning_rate is None:
        return ()  # set by scores
    return sorted(math.nan if value is None else value for value in about.moved)


def _is_training(one: Measured, number: int) -> bool:
    """Whether the loss of this epoch is neither that of chaos nor that of a training that has come to its end."""
    losses = {epoch.epoch: epoch.loss for epoch in one.epochs}
    step, loss = one.facts.first_step, losses.get(number)
    first = step.loss if step is not None and step.loss is not None else losses.get(1)
    return loss is not None and first is not None and FLOOR * first < loss < UNSTABLE * first


def _ratio(own: _Moved, other: _Moved) -> float | None:
    """How many times as far the weights move, in the middle, if that is so of all; else None."""
    ratios = list(_ratios(own[1], other[1]))
    apart = max(ratios) < 1 / TIMES or min(ratios) > TIMES if ratios else False
    return median(ratios) if apart else None


def _ratios(own: Sequence[float], other: Sequence[float]) -> Iterator[float]:
    if len(own) == len(other):
        pairs = zip(own, other, strict=True)
        yield from (mine / its if its else math.inf for mine, its in pairs if mine or its)
