"""Makes words of findings on training steps that were taken on trial: a part of kbench/words/sentences.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kbench.records.findings import Finding
from kbench.words.text import significant

_NOISE = " (dropout and noise at fixed values)"


def first_step(found: Finding) -> str:
    if found.explanation:
        return f"known difference from {found.reference} in its first step: {found.explanation}"
    text = f"unlike {found.reference} in {_of_step(found)}"
    if "outputs agree" in found.about:
        text += "; outputs agree, so the cause is the loss or a layer's training mode"
    return text


def _of_step(found: Finding) -> str:
    """What of a step on trial differs."""
    about = found.about
    noise = _NOISE if about.get("noise") else ""
    if found.aspect == "draws":
        return f"what its layers draw at random: {_drawn(found.own)} instead of {_drawn(found.other)}"
    both = f"{_number(found.own)} instead of {_number(found.other)}"
    if found.aspect == "loss":
        return f"the loss of the first batch{noise}: {both}"
    if found.aspect == "kind":
        return (
            f"the first optimizer step: of {about['layers']} {about['layer']} layers, {about['weight']} changes "
            f"{found.own:.4g} times as much (median)"
        )
    text = f"the first optimizer step{noise}: {about['layer']} {about['number']}'s {about['weight']} changes by "
    sizes_differ = found.aspect.startswith("size")
    text += both if sizes_differ else _number(found.own)
    if "off" not in about:
        return text
    return f"{text}, {'and' if sizes_differ else 'but'} in another direction ({about['off']:.1%} off)"


def _drawn(draws: Iterable[str]) -> str:
    return " and ".join(draws) or "nothing"


def _number(value: Any, digits: int = 4) -> str:
    """None and NaN are no number."""
    if value is None:
        return "no number"
    return "0" if value == 0 else significant(value, digits)


def last_step(found: Finding) -> str:
    if found.reference:
        return f"unlike {found.reference} after the last epoch in {_of_step(found)}"
    return f"its training step after the last epoch is not the one before the first: {_of_last_step(found)}"


def _of_last_step(found: Finding) -> str:
    about, own, other = found.about, found.own, found.other
    noise = _NOISE if about.get("noise") else ""
    if found.aspect == "draws":
        return f"its layers draw {_drawn(own)} at random instead of {_drawn(other)}"
    if found.aspect == "loss":
        return f"the loss{noise} {_apart(own, other)}"
    text = f"{about['layer']} {about['number']}'s {about['weight']} changes{noise} by "
    if found.aspect == "size":
        return f"{text}{_apart(own, other)}"
    return f"{text}{_number(own)}, but in another direction ({about['off']:.2g} of it)"


def _apart(own: Any, other: Any) -> str:
    """Both, with as many digits as show that they differ."""
    for digits in range(4, 9):
        shown, expected = _number(own, digits), _number(other, digits)
        if shown != expected:
            break
    return f"{shown} instead of {expected}"
