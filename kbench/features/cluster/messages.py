"""What travels between the client and the workers of a cluster: data only, as MessagePack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from kbench.cells.place import Place

T = TypeVar("T")

encode = msgspec.msgpack.encode


@dataclass(frozen=True, kw_only=True)
class Block:
    """What has to be measured on one machine: all backends of one example in one repeat; or in a coverage run all of
    one generation of Keras.
    """

    example: str  # or the generation
    repeat: int
    kind: str = ""  # the only kind of machine that may measure it; empty for any

    @property
    def name(self) -> str:
        """Unique in its run, and valid as a file's name."""
        return "__".join([self.example, f"r{self.repeat}", *([self.kind] if self.kind else [])])

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.example} (repeat {self.repeat})" if self.repeat > 1 else self.example


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What a coverage run tries."""

    only: str  # patterns of names
    quick: bool


@dataclass(frozen=True, kw_only=True)
class BlockOrder:
    """A block with everything that a worker needs to measure it."""

    block: Block
    request: Mapping[str, Any]  # a `Request`; what is not given is chosen on the worker's machine
    device: str  # as given to --device
    argv: tuple[str, ...]  # the client's command line
    path: str = ""  # of the example: below kbench's own examples, or where the client has it
    sha256: str = ""  # of the example's file
    tried: Tried | None = None  # in place of an example
    files: Mapping[str, bytes] = field(default_factory=dict)  # the user's example, twins and backends, by path
    place: Place | None = None  # among the machines that measure it together


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of an order."""

    status: Literal["measured", "failed", "stopped"]
    reason: str = ""  # one sentence, if it was not measured
    files: Mapping[str, bytes] = field(default_factory=dict)  # of the run's folder, by path


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine of a worker, as the worker describes it."""

    kbench: str  # version
    guest_sha256: str  # of the code that measures
    python: str  # such as "3.11"
    processor: str = ""
    cores: str = ""
    gpus: str = ""  # names, or "none"


def decode(message: bytes, kind: type[T]) -> T:
    """The value in a message. Raises ValueError if it is not of this kind."""
    try:
        return msgspec.msgpack.decode(message, type=kind)
    except msgspec.DecodeError as error:  # ValidationError is one, too
        raise ValueError(str(error)) from None
