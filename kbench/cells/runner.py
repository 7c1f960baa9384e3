"""Runs a plan: launch a cell, read what its guest told, record the outcome, next."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from kbench import store
from kbench.cells import spec as specs
from kbench.cells.launcher import Exit, Launcher
from kbench.store.guest_files import last_lines, open_regular
from kbench.text import plain
from kbench.values import (
    FAILED,
    INTERRUPTED,
    OK,
    TIMEOUT,
    UNAVAILABLE,
    UNSUPPORTED,
    Backend,
    Build,
    Cell,
    Data,
    Device,
    Environment,
    Example,
    Outcome,
)

LINES_KEPT = 12  # of the log of a cell that did not end ok
MOST_REASON = 500  # characters
ENOUGH_REFERENCES = 6  # in a run: of fewer values nobody knows how far they lie apart


@dataclass(frozen=True)
class Job:
    """A cell with all that launching it takes; `verdict` is set where it is known not to run."""

    cell: Cell
    example: Example
    backend: Backend
    build: Build | None
    environment: Environment | None
    data: Data | None
    verdict: Outcome | None = None
    timeout: float = 3600.0  # seconds: an estimate of what it can take at most


@dataclass(frozen=True)
class Settings:
    """What all cells of a run share."""

    device: Device
    pinned: Mapping[str, str]  # variables that show the guest this device alone
    timeout: float | None  # seconds, of each cell; None: as each job estimates
    augment: bool
    init: str  # "seeded": common initial weights, or "backend": each backend's own
    guest: Path  # the guest's folder
    published_weights: Mapping[str, Path]  # example -> file
    parity: Mapping[str, Any] | None = None  # what a guest computes where nothing is timed
    memory_limit_mib: float | None = None  # of a cell: its processes together


@dataclass(frozen=True)
class Seen:
    """How far a running cell is: its epochs that are done, and what the last of them came to."""

    epochs: int = 0
    seconds: float | None = None
    loss: float | None = None
    accuracy: float | None = None  # of validation where there is one


@dataclass(frozen=True)
class Listener:
    """Who wants to know how the run goes."""

    started: Callable[[Job], None]
    epoch: Callable[[Job, Seen], None]  # a few times a second
    ended: Callable[[Job, Outcome], None]


def run(
    jobs: Sequence[Job],
    folder: Path,
    settings: Settings,
    variables: Callable[[Environment], Mapping[str, str]],
    launcher: Launcher,
    listener: Listener,
    reference: Callable[[], float | None] | None = None,
) -> list[Outcome]:
    """Run the jobs in turn and record each outcome in the run's folder as soon as it is known.

    `reference` times a fixed computation before each cell that is measured, which shows how steady the machine is:
    once, or several times where there are few cells.
    One cell's fate never stops the run. On an interrupt the running cell is recorded as interrupted and
    KeyboardInterrupt goes on to the caller. Raises UserError where results cannot be written.
    """
    outcomes = []
    to_measure = sum(job.verdict is None for job in jobs)
    for job in jobs:
        listener.started(job)
        try:
            times = math.ceil(ENOUGH_REFERENCES / to_measure) if reference and job.verdict is None else 0
            paces = tuple(pace for _ in range(times) if reference and (pace := reference()))
            outcome = job.verdict or _measure(job, folder, settings, variables, launcher, listener)
            outcome = replace(outcome, reference_seconds=median(paces) if paces else None, reference_samples=paces)
        except KeyboardInterrupt:
            outcome = Outcome(INTERRUPTED, "interrupted by the user")
            store.write_outcome(folder, job.cell, outcome)
            listener.ended(job, outcome)
            raise
        # Recorded here and not at the end: a later failure must not lose what is known.
        try:
            store.write_outcome(folder, job.cell, outcome)
        except KeyboardInterrupt:
            store.write_outcome(folder, job.cell, outcome)
            raise
        outcomes.append(outcome)
        listener.ended(job, outcome)
    return outcomes


def _measure(
    job: Job,
    folder: Path,
    settings: Settings,
    variables: Callable[[Environment], Mapping[str, str]],
    launcher: Launcher,
    listener: Listener,
) -> Outcome:
    if job.environment is None or job.data is None or job.build is None:
        return Outcome(UNAVAILABLE, "its environment was not made")
    files = store.cell_folder(folder, job.cell)
    spec = specs.spec(
        job.cell,
        job.example,
        job.backend,
        job.data,
        settings.device,
        versions=specs.locked_versions(job.build, job.backend.distribution) if job.environment.folder else {},
        augment=settings.augment,
        init=settings.init,
        published_weights=settings.published_weights.get(job.example.name),
        events=files.events,
        parity=settings.parity,
    )
    spec["identity"] = identity(job, settings)
    path = store.write_spec(folder, job.cell, spec, specs.keras_json(job.backend, job.cell))
    environment = specs.environment_variables(
        os.environ, variables(job.environment), settings.pinned, files.keras_home
    )
    progress = Progress(files.events)
    timeout = settings.timeout or job.timeout
    try:
        ended = launcher(
            [str(job.environment.python), str(settings.guest), str(path)],
            variables=environment,
            folder=files.path,
            log=files.log,
            timeout=timeout,
            memory_limit_mib=settings.memory_limit_mib,
            watch=lambda: listener.epoch(job, progress.look()),
        )
    except OSError as error:
        return Outcome(FAILED, f"its Python cannot be started: {error.strerror or error}")
    try:
        told = store.read_events(files.events)
    except OSError as error:
        reason = f"its events cannot be read: {error.strerror or error}"
        return Outcome(FAILED, reason, ended.seconds, ended.code, ended.peak_memory_mib)
    return judge(ended, told, job.cell, files.log, timeout, settings.memory_limit_mib)


def identity(job: Job, settings: Settings) -> dict[str, str]:
    """What a job's cell measures, by content; it has a backend's build and data. See `specs.identity`."""
    assert job.build is not None and job.data is not None
    return specs.identity(
        job.cell,
        job.example,
        job.backend,
        job.build,
        job.data,
        augment=settings.augment,
        init=settings.init,
        published_weights=job.example.name in settings.published_weights,
        parity=settings.parity,
    )


class Progress:
    """What an events file tells of epochs, reading only what was added since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._seen = Seen()

    def look(self) -> Seen:
        """The epochs that are done."""
        try:
            with open_regular(self._path) as file:
                file.seek(self._position)
                added = file.read()
        except OSError:
            return self._seen
        whole = added[: added.rfind(b"\n") + 1]  # a line may be half written
        self._position += len(whole)
        told = [line for line in whole.splitlines() if b'"event": "epoch"' in line]
        if told:
            self._seen = _seen(self._seen.epochs + len(told), told[-1])
        return self._seen


