"""One epoch of a cell, as the guest reported it."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec

MOST = 2**53  # of a count: a float cannot hold all whole numbers beyond this
Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]  # so no infinity

Mib = Annotated[float, msgspec.Meta(ge=0, le=2**40)]


class Turn(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An epoch's steps in one turn of a process that takes turns with others."""

    round: Count  # 0 during its first turn
    first: Count  # the first step that counts
    last: Count  # the step after the last
    again: Count = 0  # whether the turn of this round was disturbed, and this is another one in its place


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
    callback_seconds: Seconds | None = None  # of a program's callbacks
    callback_seconds_within: Seconds | None = None  # those of it that `seconds` holds, too: around batches
    teardown_seconds: Seconds | None = None  # from the end of the last batch until fit or predict returned
    step_seconds: tuple[Seconds, ...] = ()  # of each step, their sum is `seconds`; empty where they were not timed
    resident_mib: Mib | None = None  # what the process held when it was over
    rounds: tuple[Turn, ...] = ()  # empty if the cell took no turns with others
    tokens: Count | None = None  # that a pass of generation wrote
    first_token_seconds: Seconds | None = None  # from a batch of texts to the first token behind each: mean
    # Of a script: the line and method that was called, all scores by their names, whether it is a new model's first
    # epoch, of how many calls this is the mean, and how often it was compiled, if the framework says.
    site: str | None = None
    metrics: dict[str, float] | None = None
    first: Count | None = None
    calls: Count | None = None
    compilations: Count | None = None
