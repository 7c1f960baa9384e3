"""Reads the events that a guest wrote: epochs, phases and facts.

A guest that is killed leaves a torn last line. A line that cannot be read is counted and skipped; all others
are kept. Unknown events and keys are skipped.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from kbench import hooks
from kbench.records.epochs import Count, Epoch, Seconds, Turn
from kbench.records.reported import (
    Event,
    Facts,
    FeatureEvent,
    Program,
    Received,
    Step,
    StepAgain,
    parse_facts,
)
from kbench.store.files import loads, read_bytes

LONGEST_LINE = 4 << 20  # bytes; a longer one counts as damaged
LONGEST_TEXT = 1000  # characters that are kept of a note, or of any text in a line that is longer than LONG_LINE
LONG_LINE = 1 << 16
MOST_DAMAGED = 10_000  # lines, after which no more is read
AGAIN = 1_000_000  # as runs of earlier versions number the round of a turn that is taken again
MOST_NAMES = 1000  # notes and phases: what comes after them is counted as damaged


class Phase(Event, frozen=True, tag="phase"):
    name: str
    seconds: Seconds


class NoteEvent(Event, frozen=True, tag="note"):
    text: str


class StoppedEvent(Event, frozen=True, tag="stopped"):
    epoch: int


class OrderEvent(Event, frozen=True, tag="order"):
    sha256: str
    samples_sha256: str | None = None
    different_samples: Count | None = None
    sample_weights: str | None = None


class Shapes(Event, frozen=True, tag="shapes"):
    inputs: Any
    layers: Any


class MemoryEvent(Event, frozen=True, tag="memory"):
    at: Literal["import", "end"]
    peak_mib: float | None
    allocator_peak_mib: float | None = None


class ProbeEvent(Event, frozen=True, tag="probe"):
    outputs: Any
    scales: Any = None  # old runs have none


class Error(Event, frozen=True, tag="error"):
    message: str
    kind: str = ""
    in_keras: int | None = None  # whether Keras asked for what is not there


class End(Event, frozen=True, tag="end"):
    seconds: Seconds


_STRUCTS: tuple[type[msgspec.Struct], ...] = (Epoch, *Event.__subclasses__())
KINDS: dict[object, type[msgspec.Struct]] = {kind.__struct_config__.tag: kind for kind in _STRUCTS}
# Events whose keys are facts by the same names.
OPEN = ("start", "loaded", "model", "compiled", "settings", "threads", "recurrent", "training", "device", "libraries")


def _of_feature(kind: object) -> type[msgspec.Struct] | None:
    """The struct of an event that a feature declares; None of one that nobody knows, which is skipped."""
    found = hooks.event_kinds().get(str(kind))
    return found.struct if found else None


@dataclass(frozen=True)
class GuestReport:
    """What a guest reported; see `kbench.records.values.Measured`."""

    epochs: tuple[Epoch, ...]  # one of each number, in order
    phases: Mapping[str, float]
    facts: Facts
    last: str = ""  # the last event: "epoch 2", "phase import" or its name alone

    def has_ended(self, epochs: int, of_any_length: bool = False) -> bool:
        """Whether it is whole: with so many epochs, unless callbacks ended it or it may have any number of them."""
        stopped = self.facts.stopped_after
        counted = of_any_length or len(self.epochs) == (epochs if stopped is None else stopped)
        return self.facts.guest_seconds is not None and counted


T = TypeVar("T", Epoch, Turn)


def read_events(path: Path) -> GuestReport:
    """The report in the events file at `path`; empty if there is none. Raises what `read_bytes` does."""
    try:
        return parse_events(read_bytes(path))
    except FileNotFoundError:
        return parse_events(b"")


def parse_events(events: bytes) -> GuestReport:
    """The report in these lines, from the last start on: a cell that is tried again appends to its file."""
    parts, last = _Parts(), ""
    for line in filter(bytes.strip, io.BytesIO(events)):  # not split, which makes millions of lines at once
        if parts.damaged > MOST_DAMAGED:
            break
        try:
            value = _loaded(line)
            kind = value["event"]
            struct = KINDS.get(kind) or _of_feature(kind)
            event = msgspec.convert(value, struct) if struct else None
        except (ValueError, KeyError, TypeError, RecursionError):
            parts.damaged += 1
            continue
        if kind == "start":
            parts = _Parts()
        if kind in OPEN:
            known = parse_facts(value)
            parts.damaged += len(known) < len(value.keys() & Facts.__struct_fields__)
            parts.facts |= known
        last = f"{kind} {parts.take(event, value)}".rstrip()
    return parts.report(last)


def _memory(event: MemoryEvent) -> dict[str, Any]:
    found = {"import_memory_mib" if event.at == "import" else "peak_memory_mib": event.peak_mib}
    return found if event.allocator_peak_mib is None else {**found, "allocator_peak_mib": event.allocator_peak_mib}


# Kind of event -> the facts in one.
_FACTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    StoppedEvent: lambda event: {"stopped_after": event.epoch},
    OrderEvent: lambda event: {
        "order_sha256": event.sha256,
        "samples_sha256": event.samples_sha256,
        "different_samples": event.different_samples,
        "sample_weights": event.sample_weights,
    },
    Shapes: lambda event: parse_facts({"input_shapes": event.inputs, "layer_shapes": event.layers}),
    ProbeEvent: lambda event: parse_facts({"probe": event.outputs, "probe_scales": event.scales}),
    StepAgain: lambda event: {"step_elsewhere_again" if event.point else "step_again": event},
    Step: lambda event: {"step_elsewhere" if event.point else "first_step": event},
    MemoryEvent: _memory,
    Program: lambda event: {"program": event},
    Error: lambda event: {
        "error": event.message,
        "error_kind": event.kind,
        "error_in_keras": bool(event.in_keras),
    },
    End: lambda event: {"guest_seconds": event.seconds},
}


@dataclass
class _Parts:
    """What has been read since the last start."""

    epochs: dict[tuple[str, int], Epoch] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    of: dict[str, dict[Any, Any]] = field(default_factory=dict)
    received: dict[int, Received] = field(default_factory=dict)
    damaged: int = 0  # lines

    def take(self, event: msgspec.Struct | None, value: Mapping[str, Any]) -> str:
        """Add an event, None of a kind that adds nothing; returns which of its kind it is, such as an epoch's number.

        value: as it was written.
        """
        self.facts |= _FACTS[type(event)](event) if type(event) in _FACTS else {}
        named = len(self.phases) + len(self.notes)
        match event:
            case Epoch():
                self.epochs[event.site or "", event.epoch] = _as_now(event)
                return str(event.epoch)
            case Phase() | NoteEvent() if named >= MOST_NAMES:
                self.damaged += 1
            case Phase():
                self.phases[event.name] = self.phases.get(event.name, 0.0) + event.seconds
                return event.name
            case NoteEvent():
                self.notes.append(event.text[:LONGEST_TEXT])
            case StoppedEvent():
                self.notes.append(f"its callbacks ended training after epoch {event.epoch}")
            case Received():
                self.received[event.epoch] = event
            case FeatureEvent():
                return self._of_feature(event, value)
        return ""

    def _of_feature(self, event: FeatureEvent, value: Mapping[str, Any]) -> str:
        name = str(value["event"])
        kind, found = hooks.event_kinds()[name], self.of.setdefault(name, {})
        key = kind.key(event)
        if key in found or len(found) < kind.most:
            found[key] = kind.kept(found.get(key), event, value.keys())
        else:
            self.damaged += 1
        return kind.said(event) if kind.said else str(key)

    def report(self, last: str) -> GuestReport:
        """All of it; last: the last event."""
        found = self.facts | {
            "of": self.of,
            "received": self.received,
            "notes": tuple(self.notes),
            "events_damaged": self.damaged,
        }
        epochs = tuple(self.epochs[place] for place in sorted(self.epochs))
        return GuestReport(epochs=epochs, phases=self.phases, facts=Facts(**found), last=last[:60])


def _loaded(line: bytes) -> Any:
    """The value in a line; of a long one with short texts. Raises ValueError or RecursionError."""
    if len(line) > LONGEST_LINE:
        raise ValueError("too long a line")
    value = loads(line)
    return value if len(line) <= LONG_LINE else _with_short_texts(value)


def _with_short_texts(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, list):
        return [_with_short_texts(one) for one in value]
    if isinstance(value, dict):
        return {key[:LONGEST_TEXT]: _with_short_texts(one) for key, one in value.items()}
    return value


def _as_now(event: T) -> T:
    """In which a turn taken again has a field, and not the number of its round and AGAIN."""
    if isinstance(event, Epoch):
        return msgspec.structs.replace(event, rounds=tuple(map(_as_now, event.rounds))) if event.rounds else event
    if event.round < AGAIN:
        return event
    return msgspec.structs.replace(event, round=event.round % AGAIN, again=1)
