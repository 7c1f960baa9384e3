"""Compares the training losses of the first epoch, to see what a first step alone cannot: steps that change later.

Where no layer draws random numbers, trainings from the same weights on the same batches have the same loss, but for
rounding: in the reference runs within 0.7 % after an epoch. With dropout they are within 7 %, over 39 steps and more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_low

from kbench.analysis import first_steps
from kbench.text import significant
from kbench.values import Measured

ALLOWED, BY_CHANCE = 0.05, 0.2  # of the loss: without and with random numbers
ENOUGH = 10  # steps, to have a mean of what is random
RISEN = 1.5  # times the loss of the first batch: the first steps made it worse


def differences(cells: Sequence[Measured]) -> list[tuple[Measured, str, str]]:
    """(cell, how it differs from the middle one, or from the first of two; the reason, if that is declared).

    cells: trainings from common weights.
    """
    losses = [(one, loss) for one in cells if (loss := _loss(one)) is not None]
    if len(losses) < 2:
        return []
    middle = losses[0][1] if len(losses) == 2 else median_low(loss for _, loss in losses)
    reference = next(one for one, loss in losses if loss == middle)
    found = []
    for one, loss in losses:
        share = abs(loss - middle) / (max(abs(loss), abs(middle)) or 1.0)
        if share <= _allowed(one, reference):
            continue
        if reason := _declared(share, (one, loss), (reference, middle)):
            known = f"its loss of epoch 1 differs from that of {reference.cell.backend}, as is known: {reason}"
            found.append((one, "", known))
        else:
            how = f"the loss of epoch 1: {significant(loss, 3)} instead of {significant(middle, 3)}"
            found.append((one, f"unlike {reference.cell.backend} in {how}, from the same weights and batches", ""))
    return found


def _declared(share: float, first: tuple[Measured, float], second: tuple[Measured, float]) -> str:
    """The reason in a backend's file for a larger loss where both have risen; empty if there is none."""
    (other, least), (one, _) = sorted((first, second), key=lambda pair: pair[1])
    step = one.facts.first_step
    if step is None or step.loss is None or least < RISEN * step.loss:
        return ""
    return first_steps.declared(first_steps.Part("rising loss", "", share, 0.0, 1.0, ""), one, other)


def _allowed(one: Measured, reference: Measured) -> float:
    if first_steps.compare(one, reference)[1]:  # differences are known
        return math.inf
    return BY_CHANCE if first_steps.draws(one) or first_steps.draws(reference) else ALLOWED


def _loss(one: Measured) -> float | None:
    """The mean loss of the first epoch; None where it is no number, or a matter of chance."""
    loss = next((epoch.loss for epoch in one.epochs if epoch.epoch == 1), None)
    random = first_steps.draws(one)
    if loss is None or random is None or not math.isfinite(loss):
        return None
    return None if random and one.cell.samples < ENOUGH * one.cell.batch_size else loss
