"""What the guest tells of public names: which there are, and what came of each case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kbench.records.epochs import Seconds
from kbench.records.reported import Facts, FeatureEvent, Shape


class Public(FeatureEvent, frozen=True, tag="public"):
    """A public name of the Keras that is installed."""

    name: str  # "layers.Dense"
    parameters: tuple[tuple[str, int, Any], ...]  # name, whether it has to be given, default
    called: tuple[str, ...] | None = None  # of a layer: what its call has to be given
    optional: tuple[str, ...] | None = None  # and what it may be given


class Begun(FeatureEvent, frozen=True, tag="begun"):
    """A case of a public name has begun."""

    case: int
    check: str | None = None  # of it; None: its outputs


class Output(msgspec.Struct, frozen=True):
    """An output of a case."""

    shape: Shape
    kind: str  # of its numbers, as numpy names it
    numbers: str  # the first of them: float32, in base64


class Check(msgspec.Struct, frozen=True):
    """What came of a check of a case: one of the first three."""

    off: float | None = None  # by how much
    how: str | None = None  # it differs, in words
    error: str | None = None
    saved_on: str | None = None  # the backend that saved the file


class Case(FeatureEvent, frozen=True, tag="case"):
    """What came of a case: see the guest of the feature."""

    case: int
    seconds: Seconds
    refused: dict[str, str]  # the inputs that it did not take, and why
    inputs: str | None = None  # those that it took
    outputs: tuple[Output, ...] = ()
    gradients: tuple[Output, ...] | None = None  # of inputs and weights, of a layer; empty if they are random
    untrained: str | None = None  # why there are none
    slopes: tuple[float | None, ...] | None = (
        None  # of the loss along a direction of each; of the reference, by differences
    )
    checks: dict[str, Check] | None = None  # by their names: of public names, and of file formats
    moved: float | None = None  # how far its outputs move with inputs moved by one unit in the last place
    validated: tuple[str, ...] = ()  # of what it did not take, what Keras itself refused


def public(facts: Facts) -> Mapping[str, Public]:
    """The public names, by name."""
    return facts.of.get("public", {})


def cases(facts: Facts) -> Mapping[int, Case]:
    """What came of the cases, by number."""
    return facts.of.get("case", {})


def begun(facts: Facts) -> tuple[int | None, str]:
    """The last case that was begun, and its check."""
    last: Begun | None = facts.of.get("begun", {}).get("")
    return (None, "") if last is None else (last.case, last.check or "")
