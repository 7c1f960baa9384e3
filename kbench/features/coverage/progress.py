"""What is shown while the cases of public names are tried: how many of each backend, and about how long they take."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TextIO

from kbench.cells.runner import EpochProgress, Listener
from kbench.planning.tasks import CellTask
from kbench.records.values import OK, Outcome
from kbench.screen.listener import Screen, Shown
from kbench.screen.progress import Live
from kbench.screen.terminal import print_note
from kbench.screen.time_left import in_words
from kbench.session.events import CellsStarted, Event
from kbench.words.text import plain, short_names

LEAST = 10  # cases of a backend, before which its speed says nothing


EXTENT = "coverage: every public name, a process lists them and others try them"  # in the plan, instead of a profile


@dataclass(frozen=True)
class CasesPlanned:
    """Cases of public names are about to be tried: of each backend how many are done, and how many there are."""

    done: Mapping[str, tuple[int, int]]


OnCoverageEvent = Callable[[Event | CasesPlanned], None]


class CoverageScreen(Screen):
    """Shows the events of a coverage run."""

    def __init__(self, plan: TextIO | None = None) -> None:
        super().__init__(plan=plan, extent=EXTENT)
        self._trying = Trying()

    def __call__(self, event: Event | CasesPlanned) -> None:
        """Show the event."""
        if isinstance(event, CasesPlanned):
            self._trying.plan(event.done)
        else:
            super().__call__(event)

    def progress_of(self, started: CellsStarted) -> Shown:
        """How many cases of each backend are done."""
        return self._trying


class Trying:
    """The progress of all cases in a line, and one for each process that was ended by a case."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._live: Live | None = None
        self._done: dict[str, int] = {}  # before the process that runs
        self._of: dict[str, int] = {}
        self._spent: dict[str, tuple[int, float]] = {}  # cases and seconds of processes that have ended
        self._now: dict[str, tuple[str, int, float]] = {}  # process that runs -> backend, cases, when it began
        self._at_once = 1
        self.listener = Listener(self._started, self._cases, self._ended, print_note)

    def plan(self, done: Mapping[str, tuple[int, int]]) -> None:
        """So many cases of each backend are done, of so many."""
        self._done, self._of = ({name: both[at] for name, both in done.items()} for at in (0, 1))

    def close(self) -> None:
        """Show nothing any more, until a process starts."""
        if self._live:
            self._live.close()
        self._live = None

    def _started(self, task: CellTask) -> None:
        self._now[task.id] = task.backend, 0, self._clock()
        self._at_once = max(self._at_once, len(self._now))
        self._show(task)

    def _cases(self, task: CellTask, progress: EpochProgress) -> None:
        backend, _, start = self._now[task.id]
        self._now[task.id] = backend, progress.epochs, start
        self._show(task)

    def _ended(self, task: CellTask, outcome: Outcome) -> None:
        cases = (task.part or {})["cases"]
        number, seconds = self._spent.get(task.backend, (0, 0.0))
        _, at, start = self._now.pop(task.id)
        self._spent[task.backend] = number + at, seconds + self._clock() - start
        self._done[task.backend] = self._done.get(task.backend, 0) + at
        if self._live:
            self._live.clear()
        if outcome.status != OK:
            where = f", trying {cases[at]['name']}" if at < len(cases) else ""
            hangs = outcome.exit_code == -signal.SIGALRM
            why = f"it was not done in {(task.part or {})['seconds']:.0f} s" if hangs else plain(outcome.reason)
            again = bool(where and at and not hangs)  # cases before it may be why
            print_note(f"{task.backend}{where}: {why}{'; it is tried again before any other' if again else ''}")
            self._done[task.backend] += bool(where) and not again
        elif cases and not sys.stderr.isatty():
            print_note(f"{task.backend}: {self._so_far(task.backend):,} of {self._of.get(task.backend, 0):,} cases")

    def _so_far(self, backend: str) -> int:
        return self._done.get(backend, 0) + sum(cases for name, cases, _ in self._now.values() if name == backend)

    def _show(self, task: CellTask) -> None:
        self._live = self._live or Live(clock=self._clock)
        if not self._of:
            self._live.show(f"{task.backend}: listing its public names")
            return
        names = short_names(self._of)
        done = {name: self._so_far(name) for name in self._of}
        each = [f"{names[name]} {done[name]:,}/{of:,}" for name, of in self._of.items()]
        left, speeds = self._seconds_left(done), self._speeds()
        waits = any(done[name] < of and name not in speeds for name, of in self._of.items())
        end = "" if left is None else f"  {in_words(left)}"
        of_one = f" for {names[task.backend]}" if end and waits else ""
        self._live.show(
            f"cases of {'  '.join(each)}{end}{of_one}",
            f"{names[task.backend]} {done[task.backend]:,}/{self._of[task.backend]:,} cases{end}",
            f"{sum(done.values()):,}/{sum(self._of.values()):,}{end}{of_one}",
        )

    def _seconds_left(self, done: Mapping[str, int]) -> float | None:
        """By the cases of each backend so far; without those that have not begun, as some are ten times as slow."""
        speeds = self._speeds()
        if not speeds:
            return None
        one_by_one = sum(seconds * max(0, self._of[name] - done[name]) for name, seconds in speeds.items())
        return one_by_one / self._at_once

    def _speeds(self) -> dict[str, float]:
        """Seconds of a case, by backend."""
        speeds: dict[str, float] = {}
        for name in self._of:
            running = [(cases, self._clock() - start) for of, cases, start in self._now.values() if of == name]
            number, seconds = map(sum, zip(self._spent.get(name, (0, 0.0)), *running, strict=True))
            if number >= LEAST:
                speeds[name] = seconds / number
        return speeds
