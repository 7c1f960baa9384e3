"""Whether a training's step after its last epoch, taken from the first state again, is still that before the first.

What trains in another way from some epoch on does not show in a first step. Only a row's own two steps are compared,
so that no other backend's rounding is in it, and a much smaller change shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from kbench.analysis.sameness import first_steps
from kbench.analysis.sameness.first_steps import Check
from kbench.analysis.sameness.usual import majority
from kbench.records.findings import Finding
from kbench.records.reported import Change, Step, StepAgain
from kbench.records.values import Measured

SAME = 1e-5  # of a loss, and of a weight's change: measured are at most 2e-6
SIZE = 1e-3  # from which two changes have another size


def differences(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """The rows whose step has changed, and how.

    Where it has on every backend, the example itself changes what it trains: then those whose last step is not that
    of most.
    """
    checked = [one for one in group if _is_checked(one)]
    found = [(one, how) for one in checked if (how := changed(one)) is not None]
    if len(found) < len(checked) or not checked:
        return found
    last = [_at_the_end(one) for one in checked]
    usual = majority(last, lambda one, other: first_steps.compare(one, other)[0] is None)
    compared = [(one, first_steps.compare(own, usual)[0]) for one, own in zip(checked, last, strict=True)]
    return [
        (one, replace(how, kind="last step", reference=usual.cell.backend))
        for one, how in compared
        if how is not None
    ]


_OF_A_STEP = ("loss", "noisy_loss", "draws")


def _at_the_end(one: Measured) -> Measured:
    """The cell as if its last steps were its first."""
    facts = one.facts
    steps = {
        "first_step": _as_first(facts.first_step, facts.step_again),
        "step_elsewhere": _as_first(facts.step_elsewhere, facts.step_elsewhere_again),
    }
    return replace(one, facts=msgspec.structs.replace(facts, **steps))


def _as_first(first: Step | None, again: StepAgain | None) -> Step | None:
    if first is None or again is None:
        return None
    changes = tuple(
        msgspec.structs.replace(mine, rounding=before.rounding)
        for mine, before in zip(again.changes, first.changes, strict=False)
    )
    return msgspec.structs.replace(first, changes=changes, **{n: getattr(again, n) for n in _OF_A_STEP})


def _is_checked(one: Measured) -> bool:
    return None not in (one.facts.first_step, one.facts.step_again, first_steps.uses_random_layers(one))


def changed(one: Measured) -> Finding | None:
    """What of its step has changed, at both points if it was taken at two; None if nothing, or that is not known."""
    if not _is_checked(one):
        return None
    facts = one.facts
    steps = [(facts.first_step, facts.step_again), (facts.step_elsewhere, facts.step_elsewhere_again)]
    points = [
        {check.subject: check for check in _checks(first, again) if not check.distance <= check.allowed}
        for first, again in steps
        if first is not None and again is not None
    ]
    checks = first_steps.lasting(points)
    drawn = next((check for check in checks if check.found.aspect == "draws"), None)
    check = drawn or first_steps.most_telling(checks)
    return None if check is None else check.found


def _checks(first: Step, again: StepAgain) -> Iterator[Check]:
    """All that must be the same of a step."""
    if first.draws != again.draws:
        how = Finding(kind="last step", aspect="draws", own=again.draws, other=first.draws)
        yield Check("", "", math.inf, 0.0, 1.0, how)
    for before, now, noise in ((first.loss, again.loss, False), (first.noisy_loss, again.noisy_loss, True)):
        allowed = SAME * abs(before or 0.0) + first_steps.ROUNDING * (first.loss_rounding or 0.0) + 1e-7
        how = Finding(kind="last step", aspect="loss", own=now, other=before, about={"noise": noise})
        yield Check("loss", "", _apart(before, now), allowed, abs(before or 0.0), how)
    for mine, theirs in zip(first.changes, again.changes, strict=False):
        for noise, sizes, sums in (
            (False, (mine.change, theirs.change), (mine.sums, theirs.sums)),
            (True, (mine.noisy, theirs.noisy), (mine.noisy_sums, theirs.noisy_sums)),
        ):
            scale = max(size or 0.0 for size in sizes)
            distance = max(_apart(*sizes), math.hypot(*map(_apart, *sums)))
            allowed = SAME * scale + first_steps.WEIGHT * (mine.norm or 0.0) + _rounding(mine) + 1e-30
            about = {"layer": theirs.kind, "number": theirs.number, "weight": theirs.weight, "noise": noise}
            turned = {} if _apart(*sizes) > SIZE * scale else {"off": distance / (scale or 1.0)}
            aspect = "direction" if turned else "size"
            how = Finding(kind="last step", aspect=aspect, own=sizes[1], other=sizes[0], about=about | turned)
            yield Check("1 step", theirs.kind, distance, allowed, scale, how)


def _rounding(one: Change) -> float:
    return math.inf if one.rounding is None else first_steps.ROUNDING * one.rounding


def _apart(one: float | None, other: float | None) -> float:
    """How far they are apart; None, which is no number, equals itself."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other)
