"""Compares the losses of a program's fits that begin alike: as examples' epochs are, of which more is known.

Alike: with the same weights, on the same arrays in their order. What a program draws is its own, and so is what its
own layers and models compute, so that more is allowed than for examples. Of later epochs, in which small differences
may have grown, only two that follow each other tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_low

from kbench.analysis.sameness import fingerprints
from kbench.analysis.sameness.declared import explains, may_be_why
from kbench.analysis.sameness.epoch_losses import BY_CHANCE, ENOUGH, ERRORS, FLOOR, KNOWN, OF_FEW, UNSTABLE
from kbench.features.script import events
from kbench.features.script.lines.finding_kinds import OTHER_METRIC
from kbench.features.script.lines.units import EPOCH
from kbench.records.findings import Finding
from kbench.records.reported import Facts
from kbench.records.values import Measured

OF_LOSS = 0.2  # of what is allowed: a figure that differs by less, in the loss, may be the rounding of what cancels
NO_METRICS = ("loss", "lr", "learning_rate")
_QUANTITIES = ("outputs", "loss", "1 step", "10 steps", "rising loss")


def differences(measured: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How lines differ from the middle one, or from the first of two."""
    return [pair for group in fingerprints.groups(measured) for pair in _of_group(fingerprints.computed_alike(group))]


def _of_group(cells: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    groups: dict[tuple[object, ...], list[Measured]] = {}
    unknown: dict[tuple[object, ...], list[Measured]] = {}  # whose first weights are made in the first step
    for one in cells:
        facts = one.facts
        if facts.unit and facts.in_order and math.isfinite(_loss(one)):
            work = facts.samples, fingerprints.fingerprint(fingerprints.reported(one))
            if facts.start_sha256:
                groups.setdefault((facts.start_sha256, *work), []).append(one)
            else:
                unknown.setdefault(work, []).append(one)
    found: list[tuple[Measured, Finding]] = []
    for (_, *begun), group in groups.items():
        reference = _reference(group, unknown.get(tuple(begun), ()))
        unlike = {id(one): how for one in group if (how := _difference(one, reference)) is not None}
        alike = [one for one in group if id(one) not in unlike]
        pairs = ((one, unlike.get(id(one)) or _metric(one, alike)) for one in group)
        found += [(one, how) for one, how in pairs if how is not None]
    return found


def _reference(group: Sequence[Measured], others: Sequence[Measured]) -> Measured:
    """The one that most of `group`, and of the others, train like; of several the first of two, or the middle one."""
    counts = [sum(_unlike(one, other) is None for other in (*group, *others)) for one in group]
    usual = [one for one, count in zip(group, counts, strict=True) if count == max(counts)]
    losses = list(map(_loss, usual))
    return usual[0] if len(group) == 2 else usual[losses.index(median_low(losses))]


def _losses(one: Measured) -> list[float]:
    """Of the first model: a fit that is called again may have another one, whose weights are its own."""
    known = [math.nan if loss is None else loss for loss, *_ in one.facts.losses or ()]
    return known[:1] if (one.facts.calls or 1) > 1 else known


def _loss(one: Measured) -> float:
    return next(iter(_losses(one)), math.nan)


def _difference(one: Measured, reference: Measured) -> Finding | None:
    if (unlike := _unlike(one, reference)) is None:
        return None
    number, own, other = unlike
    option = events.of_line(one.facts).says_why
    about = {"epoch": number, **({"says why": option} if option else {})}
    how = Finding(kind="epoch", aspect="loss", reference=reference.cell.backend, own=own, other=other, about=about)
    return how.perhaps(may_be_why(one, reference, _QUANTITIES))


def _unlike(one: Measured, other: Measured) -> tuple[int, float, float] | None:
    """(number, losses of both) of the first epoch from which on they are; None if they are not."""
    first, allowed, doubt = max(abs(_loss(one)), abs(_loss(other))), _allowed(one, other), None
    for number, (own, its) in enumerate(zip(_losses(one), _losses(other), strict=False), 1):
        if not max(abs(own), abs(its)) < UNSTABLE * first:  # nor if one is no number
            return None
        least = 0.0 if number == 1 else FLOOR * first
        if abs(own - its) <= allowed * math.sqrt(number) * max(abs(own), abs(its), least):
            doubt = None
        elif number == 1 or doubt:
            return doubt or (number, own, its)
        else:
            doubt = number, own, its
    return None


def _metric(one: Measured, group: Sequence[Measured]) -> Finding | None:
    """The first figure beside the loss, such as an extra loss or a metric, that is another one at the same loss.

    group: those whose losses are the same.
    """
    generation = (one.facts.keras_version or "").partition(".")[0]  # which decides what a metric is
    known = [other for other in group if (other.facts.keras_version or "").partition(".")[0] == generation]
    for name, own in _metrics(one).items():
        values = [_metrics(other)[name] for other in known if name in _metrics(other)]
        usual = values[0] if len(values) == 2 else median_low(values)
        reference = next(other for other in known if _metrics(other).get(name) == usual)
        allowed, apart = _allowed(one, reference), abs(own - usual)
        of_few = ERRORS * 0.5 / math.sqrt(one.facts.samples or 1) if max(own, usual) <= 1 else 0.0
        if apart > max(allowed * max(abs(own), abs(usual)), OF_LOSS * allowed * abs(_loss(one)), of_few):
            about = {"epoch": 1}
            return Finding(
                kind=OTHER_METRIC, aspect=name, reference=reference.cell.backend, own=own, other=usual, about=about
            )
    return None


def _metrics(one: Measured) -> dict[str, float]:
    """Those of the first epoch in training."""
    first = one.epochs[0] if one.epochs and one.facts.unit == EPOCH else None
    told = (first.metrics or {}) if first else {}
    return {
        name: value
        for name, value in told.items()
        if name not in NO_METRICS and not name.startswith("val_") and value is not None and math.isfinite(value)
    }


def _allowed(one: Measured, other: Measured) -> float:
    """Of the larger loss."""
    facts = (one.facts, other.facts)
    steps = (one.facts.samples or 0) // (one.facts.batch_size or 1)
    if any(map(draws, facts)) and steps < ENOUGH:
        return OF_FEW
    known = [
        each.bound_of_loss
        for mine, its in ((one, other), (other, one))
        for each in mine.facts.explained
        if not each.fault and explains(each, mine.facts, _QUANTITIES, its.cell.backend, as_shipped=True)
    ]
    chance = any(map(draws, facts)) or any(each.own_code for each in facts) or known
    return max([BY_CHANCE if chance else KNOWN, *known])


def draws(facts: Facts) -> bool:
    """Whether its layers draw random numbers in training."""
    kinds = ("Dropout", "Noise", "Random")
    named = any(kind in layer.class_name for layer in facts.layers or () for kind in kinds)
    return named or any(_has_dropout(layer.settings) for layer in facts.layers or ())


def _has_dropout(settings: object) -> bool:
    if isinstance(settings, dict):
        return any(("dropout" in name and bool(value)) or _has_dropout(value) for name, value in settings.items())
    return isinstance(settings, list) and any(map(_has_dropout, settings))
