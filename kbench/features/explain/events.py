"""What the guest tells of a training step: what its parts take, and what a trace shows."""

from __future__ import annotations

from typing import Literal

import msgspec

from kbench.records.epochs import Count, Seconds
from kbench.records.reported import Facts, FeatureEvent


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


class Inside(FeatureEvent, frozen=True, tag="inside"):
    """What the parts of a training step take, each timed alone."""

    site: str = ""  # the line of a program that trains
    parts: tuple[PartOfStep, ...] = ()
    missing: tuple[str, ...] = ()  # sentences without a full stop
    turns: tuple[tuple[int, int], ...] = ()  # (round, again) of the turn in which each round of parts was timed


class Traced(FeatureEvent, frozen=True, tag="traced"):
    """What some steps spent their time on, by the framework's own profiler and Python's."""

    steps: Count
    file: str = ""  # in the cell's folder
    operations: tuple[Busy, ...] = ()
    functions: tuple[Busy, ...] = ()
    missing: tuple[str, ...] = ()


def inside(facts: Facts) -> Inside | None:
    """What the parts of a step take."""
    found: Inside | None = facts.of.get("inside", {}).get("")
    return found


def traced(facts: Facts) -> Traced | None:
    """What a trace shows."""
    found: Traced | None = facts.of.get("traced", {}).get("")
    return found
