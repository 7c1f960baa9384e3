"""What a history is made of: readings of runs, lines of them, and the steps in these."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kbench.analysis.times.levels import Quantiles

KERAS, DATE = "Keras", "date"  # what a line is over; or a framework by its name
TIME, MEMORY, LOSS, COVERAGE = "time", "memory", "loss", "coverage"
SLOWER, FASTER, LESS, BROKE = "slower", "faster", "less memory", "broke"  # kinds of steps, beside these
FAILING = (SLOWER, MEMORY, LOSS, BROKE)  # what `--fail-on` takes


@dataclass(frozen=True)
class Machine:
    """A machine as it was when something was measured: no line has two of them."""

    kind: str  # processor, memory and GPUs, in words
    state: tuple[tuple[str, str], ...]  # what may change on it: kernel, microcode, governor, cores, drivers
    here: bool = False  # whether it is like the one that this runs on

    @property
    def words(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.state if value)

    def changes(self, later: Machine) -> list[str]:
        """What changed until then, in words."""
        pairs = zip(self.state, later.state, strict=True)
        return [f"{name} {was or 'unknown'} to {now or 'unknown'}" for (name, was), (_, now) in pairs if was != now]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a run says of a row."""

    run: str
    created: str  # UTC, ISO 8601
    machine: Machine
    example: str  # or a script and its line
    backend: str  # with all that was asked for in its name
    plain: str  # without versions
    key: Hashable  # what else is the same for all of a line
    keras: str
    framework: str
    log_seconds: float | None = None  # of an epoch; None if it has no time that counts
    offsets: Quantiles = ()  # how sure that is, see kbench/analysis/times/levels.py: relative to its middle
    loss: float | None = None
    memory: float | None = None  # MiB
    work: Mapping[str, object] = field(default_factory=dict)  # what has to be equal, as its guest reported it
    refused: str = ""  # why its time does not count
    states: Any = None  # of a coverage run: a Side of kbench/features/coverage/versions.py


@dataclass(frozen=True, eq=False)
class Point:
    """A version or a time, and its readings."""

    label: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, eq=False)
class Line:
    """Readings of the same work on the same machine, in order."""

    axis: str  # KERAS, DATE, or a framework
    machine: Machine
    example: str
    backend: str
    beside: str  # the version that all of it have, in words; empty over dates
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Step:
    """A change between two neighbours of a line."""

    line: Line
    what: str  # TIME, MEMORY, LOSS or COVERAGE
    before: Point
    after: Point
    kind: str  # SLOWER, FASTER, ...
    ratio: float = 1.0  # behind it to before it
    interval: tuple[float, float] | None = None  # 95 %
    chance: float | None = None  # that noise makes such a step anywhere in these lines
    details: str = ""  # in words

    @property
    def changed_versions(self) -> list[str]:
        """Which others are behind it, in words: over dates."""
        was, now = self.before.readings[-1], self.after.readings[-1]
        pairs = (("Keras", was.keras, now.keras), ("framework", was.framework, now.framework))
        return [f"{name} {old} to {new}" for name, old, new in pairs if old != new]


@dataclass(frozen=True)
class History:
    """All that the runs say."""

    lines: tuple[Line, ...]
    steps: tuple[Step, ...]  # the largest first
    # The smallest changes of times that would have been seen, as shares: at a usual place, and at the last.
    visible: Mapping[Line, tuple[float, float]]
    notes: tuple[str, ...]  # what is left out, and where a new line begins
