"""One epoch of a cell, as the guest reported it; and a call of a program that returns something else."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import msgspec

MOST = 2**53  # of a count: a float cannot hold all whole numbers beyond this
AGAIN = 1_000_000  # added to the number of a round for a turn that is taken again
Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]  # so no infinity


class Epoch(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="epoch"):
    """One epoch (or inference pass) that the guest measured, decoded from its line of JSON."""

    epoch: Count  # 1, 2, ...
    seconds: Seconds  # training alone, without validation
    samples: Count
    loss: float | None = None
    accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None
    evaluation_seconds: Seconds | None = None
    teardown_seconds: Seconds | None = None  # from the end of the last batch until fit or predict returned
    step_seconds: tuple[Seconds, ...] = ()  # of each step, their sum is `seconds`; empty where they were not timed
    # Of each turn, if the cell took turns with others: its round (see AGAIN), the first step that counts, and the one
    # after the last.
    rounds: tuple[tuple[Count, Count, Count], ...] = ()
    # Of a script: the line and method that was called, all scores by their names, whether it is a new model's first
    # epoch, of how many calls this is the mean, and how often it was compiled, if the framework says.
    site: str | None = None
    metrics: dict[str, float] | None = None
    first: Count | None = None
    calls: Count | None = None
    compilations: Count | None = None


@dataclass(frozen=True)
class Otherwise:
    """What a call returns otherwise than on another backend: `the same weights predict otherwise`."""

    does: str
    than: str  # that backend
    by: str
    cause: str  # without a full stop; empty if it is not known
