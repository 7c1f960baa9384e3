"""Shows the events of a run as they come: the plan, a line of progress, and the result of each example."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TextIO

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.analysis.times.settling import Gain
from kbench.cells.runner import Listener
from kbench.screen import terminal
from kbench.screen.progress import Live, Progress
from kbench.screen.terminal import QUIET, print_note
from kbench.screen.time_left import TimeLeft, earlier
from kbench.session import events
from kbench.session.events import Event
from kbench.tables import answers
from kbench.words.text import size


class Shown(Protocol):
    """What shows the progress of cells."""

    listener: Listener

    def close(self) -> None:
        """Show nothing any more."""


class Screen:
    """Shows events on this process's stdout and stderr."""

    def __init__(
        self, detail: str = terminal.USUAL, plan: TextIO | None = None, extent: str = "", outputs: bool = False
    ) -> None:
        """`plan`: where the plan is printed, if it is, and the lines of `resume`; `extent` is its first line's.
        `outputs`: print the stdout of each cell.
        """
        self.nothing = ""  # why nothing was measured
        self.gain: Gain | None = None  # what further processes brought
        self._quiet, self._detail = detail == QUIET, detail
        self._plan, self._extent, self._outputs = plan, extent, outputs
        self._run: Path | None = None
        self._live: Live | None = None
        self._progress: Shown | None = None

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case events.SessionNote(text):
                print_note(text)
            case events.Planned(plan, to_make):
                if self._plan and not self._quiet:
                    terminal.print_plan(plan, to_make, self._extent, self._plan)
            case events.RunCreated(run):
                self._run = run
            case events.RunResumed():
                self._resumed(event)
            case events.NothingMeasured(reason):
                self.nothing = reason
            case events.Repeated(gain):
                self.gain = gain
            case events.Repeating(example, backends) if not self._quiet:
                print_note(f"Measuring {example} again on {', '.join(backends)}: not yet clear which is faster.")
            case events.MeasuringMore(text) if not self._quiet:
                print_note(text)
            case events.ExampleEnded(analysis, example) if not self._quiet:
                _print_example(analysis, example, self._detail == terminal.VERBOSE)
            case _:
                self._environment(event)
                self._cell(event)

    def _resumed(self, event: events.RunResumed) -> None:
        self._run = event.run
        if self._quiet or not self._plan:
            return
        lines = [f"Resuming {event.name}: {event.left or f'{event.missing} of {event.cells} cells to measure'}."]
        lines += [f"  {one} since: measured again" for one in event.changed]
        lines += [f"  changed: {one}" for one in event.differences]
        print("\n".join(lines), file=self._plan, flush=True)

    def _environment(self, event: Event) -> None:
        match event:
            case events.EnvironmentProgress(backend, number, count, written, seconds):
                self._live = self._live or Live(not self._quiet)
                which = f"{number} of {count}: {backend}" if number and count > 1 else backend
                self._live.show(f"environment {which}  {size(written)} written  {seconds:.0f} s")
            case events.EnvironmentEnded() if self._live:
                self._live.close()
                self._live = None

    def _cell(self, event: Event) -> None:
        match event:
            case events.CellsStarted():
                self._progress = self.progress_of(event)
            case events.Compiling(text) if isinstance(self._progress, Progress):
                self._progress.compiling(text)
            case events.CellStarted(task) if self._progress:
                self._progress.listener.started(task)
            case events.CellsAdded(tasks) if isinstance(self._progress, Progress):
                self._progress.add(tasks)
            case events.CellProgress(task, progress) if self._progress:
                self._progress.listener.epoch(task, progress)
            case events.CellEnded(run, task, outcome) if self._progress:
                self._progress.listener.ended(task, outcome)
                if self._outputs and run == self._run:  # not of a part that explains the run
                    terminal.print_cell_output(run, task)
            case events.CellsEnded() if self._progress:
                self._progress.close()
                self._progress = None

    def progress_of(self, started: events.CellsStarted) -> Shown:
        """What shows the progress of these cells."""
        to_measure = started.plan.to_measure()
        left = TimeLeft(to_measure, earlier(to_measure, store.results_of(started.run)), started.until)
        return Progress(started.plan.tasks, self._detail, left)


def _print_example(analysis: Analysis, example: str, tables: bool) -> None:
    """Print an example's result while others still run."""
    rows = analysis.examples[example].rows
    if tables or not answers.not_compared(rows):  # that may be known when further processes have run
        terminal.print_example(rows, terminal.repeat_command(analysis.run, rows), tables)
