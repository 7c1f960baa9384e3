"""Compares the first epoch of a program's fits that begin alike: as examples' epochs are, of which more is known.

Alike: with the same weights, on the same arrays in their order. What a program draws is its own, and so is what its
own layers and models compute, so that more is allowed than for examples. Later epochs are its callbacks' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_low

from kbench.analysis.sameness import fingerprints
from kbench.analysis.sameness.declared import explains, may_be_why
from kbench.analysis.sameness.epoch_losses import BY_CHANCE, ENOUGH, KNOWN, OF_FEW
from kbench.records.findings import Finding
from kbench.records.reported import Facts
from kbench.records.values import Measured

_QUANTITIES = ("outputs", "loss", "1 step", "10 steps", "rising loss")


def differences(measured: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How lines differ from the middle one, or from the first of two."""
    return [pair for group in fingerprints.groups(measured) for pair in _of_group(fingerprints.computed_alike(group))]


def _of_group(cells: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for one in cells:
        facts = one.facts
        if facts.unit and facts.start_sha256 and facts.in_order and math.isfinite(_loss(one)):
            work = fingerprints.fingerprint(fingerprints.reported(one))
            groups.setdefault((facts.start_sha256, facts.samples, work), []).append(one)
    return [(one, how) for group in groups.values() for one in group if (how := _difference(one, group)) is not None]


def _loss(one: Measured) -> float:
    loss = one.facts.losses[0][0] if one.facts.losses else None
    return math.nan if loss is None else loss


def _difference(one: Measured, group: Sequence[Measured]) -> Finding | None:
    losses = list(map(_loss, group))
    reference = group[0] if len(group) == 2 else group[losses.index(median_low(losses))]
    own, other = _loss(one), _loss(reference)
    if abs(own - other) <= _allowed(one, reference) * max(abs(own), abs(other)):
        return None
    how = Finding(
        kind="epoch", aspect="loss", reference=reference.cell.backend, own=own, other=other, about={"epoch": 1}
    )
    return how.perhaps(may_be_why(one, reference, _QUANTITIES))


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
        if explains(each, mine.facts, _QUANTITIES, its.cell.backend, as_shipped=True)
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
