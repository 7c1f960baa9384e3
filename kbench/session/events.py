"""What is told while a run is planned, prepared and measured. Nobody needs to listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.analysis.times.settling import Gain
from kbench.cells.runner import EpochProgress
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.records.values import Outcome


@dataclass(frozen=True)
class SessionNote:
    """A sentence for the user."""

    text: str


@dataclass(frozen=True)
class Planned:
    """The plan is made; nothing is downloaded, installed or measured yet."""

    plan: Plan
    to_make: tuple[str, ...]  # backends whose environments are missing


@dataclass(frozen=True)
class EnvironmentProgress:
    """The environment of a backend is being made, the `number`-th of `count`; 0 if it was not missing."""

    backend: str
    number: int
    count: int
    written: int  # bytes so far
    seconds: float


@dataclass(frozen=True)
class EnvironmentEnded:
    """The environment of a backend is there, or cannot be made."""

    backend: str


@dataclass(frozen=True)
class RunCreated:
    """The run has its folder."""

    run: Path


@dataclass(frozen=True)
class RunResumed:
    """An earlier run is about to go on."""

    run: Path
    name: str
    missing: int  # cells to measure
    cells: int  # all
    changed: tuple[str, ...]  # what has changed, so that cells are measured again
    differences: tuple[str, ...]  # of this machine and its software since
    left: str = ""  # what is to be done, in words, where that is not cells to measure


@dataclass(frozen=True)
class NothingMeasured:
    """A run is left as it was."""

    reason: str  # a sentence; empty where nothing was missing


@dataclass(frozen=True)
class CellsStarted:
    """These cells are about to run."""

    run: Path  # or the folder of a part of it, which explains it
    plan: Plan  # its tasks are the cells
    until: float | None  # when, on time.monotonic, no repeat is begun any more


@dataclass(frozen=True)
class Compiling:
    """Code is compiled before the measurement."""

    text: str  # how far


@dataclass(frozen=True)
class CellStarted:
    """A cell has started."""

    task: CellTask


@dataclass(frozen=True)
class CellsAdded:
    """These cells are about to run, too."""

    tasks: tuple[CellTask, ...]


@dataclass(frozen=True)
class CellProgress:
    """A cell computes. Told a few times a second."""

    task: CellTask
    progress: EpochProgress


@dataclass(frozen=True)
class CellEnded:
    """A cell has ended, and its outcome is recorded."""

    run: Path
    task: CellTask
    outcome: Outcome


@dataclass(frozen=True)
class ExampleEnded:
    """All cells of an example have ended, and others follow."""

    analysis: Analysis  # of the run as it is now
    example: str


@dataclass(frozen=True)
class CellsEnded:
    """All of these cells have ended, or something ended them."""

    run: Path


@dataclass(frozen=True)
class Repeating:
    """Rows of an example are not settled, so these backends are measured again."""

    example: str  # with what else it is of, such as "mnist_mlp (batch 32)"
    backends: tuple[str, ...]


@dataclass(frozen=True)
class Repeated:
    """Open rows have had further processes."""

    gain: Gain


@dataclass(frozen=True)
class MeasuringMore:
    """A feature measures more, after all else."""

    text: str


Event = (
    SessionNote
    | Planned
    | EnvironmentProgress
    | EnvironmentEnded
    | RunCreated
    | RunResumed
    | NothingMeasured
    | CellsStarted
    | Compiling
    | CellStarted
    | CellsAdded
    | CellProgress
    | CellEnded
    | ExampleEnded
    | CellsEnded
    | Repeating
    | Repeated
    | MeasuringMore
)
OnEvent = Callable[[Event], None]


def ignore(event: object) -> None:
    """Nobody listens."""


def notes(on_event: OnEvent) -> Callable[[str], None]:
    """Tells each text as a Note."""
    return lambda text: on_event(SessionNote(text))
