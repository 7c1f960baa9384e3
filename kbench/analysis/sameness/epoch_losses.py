"""Compares the losses of every epoch, to see what a first step alone cannot: training that changes later.

Where no layer draws random numbers, trainings from the same weights on the same batches have the same losses, but for
rounding, which grows: in the reference runs they are within 0.6 % in epoch 1, 0.9 % in epoch 2 and 1.8 % in epoch 3,
after 1,170 steps. With dropout they are within 9 % in every epoch of up to 20, from 8 steps on. Where steps
differ for a declared reason, they are within 6 % in epoch 3 without random numbers, 14 % with Adam on embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from kbench.analysis.sameness import first_steps
from kbench.analysis.sameness.declared import may_be_why
from kbench.records.epochs import Epoch
from kbench.records.findings import Finding
from kbench.records.values import Measured

# Of the larger loss: without random numbers, and where the first step is known to differ, both times the root of the
# epoch's number; with random numbers; with few steps of these; where it is not known what is random.
ALLOWED, KNOWN, BY_CHANCE, OF_FEW, UNKNOWN = 0.02, 0.1, 0.2, 0.4, 0.5
ENOUGH = 10  # steps, to have a mean of what is random
FLOOR = 0.05  # of the first loss: smaller losses are compared as if they were so large
UNSTABLE = 1.5  # times the loss of the first batch: from then on training is chaos
RISES, HIGH = 1.1, 0.8  # times that loss: of the larger and the smaller one, where others clip
# If nothing is random, losses in training that agree so well, relative, have accuracies and validation that do.
SAME_LOSS, SCORE, SAME_VALIDATION = 1e-4, 0.01, 0.02
ALIKE = 0.05  # of the loss in training: about the same
VALIDATION = 10.0  # times the validation loss: what no training with about the same loss explains
LARGER, OF_ACCURACY = 1.2, 0.25  # nor so many times, if accuracies are so far apart
LEFT = 0.01  # of what moving averages were at first: less explains no validation loss that is LARGER
ERRORS = 5.0  # standard errors of an accuracy of so many validation samples, at most


@dataclass(frozen=True)
class _Pair:
    """A cell beside the one that it is compared with, in an epoch."""

    one: Measured
    reference: Measured
    own: Epoch
    other: Epoch  # of the reference, of the same number

    def losses(self) -> tuple[float, float]:
        return _loss(self.own), _loss(self.other)

    @property
    def number(self) -> int:
        return self.own.epoch

    @property
    def first(self) -> float:
        """The larger loss of the first batches; of the first epochs where that is not known."""
        steps = (self.one.facts.first_step, self.reference.facts.first_step)
        known = [step.loss for step in steps if step is not None and step.loss is not None]
        return max(known or [_loss(epoch) for one in (self.one, self.reference) for epoch in one.epochs[:1]])

    @property
    def stable(self) -> bool:
        """Whether the reference's training is, as far as its loss shows."""
        return not 0 < UNSTABLE * self.first <= _loss(self.other)

    @property
    def share(self) -> float:
        """Of the larger loss; infinite where one is no number."""
        return _relative(*self.losses(), FLOOR * self.first)

    @property
    def random(self) -> list[bool | None]:
        """Whether layers of either draw random numbers; None: not known."""
        return [first_steps.uses_random_layers(one) for one in (self.one, self.reference)]

    @property
    def is_same(self) -> bool:
        """Whether nothing is random, and the losses in training agree as well as rounding lets them."""
        return self.random == [False, False] and self.share <= SAME_LOSS


