"""What a backend computes slowly, and why."""

from __future__ import annotations

import re

import msgspec

_LAYER = re.compile(r"(\S+) \((\w+)\) (.*)", re.DOTALL)


class Fallback(msgspec.Struct, frozen=True):
    """What computes slowly, and why: a layer, or what the text says."""

    text: str  # behind the layer's name, if it has one
    layer: str = ""
    kind: str = ""  # its class


def fallbacks(reported: object) -> tuple[Fallback, ...]:
    """Guests write `lstm (LSTM) starts each step`."""
    found = []
    for text in msgspec.convert(reported, tuple[str, ...]):
        layer = _LAYER.fullmatch(text)
        found.append(Fallback(layer[3], layer[1], layer[2]) if layer else Fallback(text))
    return tuple(found)
