"""What is looked into a step: the times of its parts and of the operations in its trace, and what is slow."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from kbench.records.epochs import Seconds

_LAYER = re.compile(r"(\S+) \((\w+)\) (.*)", re.DOTALL)


class PartOfStep(msgspec.Struct, frozen=True):
    """A part of a training step that was timed alone, in rounds."""

    kind: Literal["layer", "whole", "optimizer", "nothing", "fit"]
    name: str
    class_name: str = msgspec.field(name="class")
    seconds: tuple[Seconds, ...]


class Busy(msgspec.Struct, frozen=True):
    """An operation of a framework, or a function of Keras, in a trace."""

    name: str
    seconds: float
    calls: int


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