def differences(cells: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How cells differ from the middle one, or from the first of two; with the reason, if that is declared.

    cells: trainings from common weights. Those of a program are not compared: its batches are its own.
    """
    known = [one for one in cells if not one.facts.unit and one.epochs and math.isfinite(_loss(one.epochs[0]))]
    return [(one, how) for one in known if (how := _of_cell(one, known)) is not None] if len(known) > 1 else []


def _of_cell(one: Measured, cells: Sequence[Measured]) -> Finding | None:
    """The first difference that is not known, or else the first that is."""
    known, in_doubt = None, None
    compared = 0
    for pair in _pairs(one, cells):
        compared += 1
        how = _difference(pair, known is not None)
        if how is None:
            continue
        how = replace(how, reference=pair.reference.cell.backend)
        if not how.differs:
            known = known or how
        elif in_doubt or not _needs_another(pair, how):
            return in_doubt or how
        else:
            in_doubt = how
    return (in_doubt if compared == 1 else None) or known


def _needs_another(pair: _Pair, how: Finding) -> bool:
    """Whether the loss of one epoch alone says little, because how far a known difference takes it is not known."""
    return how.aspect == "loss" and 0 < _known(pair) < pair.share <= BY_CHANCE


def _difference(pair: _Pair, known: bool) -> Finding | None:
    """`known`: after one that is."""
    about = {"epoch": pair.number}
    aspect: str
    own: float | None
    other: float | None
    if pair.share > _allowed(pair) and pair.share > _known(pair):
        aspect, own, other = "loss", *pair.losses()
        why = _declared(pair, known)
    elif scores := _unlike_accuracy(pair):
        aspect, own, other = scores
        why = ""
    elif _is_unlike_in_validation(pair):
        aspect, own, other = "validation loss", pair.own.val_loss, pair.other.val_loss
        why = _of_averages(pair)
    else:
        return None
    found = Finding(kind="epoch", aspect=aspect, own=own, other=other, about=about, explanation=why)
    rises = max(_number(own), _number(other)) >= pair.first
    quantities = ("rising loss", "1 step") if rises else ("1 step",)
    return found if why else found.perhaps(may_be_why(pair.one, pair.reference, quantities))


def _pairs(one: Measured, cells: Sequence[Measured]) -> Iterator[_Pair]:
    """The cell beside the middle one of each epoch, as long as training is stable there."""
    for own in one.epochs:
        there = [
            (other, epoch)
            for other in cells
            for epoch in other.epochs
            if epoch.epoch == own.epoch and (math.isfinite(_loss(epoch)) or other is one)
        ]
        finite = [(other, epoch) for other, epoch in there if math.isfinite(_loss(epoch))]
        if own.loss is None or not finite or len(there) < 2:
            return
        losses = [_loss(epoch) for _, epoch in finite]
        reference, beside = finite[0] if len(there) == 2 else finite[losses.index(median_low(losses))]
        pair = _Pair(one, reference, own, beside)
        if reference is not one and (pair.stable or math.isfinite(_loss(own))):
            yield pair
        if not pair.stable:
            return


def _loss(epoch: Epoch) -> float:
    return math.nan if epoch.loss is None else epoch.loss


def _declared(pair: _Pair, known: bool) -> str:
    """The reason in a backend's file for another loss where both are as large as at first, and one is larger.

    Once they are another for it (`known`), they stay so.
    """
    small, large = sorted(pair.losses())
    if not known and (not pair.first or large < RISES * pair.first or small < HIGH * pair.first):
        return ""
    part = first_steps.Check("rising loss", "", pair.share, 0.0, 1.0, Finding(kind="epoch", aspect="loss"))
    one, other = pair.one, pair.reference
    return first_steps.declared_reason(part, one, other) or first_steps.declared_reason(part, other, one)


def _allowed(pair: _Pair) -> float:
    """Of the loss."""
    random, steps = pair.random, [one.facts.first_step for one in (pair.one, pair.reference)]
    if random == [None, None] or None in steps:
        return UNKNOWN
    failed = any(step is not None and step.unchecked for step in steps)
    if None in random and not failed:  # one draws what cannot be fixed
        return UNKNOWN if any(random) else BY_CHANCE
    if any(random):
        return OF_FEW if pair.one.cell.samples < ENOUGH * pair.one.cell.batch_size else BY_CHANCE
    return ALLOWED * math.sqrt(pair.number)


def _known(pair: _Pair) -> float:
    """Of the loss, where steps differ for declared reasons, the first one or, with ties, later ones; else 0."""
    of_one = first_steps.declared_reasons(pair.one) ^ first_steps.declared_reasons(pair.reference)
    reasons = {*first_steps.compare(pair.one, pair.reference)[1], *of_one}
    explained = (*pair.one.facts.explained, *pair.reference.facts.explained)
    bounds = [known.bound_of_loss for known in explained if known.reason in reasons]
    return max(KNOWN * math.sqrt(pair.number), *bounds) if reasons else 0.0


def _unlike_accuracy(pair: _Pair) -> tuple[str, float | None, float | None] | None:
    """Another accuracy in training although nothing is random and the loss is the same; None where it is alike."""
    if not pair.is_same:
        return None
    scores = [("accuracy", pair.own.accuracy, pair.other.accuracy)]
    if _relative(pair.own.val_loss, pair.other.val_loss) <= SAME_LOSS:
        scores.append(("validation accuracy", pair.own.val_accuracy, pair.other.val_accuracy))
    return next((score for score in scores if _apart(*score[1:]) > SCORE), None)


def _is_unlike_in_validation(pair: _Pair) -> bool:
    """Whether it has another validation loss although that in training is about the same."""
    own, other = pair.own.val_loss, pair.other.val_loss
    if own is None or other is None or pair.share > ALIKE:
        return False
    if pair.is_same and _relative(own, other, FLOOR * pair.first) > SAME_VALIDATION:
        return True
    small, large = sorted(map(_number, (own, other)))
    by_chance = ERRORS * 0.5 / math.sqrt(pair.one.cell.validation_samples or 1)
    # Where nothing is learnt yet, accuracies may be far apart at the same loss.
    otherwise = _apart(pair.own.val_accuracy, pair.other.val_accuracy) > max(OF_ACCURACY, by_chance)
    times = LARGER if otherwise else VALIDATION
    return large > times * max(small, FLOOR * pair.first)


def _of_averages(pair: _Pair) -> str:
    """The declared reason for other moving averages, which only validation uses; empty if there is none.

    What they were at first counts no longer after so many steps that little of it is left.
    """
    small, large = sorted(_number(loss) for loss in (pair.own.val_loss, pair.other.val_loss))
    if _left_of_start(pair) < LEFT and large > LARGER * small:
        return ""
    reasons = first_steps.compare(pair.one, pair.reference)[1]
    explained = (*pair.one.facts.explained, *pair.reference.facts.explained)
    return next((known.reason for known in explained if known.untrained and known.reason in reasons), "")


def _left_of_start(pair: _Pair) -> float:
    """The share that moving averages have left of what they were before training; 1 where that is not known."""
    step, cell = pair.one.facts.first_step, pair.one.cell
    momenta = [one.average[0] for one in step.changes if one.average is not None] if step else []
    steps = pair.number * (cell.samples // cell.batch_size) if cell.samples and cell.batch_size else 0
    return float(max(momenta, default=1.0) ** steps)


def _number(loss: float | None) -> float:
    return math.inf if loss is None or math.isnan(loss) else loss


def _relative(own: float | None, other: float | None, least: float = 0.0) -> float:
    """How far they are apart, of the larger one or `least`; infinite where one is no number."""
    if own is None or other is None:
        return math.inf
    apart = abs(own - other) / (max(abs(own), abs(other), least) or 1.0)
    return math.inf if math.isnan(apart) else apart


def _apart(own: float | None, other: float | None) -> float:
    return 0.0 if own is None or other is None else abs(own - other)