def _seen(epochs: int, line: bytes) -> Seen:
    told = store.understand(line).epochs
    if not told:
        return Seen(epochs)
    last = told[0]
    accuracy = last.accuracy if last.val_accuracy is None else last.val_accuracy
    return Seen(epochs, last.seconds, last.loss, accuracy)


def judge(
    ended: Exit, told: store.Told, cell: Cell, log: Path, timeout: float, memory_limit_mib: float | None = None
) -> Outcome:
    """What came of a cell, from how its process ended and what its guest told before."""
    error = str(told.facts.get("error", ""))
    complete = "guest_seconds" in told.facts and len(told.epochs) == cell.epochs
    lines = [plain(line) for line in last_lines(log, LINES_KEPT)]
    end = _last_words(told, lines)
    if ended.timed_out:
        done = f"{len(told.epochs)} of {cell.epochs} epochs were done"
        status, reason = TIMEOUT, f"not done after {timeout:g} s ({done}); give it longer with --timeout"
    elif ended.over_memory:
        held = f"it held {ended.peak_memory_mib or 0:.0f} MiB, where --memory-limit allows {memory_limit_mib:.0f} MiB"
        status, reason = FAILED, f"killed for its memory: {held}"
    elif ended.code == 0 and complete:
        status, reason = OK, ""
    elif told.facts.get("error_kind") in ("device", "unsupported"):
        status, reason = UNSUPPORTED, error
    elif error:
        status, reason = FAILED, error
    elif ended.code < 0:
        status, reason = FAILED, f"killed by {_signal_name(-ended.code)}{_of_memory(ended)}{end}"
    elif ended.code == 0:
        status, reason = FAILED, f"ended without a result{end}"
    else:
        status, reason = FAILED, f"ended with exit status {ended.code}{end}"
    return Outcome(
        status,
        plain(reason)[:MOST_REASON],
        ended.seconds,
        ended.code,
        ended.peak_memory_mib,
        device_memory_mib=ended.device_memory_mib,
        device_memory_source=ended.device_memory_source,
        last_event="" if status == OK else plain(told.last),
        last_lines=() if status == OK else tuple(lines),
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _of_memory(ended: Exit) -> str:
    """What SIGKILL most often means, where the system sent it."""
    if _signal_name(-ended.code) != "SIGKILL":
        return ""
    held = "" if ended.peak_memory_mib is None else f"; it held {ended.peak_memory_mib:.0f} MiB"
    return f", as the system does where memory runs out{held}"


def _last_words(told: store.Told, lines: Sequence[str]) -> str:
    """The last event, damage and the last line of the log, for the one-line reason."""
    damaged = told.facts.get("events_damaged")
    facts = [f"last event: {told.last}" if told.last else "it told nothing"]
    facts += [f"{damaged} damaged lines among its events"] if damaged else []
    return f" ({'; '.join(facts)}){f': {lines[-1]}' if lines else ''}"
