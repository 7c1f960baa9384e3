"""What the guest tells of a stage of a comparison: the arrays that it wrote, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kbench.records.reported import Facts, FeatureEvent


class ParityWeight(msgspec.Struct, frozen=True):
    """A weight after a step; `values` names its array."""

    values: str
    size: int
    name: str = ""
    trained: bool = True


class ParityLayer(msgspec.Struct, frozen=True):
    """A layer with its output, or with its weights after a step; all arrays by their names."""

    name: str
    class_name: str = msgspec.field(name="class")
    output: str | None = None
    unread: str = ""  # why it has none
    public: str = ""  # its name and settings if it is Keras's own: "layers.Dense(units=4)"
    reference: str | None = None
    weights: tuple[ParityWeight, ...] = ()


class ParityCall(msgspec.Struct, frozen=True):
    """A call of a function of keras.ops by a user's own layer; each array by its name, with its shape."""

    name: str
    given: tuple[tuple[str, tuple[int, ...]], ...]
    returned: tuple[tuple[str, tuple[int, ...]], ...]


class Parity(FeatureEvent, frozen=True, tag="parity"):
    """A stage of a comparison of what backends compute."""

    stage: str = ""
    file: str | None = None
    loss: float | None = None
    layers: tuple[ParityLayer, ...] | None = None
    unknown: str | None = None  # why the numpy reference cannot compute the model; for who reads the events
    reference_loss: float | None = None
    optimizer: str | None = None
    site: str | None = None  # a line of a program that trains nothing, as for all below
    carried: int | None = None  # whether the program carried its weights over by itself
    notes: tuple[str, ...] | None = None
    described: dict[str, Any] | None = None  # see `told`
    refused: str | None = None
    calls: tuple[ParityCall, ...] = ()


def stages(facts: Facts) -> Mapping[str, Parity]:
    """The stages by their names; of a line of a program the only one is "forward"."""
    return facts.of.get("parity", {})


def folder(facts: Facts) -> str:
    """Where in the cell's folder its arrays are: those of a line of a program have a folder of their own."""
    forward = stages(facts).get("forward")
    return forward.stage if forward and forward.site else ""
