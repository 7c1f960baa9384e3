"""What a run measures of one example otherwise than of the others."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1, le=10**9)]
Task = Literal["train", "infer"]


class Values(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is measured of an example: a row for each combination. What is empty is the example's or the request's."""

    batch_size: tuple[Count, ...] = ()
    workers: tuple[Count, ...] = ()
    threads: tuple[Count, ...] = ()  # those that this machine has
    image_data_format: tuple[Literal["native", "channels_first", "channels_last", "both"], ...] = ()
    data: tuple[Literal["real", "synthetic"], ...] = ()
    steps: Count | None = None  # an epoch has at least so many, except in a smoke run


class Settings(Struct, frozen=True, kw_only=True):
    """The values of an example in training and in inference."""

    task: tuple[Task, ...] = ()
    epoch_samples: Count | None = None  # of an epoch in the source of the settings, where the example's is another
    train: Values = Values()
    infer: Values = Values()
