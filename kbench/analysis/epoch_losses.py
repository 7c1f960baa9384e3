"""Compares the losses of every epoch, to see what a first step alone cannot: training that changes later.

Where no layer draws random numbers, trainings from the same weights on the same batches have the same losses, but for
rounding, which grows: in the reference runs they are within 0.6 % in epoch 1, 0.9 % in epoch 2 and 1.8 % in epoch 3,
after 1,170 steps. With dropout they are within 11 % in every epoch of up to 20, from 8 steps on. Where the first step
differs for a declared reason, they are within 6 % after 5 epochs without random numbers, or as that reason declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low

from kbench.analysis import first_steps
from kbench.text import significant
from kbench.values import Measured

# Of the larger loss: without random numbers, and where the first step is known to differ, both times the root of the
# epoch's number; with random numbers; with few steps of these; where it is not known what is random.
ALLOWED, KNOWN, BY_CHANCE, OF_FEW, UNKNOWN = 0.05, 0.1, 0.2, 0.4, 0.5
ENOUGH = 10  # steps, to have a mean of what is random
FLOOR = 0.02  # of the first loss: smaller losses are compared as if they were so large
UNSTABLE = 1.5  # times the loss of the first batch: from then on training is chaos
RISES, HIGH = 1.0, 0.8  # times that loss: of the larger and the smaller one, where others clip
SAME_LOSS, SCORE = 1e-3, 0.05  # losses that agree so well, relative, have accuracies that do, absolute
VALIDATION, OF_ACCURACY = 10.0, 0.25  # times the loss, and absolute: what no training with the same loss explains
ERRORS = 5.0  # standard errors of an accuracy of so many validation samples, at most


@dataclass(frozen=True)
class _Pair:
    """A cell beside the one that it is compared with, in an epoch."""

    one: Measured
    reference: Measured
    position: int  # of the epoch, from 0

    def losses(self) -> tuple[float, float]:
        return _loss(self.one, self.position), _loss(self.reference, self.position)

    @property
    def first(self) -> float:
        """The larger loss of the first batches; 0 where that is not known."""
        steps = (self.one.facts.first_step, self.reference.facts.first_step)
        return max((step.loss for step in steps if step is not None and step.loss is not None), default=0.0)

    @property
    def share(self) -> float:
        own, other = self.losses()
        return abs(own - other) / (max(abs(own), abs(other), FLOOR * self.first) or 1.0)


def differences(cells: Sequence[Measured]) -> list[tuple[Measured, str, str]]:
    """(cell, how it differs from the middle one, or from the first of two; the reason, if that is declared).

    cells: trainings from common weights.
    """
    known = [one for one in cells if one.epochs and math.isfinite(_loss(one, 0))]
    return [found for one in known if (found := _of_cell(one, known)) is not None] if len(known) > 1 else []


def _of_cell(one: Measured, cells: Sequence[Measured]) -> tuple[Measured, str, str] | None:
    for pair in _pairs(one, cells):
        number = pair.position + 1
        own, other = pair.losses()
        if pair.share <= _allowed(pair) or pair.share <= _known(pair):
            if how := _unlike_loss(pair):
                return one, f"unlike {pair.reference.cell.backend} in {how}", ""
        elif reason := _declared(pair):
            backend = pair.reference.cell.backend
            return one, "", f"its loss of epoch {number} differs from that of {backend}, as is known: {reason}"
        else:
            how = f"the loss of epoch {number}: {significant(own, 3)} instead of {significant(other, 3)}"
            return one, f"unlike {pair.reference.cell.backend} in {how}, from the same weights and batches", ""
    return None


def _pairs(one: Measured, cells: Sequence[Measured]) -> Iterator[_Pair]:
    """The cell beside the middle one of each epoch, as long as training is stable there."""
    for position in range(len(one.epochs)):
        there = [other for other in cells if len(other.epochs) > position and math.isfinite(_loss(other, position))]
        if one not in there or len(there) < 2:
            return
        losses = [_loss(other, position) for other in there]
        reference = there[0] if len(there) == 2 else there[losses.index(median_low(losses))]
        pair = _Pair(one, reference, position)
        if reference is not one:
            yield pair
        if pair.first and _loss(reference, position) >= UNSTABLE * pair.first:
            return


def _loss(one: Measured, position: int) -> float:
    loss = one.epochs[position].loss
    return math.nan if loss is None else loss


def _declared(pair: _Pair) -> str:
    """The reason in a backend's file for another loss where both are as large as at first, and one is larger."""
    small, large = sorted(pair.losses())
    if not pair.first or large < RISES * pair.first or small < HIGH * pair.first:
        return ""
    part = first_steps.Part("rising loss", "", pair.share, 0.0, 1.0, "")
    one, other = pair.one, pair.reference
    return first_steps.declared(part, one, other) or first_steps.declared(part, other, one)


def _allowed(pair: _Pair) -> float:
    """Of the loss."""
    random = [first_steps.draws(one) for one in (pair.one, pair.reference)]
    if None in random:
        return UNKNOWN
    if any(random):
        return OF_FEW if pair.one.cell.samples < ENOUGH * pair.one.cell.batch_size else BY_CHANCE
    return ALLOWED * math.sqrt(pair.position + 1)


def _known(pair: _Pair) -> float:
    """Of the loss, where the first step differs for declared reasons; 0 where it does not."""
    reasons = first_steps.compare(pair.one, pair.reference)[1]
    explained = (*pair.one.facts.explained, *pair.reference.facts.explained)
    bounds = [known.bound_of_loss for known in explained if known.reason in reasons]
    return max(KNOWN * math.sqrt(pair.position + 1), *bounds) if reasons else 0.0


def _unlike_loss(pair: _Pair) -> str:
    """A score that is another although the loss in training is the same; empty if there is none."""
    own, other = (one.epochs[pair.position] for one in (pair.one, pair.reference))
    number = pair.position + 1
    if pair.share <= SAME_LOSS and _apart(own.accuracy, other.accuracy) > SCORE:
        return f"its accuracy of epoch {number}: {own.accuracy:.4g} instead of {other.accuracy:.4g}, at the same loss"
    small, large = sorted((own.val_loss or 0.0, other.val_loss or 0.0))
    if own.val_loss is None or other.val_loss is None or pair.share > ALLOWED:
        return ""
    by_chance = ERRORS * 0.5 / math.sqrt(pair.one.cell.validation_samples or 1)
    scores = _apart(own.val_accuracy, other.val_accuracy)
    if large > VALIDATION * max(small, FLOOR * pair.first) or scores > max(OF_ACCURACY, by_chance):
        shown = f"{significant(own.val_loss, 3)} instead of {significant(other.val_loss, 3)}"
        return f"its validation loss of epoch {number}: {shown}, at the same loss in training"
    return ""


def _apart(own: float | None, other: float | None) -> float:
    return 0.0 if own is None or other is None else abs(own - other)
