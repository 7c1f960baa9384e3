"""What is looked into a step: the times of its parts, and of the operations in its trace."""

from __future__ import annotations

from typing import Literal

import msgspec

from kbench.epochs import Seconds


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
