"""Reads the events that a guest wrote: epochs, phases and facts.

A guest that is killed leaves a torn last line. A line that cannot be read is counted and skipped; all others
are kept. Unknown events and keys are skipped.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from kbench.epochs import Count, Epoch, Seconds
from kbench.store.files import loads, read_bytes

LONGEST_LINE = 4 << 20  # bytes; a longer one counts as damaged
LONGEST_TEXT = 1000  # characters that are kept of a note, or of any text in a line that is longer than LONG_LINE
LONG_LINE = 1 << 16
MOST_DAMAGED = 10_000  # lines, after which no more is read
MOST_NAMES = 1000  # notes, phases and sites: what comes after them is counted as damaged


class Event(msgspec.Struct, tag_field="event"):
    """An event of the guest, identified by its tag."""


class Phase(Event, tag="phase"):
    name: str
    seconds: Seconds


class Note(Event, tag="note"):
    text: str


class Received(Event, tag="received"):
    epoch: int


class Stopped(Event, tag="stopped"):
    epoch: int


class Order(Event, tag="order"):
    sha256: str


class Shapes(Event, tag="shapes"):
    inputs: Any
    layers: Any


class Memory(Event, tag="memory"):
    at: Literal["import", "end"]
    peak_mib: float | None
    allocator_peak_mib: float | None = None


class Probe(Event, tag="probe"):
    outputs: Any
    scales: Any = None  # old runs have none


class Step(Event, tag="step"):
    changes: list[dict[str, Any]]
    loss: float | None = None
    loss_rounding: float | None = None
    noisy_loss: float | None = None
    draws: list[str] | None = None
    unchecked: str | None = None


class Parity(Event, tag="parity"):
    stage: str


class Site(Event, tag="site"):
    site: str
    task: str
    facts: dict[str, Any]


class Fit(Event, tag="fit"):
    """A call of fit: what it took from its start to its return, and how many epochs it had."""

    site: str
    seconds: Seconds
    epochs: Count
    first: Count  # whether the model was new there, or compiled anew
    cold: Count | None = None  # whether it was the first of its turn
    round: Count | None = None  # in which it began
    held: Count | None = None  # whether its turn ended meanwhile


class Returned(Event, tag="returned"):
    site: str


class Program(Event, tag="program"):
    seconds: Seconds
    exit_status: int
    keras: int
    broken: str = ""  # the line whose call raised last


class Error(Event, tag="error"):
    message: str
    kind: str = ""
    in_keras: int | None = None  # whether Keras asked for what is not there


class End(Event, tag="end"):
    seconds: Seconds


_STRUCTS: tuple[type[msgspec.Struct], ...] = (Epoch, *Event.__subclasses__())
KINDS: dict[object, type[msgspec.Struct]] = {kind.__struct_config__.tag: kind for kind in _STRUCTS}
# Events whose keys are facts without change, except those of _NO_FACTS.
OPEN = ("start", "loaded", "model", "compiled", "settings", "threads", "training", "device", "libraries")
_NO_FACTS = frozenset({"event", "schema", "pid", "seconds", "time"})


@dataclass(frozen=True)
class GuestReport:
    """What a guest reported; see `kbench.values.Measured`.

    Facts are the keys of the events in OPEN, as `kbench_guest.protocol` describes them, and what `understand` adds:
    `parity` is stage -> its event, `received` an epoch's number -> its event, `sites` a script's line and method ->
    its task and facts, `fits` the same -> its calls, if it is a fit, `returned` the same -> what its first call
    returned.
    """

    epochs: tuple[Epoch, ...]  # one of each number, in order
    phases: Mapping[str, float]
    facts: Mapping[str, object]
    last: str = ""  # the last event: "epoch 2", "phase import" or its name alone


def read_events(path: Path) -> GuestReport:
    """The report in the events file at `path`; empty if there is none. Raises what `read_bytes` does."""
    try:
        return understand(read_bytes(path))
    except FileNotFoundError:
        return understand(b"")


def understand(events: bytes) -> GuestReport:
    """The report in these lines, from the last start on: a cell that is tried again appends to its file."""
    epochs: dict[tuple[str, int], Epoch] = {}
    sites: dict[str, Any] = {}
    fits: dict[str, list[Any]] = {}
    returned: dict[str, Any] = {}
    phases: dict[str, float] = {}
    facts: dict[str, object] = {}
    notes: list[str] = []
    parity: dict[str, Any] = {}
    received: dict[int, Any] = {}
    damaged = 0
    last = ""
    for line in filter(bytes.strip, io.BytesIO(events)):  # not split, which makes millions of lines at once
        if damaged > MOST_DAMAGED:
            break
        try:
            value = _loaded(line)
            kind = value["event"]
            event = msgspec.convert(value, KINDS[kind]) if kind in KINDS else None
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged += 1
            continue
        last = str(kind)
        if kind == "start":
            epochs, sites, phases, facts, notes, parity, received, damaged = {}, {}, {}, {}, [], {}, {}, 0
            fits, returned = {}, {}
        if kind in OPEN:
            facts |= {key: one for key, one in value.items() if key not in _NO_FACTS}
        match event:
            case Epoch():
                epochs[event.site or "", event.epoch] = event
                last = f"epoch {event.epoch}"
            case Phase() | Note() | Site() | Returned() if (
                len(phases) + len(notes) + len(sites) + len(returned) >= MOST_NAMES
            ):
                damaged += 1
            case Phase():
                phases[event.name] = phases.get(event.name, 0.0) + event.seconds
                last = f"phase {event.name}"
            case Note():
                notes.append(event.text[:LONGEST_TEXT])
            case Received():
                received[event.epoch] = value
            case Stopped():
                facts["stopped_after"] = event.epoch
                notes.append(f"its callbacks ended training after epoch {event.epoch}")
            case Order():
                facts["order_sha256"] = event.sha256
            case Shapes():
                facts |= {"input_shapes": event.inputs, "layer_shapes": event.layers}
            case Probe():
                facts |= {"probe": event.outputs, "probe_scales": event.scales}
            case Step():
                facts["first_step"] = msgspec.to_builtins(event)
            case Memory():
                facts["import_memory_mib" if event.at == "import" else "peak_memory_mib"] = event.peak_mib
                if event.allocator_peak_mib is not None:
                    facts["allocator_peak_mib"] = event.allocator_peak_mib
            case Parity():
                parity[event.stage] = value
                last = f"parity {event.stage}"
            case Site():
                sites[event.site] = {"task": event.task, "facts": event.facts}
            case Fit() if event.site in fits or len(fits) < MOST_NAMES:
                fits.setdefault(event.site, []).append(msgspec.to_builtins(event))
            case Fit():
                damaged += 1
            case Returned():  # in parts: the later ones add to it
                told = {key: one for key, one in value.items() if key not in _NO_FACTS}
                returned[event.site] = {**returned.get(event.site, {}), **told}
            case Program():
                facts["program"] = msgspec.to_builtins(event)
            case Error():
                facts |= {"error": event.message, "error_kind": event.kind, "error_in_keras": bool(event.in_keras)}
            case End():
                facts["guest_seconds"] = event.seconds
    facts |= {"parity": parity} if parity else {}
    facts |= {"sites": sites} if sites else {}
    facts |= {"fits": fits} if fits else {}
    facts |= {"received": received} if received else {}
    facts |= {"returned": returned} if returned else {}
    return GuestReport(
        epochs=tuple(epochs[place] for place in sorted(epochs)),
        phases=phases,
        facts={**facts, "notes": notes, "events_damaged": damaged},
        last=last[:60],
    )


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
