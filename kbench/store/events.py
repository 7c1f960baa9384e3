"""Turn what a guest wrote, whole or torn, into epochs, phases and facts.

A guest that is killed leaves a torn last line, and a disk can do worse: a line that cannot be understood
is counted and left out, and what stands before and after it is kept. Unknown events and keys are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from kbench.epochs import MOST, Epoch
from kbench.store.files import loads
from kbench.store.guest_files import open_regular

# Keys of an event that are not facts about the cell.
_ENVELOPE = frozenset({"event", "schema", "pid", "seconds", "time"})

# In every line that tells an epoch as guests write it, and how such a line is read.
_EPOCH = b'"event": "epoch"'
_DECODER = msgspec.json.Decoder(Epoch)

# What the peak so far is called, by when it was read.
_MEMORY = {"import": "import_memory_mib", "end": "peak_memory_mib"}


@dataclass(frozen=True)
class Told:
    """What a guest told, in the form in which `kbench.values.Measured` carries it.

    Facts are the keys of its start, loaded, device, model and compiled events (python, keras_version,
    backend_version, numpy_version, floatx, epsilon, parameters, form, layers, optimizer, ...), and `order_sha256`,
    `input_shapes` and `layer_shapes` (for counting operations), `libraries` (kind, file and threads of each one that
    computes), `framework_threads`, `numpy_blas`, `probe` (outputs before training), `import_memory_mib` and
    `peak_memory_mib` (the most it held until then), `allocator_peak_mib` (the most that the framework had allocated
    on a GPU, where it tells), `notes` (list of text), `parity` (stage -> its event, of a parity run), `error` (its
    last message), `error_kind`, `guest_seconds`, and `events_damaged` (lines that could not be understood).
    """

    epochs: tuple[Epoch, ...]  # one of each number, in order
    phases: Mapping[str, float]
    facts: Mapping[str, object]
    last: str = ""  # the last event: "epoch 2", "phase import" or its name alone


def read_events(path: Path) -> Told:
    """What the events file at `path` tells; a missing one tells nothing. Raises OSError, also where it is no file."""
    try:
        with open_regular(path) as file:
            return understand(file.read())
    except FileNotFoundError:
        return understand(b"")


def understand(events: bytes) -> Told:
    """What the events, one a line, tell from the last start on: a cell that is tried again appends to its file."""
    epochs: dict[int, Epoch] = {}
    phases: dict[str, float] = {}
    facts: dict[str, object] = {}
    notes: list[str] = []
    parity: dict[str, Any] = {}
    damaged = 0
    last: tuple[object, Mapping[str, Any]] = ("", {})
    for line in _but_usual_epochs(events):
        if isinstance(line, list):
            epochs |= {epoch.epoch: epoch for epoch in line}
            last = "epoch", {"epoch": line[-1].epoch}
            continue
        if not line.strip():
            continue
        try:
            event = loads(line)
            kind = event["event"]
            if kind == "epoch":
                epoch = _epoch(event)
                epochs[epoch.epoch] = epoch
            if kind == "start":
                epochs, phases, facts, notes, parity, damaged = {}, {}, {}, [], {}, 0
            if kind in ("start", "loaded", "model", "compiled", "device"):
                facts |= {key: value for key, value in event.items() if key not in _ENVELOPE}
            elif kind == "phase":
                name = _text(event["name"])
                phases[name] = phases.get(name, 0.0) + _seconds(event["seconds"])
            elif kind == "note":
                notes.append(_text(event["text"]))
            elif kind == "order":
                facts["order_sha256"] = _text(event["sha256"])
            elif kind == "shapes":
                facts |= {"input_shapes": event["inputs"], "layer_shapes": event["layers"]}
            elif kind == "libraries":
                facts |= {name: event[name] for name in ("libraries", "framework_threads", "numpy_blas")}
            elif kind == "memory":
                facts[_MEMORY[event["at"]]] = _metric(event["peak_mib"])
                if event.get("allocator_peak_mib") is not None:
                    facts["allocator_peak_mib"] = _metric(event["allocator_peak_mib"])
            elif kind == "probe":
                facts["probe"] = event["outputs"]
            elif kind == "parity":
                parity[_text(event["stage"])] = event
            elif kind == "error":
                facts |= {"error": _text(event["message"]), "error_kind": _text(event.get("kind", ""))}
            elif kind == "end":
                facts["guest_seconds"] = _seconds(event["seconds"])
            last = kind, event
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            damaged += 1
    return Told(
        epochs=tuple(epochs[number] for number in sorted(epochs)),
        phases=phases,
        facts={**facts, **({"parity": parity} if parity else {}), "notes": notes, "events_damaged": damaged},
        last=_name(*last),
    )


def _name(kind: object, event: Mapping[str, Any]) -> str:
    """An event in a word or two."""
    which = event.get({"epoch": "epoch", "phase": "name", "parity": "stage"}.get(str(kind), ""))
    return (str(kind) if which is None else f"{kind} {which}")[:60]


def _but_usual_epochs(events: bytes) -> Iterator[bytes | list[Epoch]]:
    """The lines; but those in a row that tell epochs as guests write them come at once and read, in a tenth of the
    time.
    """
    first = events.find(_EPOCH)
    if first < 0:
        yield from events.split(b"\n")
        return
    start = events.rfind(b"\n", 0, first) + 1
    end = events.find(b"\n", events.rfind(_EPOCH)) + 1 or len(events)
    epochs = _usual(events[start:end])  # all in a row, mostly
    if epochs is None:
        for are_epochs, group in groupby(events.split(b"\n"), _tells_an_epoch):
            lines = list(group)
            known = _usual(b"\n".join(lines)) if are_epochs else None
            yield from lines if known is None else [known]
        return
    yield from events[:start].split(b"\n")
    yield epochs
    yield from events[end:].split(b"\n")


def _usual(lines: bytes) -> list[Epoch] | None:
    """The epochs that these lines tell; None where one of them is not as usual."""
    try:
        return _DECODER.decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _tells_an_epoch(line: bytes) -> bool:
    return _EPOCH in line


def _epoch(event: Mapping[str, Any]) -> Epoch:
    return Epoch(
        epoch=_count(event["epoch"]),
        seconds=_seconds(event["seconds"]),
        samples=_count(event["samples"]),
        loss=_metric(event.get("loss")),
        accuracy=_metric(event.get("accuracy")),
        val_loss=_metric(event.get("val_loss")),
        val_accuracy=_metric(event.get("val_accuracy")),
        evaluation_seconds=_seconds_or_none(event.get("evaluation_seconds")),
        teardown_seconds=_seconds_or_none(event.get("teardown_seconds")),
        step_seconds=_steps(event.get("step_seconds")),
    )


def _steps(value: object) -> tuple[float, ...]:
    """The seconds of each step; empty where one of them cannot be understood, for the epoch is known without them."""
    try:
        return tuple(_seconds(one) for one in value) if isinstance(value, list) else ()
    except ValueError:
        return ()


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST:
        return value
    raise ValueError("not a count")


def _seconds(value: object) -> float:
    seconds = _metric(value)
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        raise ValueError("not a time")
    return seconds


def _seconds_or_none(value: object) -> float | None:
    return None if value is None else _seconds(value)


def _metric(value: object) -> float | None:
    """A loss or accuracy; NaN and infinity stay, for a model that diverges must be seen to."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("too large a number") from error
    raise ValueError("not a number")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("not text")
