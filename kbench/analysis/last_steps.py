"""Whether a training's step after its last epoch, taken from the first state again, is still that before the first.

What trains in another way from some epoch on does not show in a first step. Only a row's own two steps are compared,
so that no other backend's rounding is in it, and a much smaller change shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from kbench.analysis import first_steps
from kbench.reported import Change, Step, StepAgain
from kbench.text import significant
from kbench.values import Measured

SAME = 1e-5  # of a loss, and of a weight's change: measured are at most 2e-6
SIZE = 1e-3  # from which two changes have another size
OTHER = "its training step after the last epoch is not the one before the first: "


def differences(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """The rows whose step has changed, and how.

    Where it has on every backend, the example itself changes what it trains: then those whose last step is not that
    of the first row.
    """
    checked = [(one, how) for one in group if (how := changed(one)) is not None]
    if not all(how for _, how in checked):
        return [(one, OTHER + how) for one, how in checked if how]
    last = [(one, _at_the_end(one)) for one, _ in checked]
    return [
        (one, f"unlike {last[0][0].cell.backend} after the last epoch in {how}")
        for one, as_first in last[1:]
        if (how := first_steps.compare(as_first, last[0][1])[0])
    ]


_OF_A_STEP = ("loss", "noisy_loss", "draws")


def _at_the_end(one: Measured) -> Measured:
    """The cell as if its last step were its first."""
    first, again = one.facts.first_step, one.facts.step_again
    assert first is not None and again is not None
    changes = tuple(
        msgspec.structs.replace(mine, rounding=before.rounding)
        for mine, before in zip(again.changes, first.changes, strict=False)
    )
    step = msgspec.structs.replace(first, changes=changes, **{n: getattr(again, n) for n in _OF_A_STEP})
    return replace(one, facts=msgspec.structs.replace(one.facts, first_step=step))


def changed(one: Measured) -> str | None:
    """What of its step has changed; empty if nothing has, None if that is not known."""
    first, again = one.facts.first_step, one.facts.step_again
    if first is None or again is None or first_steps.draws(one) is None:
        return None
    if first.draws != again.draws:
        drawn = [" and ".join(draws or ()) or "nothing" for draws in (again.draws, first.draws)]
        return f"its layers draw {drawn[0]} at random instead of {drawn[1]}"
    for before, now, how in (
        (first.loss, again.loss, ""),
        (first.noisy_loss, again.noisy_loss, first_steps.NOISE),
    ):
        if (
            _apart(before, now)
            > SAME * abs(before or 0.0) + first_steps.ROUNDING * (first.loss_rounding or 0.0) + 1e-7
        ):
            return f"the loss{how} {_shown(now, before)}"
    return max(_weights(first, again), default=(0.0, ""))[1]


def _weights(first: Step, again: StepAgain) -> Iterator[tuple[float, str]]:
    """(how many times more than is allowed, in words) of each weight that changes otherwise."""
    for before, now in zip(first.changes, again.changes, strict=False):
        for how, sizes, sums in (
            ("", (before.change, now.change), (before.sums, now.sums)),
            (first_steps.NOISE, (before.noisy, now.noisy), (before.noisy_sums, now.noisy_sums)),
        ):
            scale = max(size or 0.0 for size in sizes)
            distance = max(_apart(*sizes), math.hypot(*map(_apart, *sums)))
            allowed = SAME * scale + first_steps.WEIGHT * (before.norm or 0.0) + _rounding(before) + 1e-30
            if distance <= allowed:
                continue
            text = f"{now.kind} {now.number}'s {now.weight} changes{how} by "
            if _apart(*sizes) > SIZE * scale:
                yield distance / allowed, text + _shown(sizes[1], sizes[0])
            else:
                text += f"{_number(sizes[1], 4)}, but in another direction ({distance / (scale or 1.0):.2g} of it)"
                yield distance / allowed, text


def _rounding(one: Change) -> float:
    return math.inf if one.rounding is None else first_steps.ROUNDING * one.rounding


def _apart(one: float | None, other: float | None) -> float:
    """How far they are apart; None, which is no number, equals itself."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other)


def _shown(now: float | None, before: float | None) -> str:
    """Both, with as many digits as show that they differ."""
    for digits in range(4, 9):
        shown, expected = _number(now, digits), _number(before, digits)
        if shown != expected:
            break
    return f"{shown} instead of {expected}"


def _number(value: float | None, digits: int) -> str:
    return "no number" if value is None else "0" if value == 0 else significant(value, digits)
