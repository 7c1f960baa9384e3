"""Compares the first optimizer steps that cells took on trial: the loss, and how each weight changed.

Two of a million numbers of which a maximum is taken may be so near that rounding decides, or one so near zero whether
a relu lets it pass, on each processor otherwise. That moves no loss, which is continuous, but what a step changes. So
each cell takes the step at two points, and what differs at one alone is such a tie, or rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import msgspec

from kbench.analysis.sameness import averages
from kbench.analysis.sameness.averages import Average
from kbench.analysis.sameness.declared import explains, without_repeats
from kbench.records.findings import Finding
from kbench.records.reported import Change, Step
from kbench.records.values import Measured

# Measured where nothing is wrong: 1e-7 of the loss and 1e-5 of a weight's change, on all backends.
LOSS = 1e-4  # relative
CHANGE = 1e-3  # of the change of a weight
# In a deep network some of millions of units are so near zero that rounding alone decides whether a relu lets them
# pass. One that does changes a beta of resnet56 by 1.1e-2, all weights before it by up to 8e-3, and none behind it,
# no moving average, and not how much the weights of one kind change in the middle: that stays within 1e-4.
DEEP, CHANGE_IF_DEEP = 100, 3e-2  # so many weights, and what is allowed then in front of the last layer
MOST_IF_DEEP = 0.5  # where rounding takes most weights as far: Adam turns the sign of a gradient near zero
MOST_WEIGHTS = 0.9
KIND, MEDIANS = 10, 4.0  # weights of which a median is taken; of its error, what is allowed
WEIGHT = 2e-7  # of the weight itself, which holds no smaller change: float32
ROUNDING = 4.0  # times what the step differs by if its weights move by one unit in the last place
RANDOM = 1e-2  # of the loss: no rounding takes it so far
# A bias in front of a BatchNormalization has the gradient 0, of which a step computes the rounding alone: up to 1e-5
# of the largest change, in three convolutions. It is no more than rounding where that is a part of it on both.
FLOOR, MOSTLY_ROUNDING = 1e-4, 1e-2  # of the largest change of a trained weight; of its own change


@dataclass(frozen=True)
class Check:
    """Two numbers or changes that must agree."""

    what: str  # as in a backend's file
    layer: str  # the class of its layer
    distance: float
    allowed: float
    scale: float  # to which a declared bound is relative
    found: Finding  # if they do not
    trained: bool = True  # no moving average
    moving: tuple[Average | None, Average | None] = (None, None)  # its own and the other's

    @property
    def subject(self) -> tuple[object, ...]:
        """Of which weight or loss it is, at whatever point."""
        return self.what, self.layer, *(self.found.about.get(name) for name in ("number", "weight", "noise"))

    @property
    def is_beyond_ties(self) -> bool:
        """Whether no tie or rounding takes it so far, so that it says enough at one point alone."""
        return self.what == "loss" and not self.distance <= RANDOM * self.scale


Differing = Mapping[tuple[object, ...], Check]  # by the subject


def unchecked(one: Measured) -> tuple[Finding, ...]:
    """Of a step that says nothing."""
    step = one.facts.first_step
    why = "" if step is None else _why_unchecked(step)
    return (Finding(kind="first step unchecked", own=why),) if why else ()


def uses_random_layers(one: Measured) -> bool | None:
    """Whether layers draw random numbers in training; None where that is not known."""
    step = one.facts.first_step
    return None if step is None or step.draws is None or _why_unchecked(step) else bool(step.draws)


def _why_unchecked(step: Step) -> str:
    if step.unchecked:
        return step.unchecked
    if step.loss is not None and (step.loss_rounding or 0.0) > RANDOM * abs(step.loss):
        return "its layers draw random numbers that kbench cannot fix"
    return ""


def compare(one: Measured, other: Measured) -> tuple[Finding | None, tuple[str, ...]]:
    """(how the first step of `one` differs from the other's, or else the reasons of what is declared)."""
    compared = [_differing(*pair) for pair in _points(one, other)]
    told = [found for found in compared if found is not None]
    if compared[0] is None:
        return None, ()
    check = most_telling(lasting([found for found, _ in told]))
    if check is not None:
        return check.found, ()
    return None, tuple(dict.fromkeys(reason for _, reasons in told for reason in reasons))


def _points(one: Measured, other: Measured) -> Iterator[tuple[Measured, Measured]]:
    """The two cells at each point at which both took the step."""
    yield one, other
    if one.facts.step_elsewhere is not None and other.facts.step_elsewhere is not None:
        yield _elsewhere(one), _elsewhere(other)


def _elsewhere(one: Measured) -> Measured:
    """The cell as if its step at the second point were that at the first."""
    return replace(one, facts=msgspec.structs.replace(one.facts, first_step=one.facts.step_elsewhere))


def lasting(points: Sequence[Differing]) -> list[Check]:
    """What differs at every point, as it does at the first, and what differs so much that one is enough."""
    first = [check for subject, check in points[0].items() if all(subject in others for others in points[1:])]
    alone = [check for checks in points for check in checks.values() if check.is_beyond_ties]
    return [*first, *(check for check in alone if check not in first)]


def most_telling(checks: Sequence[Check]) -> Check | None:
    """A loss, whose cause is nearer than that of any weight, or else what differs most."""
    worst: Check | None = None
    for check in checks:
        if check.what == "loss":
            return check
        if worst is None or check.distance * worst.allowed > worst.distance * check.allowed:
            worst = check
    return worst


def _differing(one: Measured, other: Measured) -> tuple[Differing, Iterable[str]] | None:
    """(what differs at a point without a declared reason, the reasons of the rest); None where they say nothing."""
    own, right = one.facts.first_step, other.facts.first_step
    if own is None or right is None or _why_unchecked(own) or _why_unchecked(right):
        return None
    found: dict[tuple[object, ...], Check] = {}
    reasons: dict[str, None] = {}
    for part in _parts(own, right):
        if part.distance <= (0.0 if math.isnan(part.allowed) else part.allowed):  # of what is no number on both
            continue
        reason = declared_reason(part, one, other) or declared_reason(
            replace(part, moving=part.moving[::-1]), other, one
        )
        if reason:
            reasons[reason] = None
        else:
            found[part.subject] = part
    return found, reasons


def _parts(own: Step, right: Step) -> Iterator[Check]:
    """The loss first; the rest where both have as many weights: frameworks may split them otherwise."""
    yield _loss(own.loss, right.loss, own, right)
    if len(own.changes) != len(right.changes):
        return
    pairs = list(zip(own.changes, right.changes, strict=True))
    share = CHANGE
    if len(pairs) >= DEEP:
        yield from _kinds(pairs)
        share = _share_if_deep(pairs)
    floor = FLOOR * max((one.change or 0.0 for pair in pairs for one in pair if _trained(one)), default=0.0)
    for mine, theirs in pairs:
        changes = (mine.change, mine.sums), (theirs.change, theirs.sums)
        yield _change(mine, theirs, *changes, share if _trained(mine) else CHANGE, floor)
    if own.draws is not None and right.draws is not None and bool(own.draws) != bool(right.draws):
        how = Finding(kind="first step", aspect="draws", own=own.draws, other=right.draws)
        yield Check("", "", math.inf, 0.0, 1.0, how)
    elif own.draws and right.draws:
        yield _loss(own.noisy_loss, right.noisy_loss, own, right, noise=True)
        for mine, theirs in pairs:
            changes = (mine.noisy, mine.noisy_sums), (theirs.noisy, theirs.noisy_sums)
            yield _change(mine, theirs, *changes, share if _trained(mine) else CHANGE, floor, noise=True)


def _trained(one: Change) -> bool:
    return not one.weight.startswith("moving")


def _share_if_deep(pairs: Sequence[tuple[Change, Change]]) -> float:
    """Of the changes of a deep network's weights, what is allowed: more where those of its last layer agree."""
    last = pairs[-1][0].kind, pairs[-1][0].number
    for mine, theirs in pairs:
        if (mine.kind, mine.number) == last:
            part = _change(mine, theirs, (mine.change, mine.sums), (theirs.change, theirs.sums), CHANGE)
            if part.distance > part.allowed:
                return CHANGE
    usual = 0.0
    for side in (0, 1):
        effects = sorted(_effect(pair[side]) for pair in pairs if _trained(pair[side]) and pair[side].change)
        usual += ROUNDING * effects[int(MOST_WEIGHTS * (len(effects) - 1))] if effects else 0.0
    return max(CHANGE_IF_DEEP, min(MOST_IF_DEEP, usual))


def _effect(one: Change) -> float:
    """What rounding did to a change, as a share of it."""
    return one.rounding / one.change if one.rounding is not None and one.change else math.inf


def _kinds(pairs: Sequence[tuple[Change, Change]]) -> Iterator[Check]:
    """Of all kernels, all gammas and so on, how much more they change: their median, in which rounding is little."""
    kinds: dict[tuple[str, str], list[float]] = {}
    for mine, theirs in pairs:
        if _trained(mine) and mine.change and theirs.change and ROUNDING * max(_effect(mine), _effect(theirs)) < 1:
            kinds.setdefault((mine.kind, mine.weight), []).append(math.log(mine.change / theirs.change))
    for (kind, weight), ratios in kinds.items():
        if len(ratios) < KIND:
            continue
        middle = median(ratios)
        error = median(abs(one - middle) for one in ratios) * 1.86 / math.sqrt(len(ratios))  # of normal deviations
        about = {"layer": kind, "layers": len(ratios), "weight": weight}
        how = Finding(kind="first step", aspect="kind", own=math.exp(middle), other=1.0, about=about)
        yield Check("1 step", kind, abs(middle), CHANGE + MEDIANS * error, 1.0, how)


def _loss(own: float | None, right: float | None, mine: Step, theirs: Step, noise: bool = False) -> Check:
    numbers = [math.nan if value is None else value for value in (own, right)]
    scale = max(map(abs, numbers))
    moves = (mine.loss_rounding or 0.0) + (theirs.loss_rounding or 0.0)
    same = own is None and right is None
    distance = 0.0 if same else abs(numbers[0] - numbers[1])
    how = Finding(kind="first step", aspect="loss", own=own, other=right, about={"noise": noise})
    allowed = 0.0 if math.isnan(distance) else LOSS * scale + ROUNDING * moves + 1e-7
    return Check("loss", "", math.inf if math.isnan(distance) else distance, allowed, scale, how)


def _change(
    own: Change,
    right: Change,
    mine: tuple[float | None, Sequence[float | None]],
    theirs: tuple[float | None, Sequence[float | None]],
    share: float,
    floor: float = 0.0,
    noise: bool = False,
) -> Check:
    """`mine`, `theirs`: the norm and the sums of a change; `share` of it is allowed, and `floor` of rounding."""
    size, other = (math.nan if one[0] is None else one[0] for one in (mine, theirs))
    sums = [[math.nan if one is None else one for one in each[1]] for each in (mine, theirs)]
    scale = max(size, other)
    distance = max(math.dist(*sums), abs(size - other)) if len(sums[0]) == len(sums[1]) else math.inf
    if math.isnan(distance):
        distance = 0.0 if math.isnan(size) and math.isnan(other) else math.inf
    moves = sum(math.inf if one.rounding is None else one.rounding for one in (own, right))
    allowed = share * scale + WEIGHT * max(own.norm or 0.0, right.norm or 0.0) + ROUNDING * moves
    if _trained(own) and min(_effect(own), _effect(right)) > MOSTLY_ROUNDING:
        allowed += floor
    sizes_differ = distance == math.inf or abs(size - other) > share * scale
    turned = distance < math.inf and not distance <= 2 * abs(size - other)
    about = {"layer": own.kind, "number": own.number, "weight": own.weight, "noise": noise}
    about |= {"off": distance / scale if scale else 0.0} if turned else {}
    aspect = " and ".join([*(["size"] if sizes_differ else []), *(["direction"] if turned else [])])
    how = Finding(kind="first step", aspect=aspect, own=mine[0], other=theirs[0], about=about)
    allowed = 0.0 if distance == math.inf else allowed
    moving = _average(own, mine[1]), _average(right, theirs[1])
    return Check("1 step", own.kind, distance, allowed, scale, how, _trained(own), moving)


def _average(one: Change, sums: Sequence[float | None]) -> Average | None:
    """None of what is no moving average, or not known as one."""
    if one.average is None:
        return None
    momentum, start, epsilon = one.average
    numbers = [[value for value in each if value is not None] for each in (start, epsilon, sums)]
    return Average(one.weight, momentum, *numbers) if {*map(len, numbers)} == {len(sums)} else None


def declared_reasons(one: Measured) -> frozenset[str]:
    """The reasons in its backend's file why training may change this model's weights otherwise."""
    known = (each for each in one.facts.explained if not each.fault)
    return frozenset(each.reason for each in known if explains(each, one.facts, ("1 step",), ""))


def reason_of_larger_loss(one: Measured, other: Measured) -> str:
    """Why the file of the backend with the larger loss says that it may be so, though not by as much; else empty."""
    step, beside = one.facts.first_step, other.facts.first_step
    if step is None or beside is None or step.loss is None or beside.loss is None:
        return ""
    larger, smaller = (one, other) if step.loss > beside.loss else (other, one)
    backend = smaller.cell.backend
    fitting = (known for known in larger.facts.explained if explains(known, larger.facts, ("rising loss",), backend))
    return next((known.reason for known in fitting), "")


def declared_reason(part: Check, one: Measured, other: Measured) -> str:
    """The reason in the backend's file of `one` for this difference from the other; empty if there is none."""
    share = part.distance / part.scale if part.scale else math.inf
    of_batches = _averages_apart(part, one, other)
    for known in one.facts.explained:
        bounds = {"loss": known.bound, "rising loss": max(known.bound, known.bound_of_loss)}
        bound = bounds.get(part.what, known.bound_of_change)
        if (
            explains(known, one.facts, (part.what,), other.cell.backend, part.layer, part.trained)
            and not (known.repeated and without_repeats(one))
            and (of_batches <= averages.EXACT if known.formula else min(share, of_batches) <= bound)
        ):
            return known.reason
    return ""


def _averages_apart(part: Check, one: Measured, other: Measured) -> float:
    """As averages.apart; infinite of what is no moving average, or if no formula is declared of one."""
    own, right = part.moving
    formulas, others = (
        {known.formula for known in each.facts.explained if known.formula and known.layer in ("", part.layer)}
        for each in (one, other)
    )
    return averages.apart(own, right, formulas, others) if own and right and formulas | others else math.inf
