"""What is shown while cells run: a line that moves on a terminal, and elsewhere a line every half minute."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tqdm import tqdm

from kbench.cells.runner import EpochProgress, Listener
from kbench.planning.tasks import CellTask
from kbench.records import workloads
from kbench.records.values import CHANNELS_FIRST, OK, UNAVAILABLE, Outcome
from kbench.records.workloads import Workload
from kbench.screen.terminal import QUIET, USUAL, VERBOSE, cell_title, print_note
from kbench.screen.time_left import TimeLeft
from kbench.words.text import plain, short_names, significant

SILENT_SECONDS = 30.0  # between two lines where there is no terminal


class Live:
    """A line that is written over on a terminal; elsewhere a plain line now and then, if it says something new."""

    def __init__(self, shown: bool = True, clock: Callable[[], float] = time.monotonic) -> None:
        self._shown = shown
        self._terminal = sys.stderr.isatty()
        self._clock = clock
        self._last, self._said = clock(), ""
        # tqdm.write, by which `print_note` prints, leaves the line whole.
        self._bar = tqdm(
            bar_format="{desc}", disable=not (shown and self._terminal), file=sys.stderr, leave=False, total=0
        )

    def close(self) -> None:
        """Show nothing any more."""
        self._bar.close()

    def show(self, *forms: str) -> None:
        """Show the first of these forms of the line that fits, or else the last."""
        if self._terminal:
            width = _columns()
            text = next((one for one in forms if len(one) <= width), forms[-1][:width])
            if text != self._bar.desc:
                self._bar.set_description_str(text)
        elif self._shown and self._clock() - self._last >= SILENT_SECONDS and forms[0] != self._said:
            self._last, self._said = self._clock(), forms[0]
            print_note(forms[0])

    def clear(self) -> None:
        """Show nothing, until something is shown again."""
        if self._terminal:
            self._bar.desc = ""
            self._bar.clear()  # the cursor is at the start again, for what is printed on stdout


def _columns() -> int:
    """Of the terminal, less one: some begin a new line after the last."""
    return max(20, shutil.get_terminal_size((80, 24)).columns - 1)


class Progress:
    """The progress of all cells in a line, and a line for each that has ended; VERBOSE: one for each epoch; QUIET:
    nothing.
    """

    def __init__(
        self,
        tasks: Sequence[CellTask],
        detail: str = USUAL,
        left: TimeLeft | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tasks = [task for task in tasks if not task.timing]
        self._examples = list(dict.fromkeys(task.example for task in tasks))
        self._labels = labels(tasks)
        self._done = 0
        self._running: dict[str, tuple[CellTask, EpochProgress]] = {}
        self._starts: dict[str, float] = {}
        self._detail = detail
        self._clock = clock
        self._left = left or TimeLeft(tasks)
        self._live = Live(detail != QUIET, clock)
        self.listener = Listener(self._started, self._epoch, self._ended, print_note)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Show nothing any more."""
        self._live.close()

    def compiling(self, text: str) -> None:
        """Show what is done before the cells."""
        self._live.show(text)

    def add(self, tasks: Sequence[CellTask]) -> None:
        """Short processes of rows whose whole ones have ended."""
        self._labels |= labels(tasks)

    def _started(self, task: CellTask) -> None:
        self._starts[task.id] = self._clock()
        self._running[task.id] = task, EpochProgress()
        self._show(task)

    def _epoch(self, task: CellTask, progress: EpochProgress) -> None:
        _, before = self._running.get(task.id, (task, EpochProgress()))
        if self._detail == VERBOSE and progress.epochs > before.epochs and not task.timing:
            of_all = f"/{task.epochs}" if task.epochs else ""
            print_note(f"  {cell_title(task)}: {_unit(task)} {progress.epochs}{of_all}{_came_to(progress, ' s')}")
        self._running[task.id] = task, progress
        self._left.progress(task, progress)
        self._show(task)

    def _ended(self, task: CellTask, outcome: Outcome) -> None:
        self._done += not task.timing
        self._running.pop(task.id, None)
        if not task.timing:
            self._left.ended(task, outcome)
        if self._detail == QUIET or (task.timing and outcome.status == OK and self._detail != VERBOSE):
            return
        self._live.clear()
        seconds = "" if outcome.seconds is None else f" in {outcome.seconds:.1f} s"
        number = "" if task.timing else f"[{self._done}/{len(self._tasks)}] "
        line = f"{number}{cell_title(task)}: {outcome.status}{seconds}"
        if outcome.status not in (OK, UNAVAILABLE):  # of which a note said why
            print_note(f"{line}: {plain(outcome.reason)}")
        elif outcome.status != OK or not sys.stderr.isatty() or self._detail == VERBOSE:
            print_note(line)

    def _show(self, task: CellTask) -> None:
        if self._detail != QUIET:
            self._live.show(*self._forms(task))

    def _forms(self, task: CellTask) -> list[str]:
        """The line, from its longest form to its shortest."""
        number = f" {self._examples.index(task.example) + 1}/{len(self._examples)}" * (len(self._examples) > 1)
        repeat = f", repeat {task.repeat}" if task.repeat > 1 and not task.timing else ""
        start = f"{plain(task.example)}{number}{repeat}"
        now = self._clock()
        left = self._left.in_words(now, {one: now - self._starts[one] for one in self._running})
        end = f"  {left}" if left else ""
        if task.timing:
            count = len(self._running)
            return [f"{start}  timing {count} more process{'es' * (count != 1)}{end}", f"{start}{end}", start]
        seconds = now - self._starts[task.id]
        running = list(self._running.values())
        if len(running) == 1:
            label = self._labels[task.id]
            whole = one_cell(task, running[0][1], seconds)
            short = _done_of(task, running[0][1])
            return [f"{start}  {label}: {whole}{end}", f"{start}  {label} {short}{end}", f"{start}{end}", start]
        each = [f"{self._labels[one.id]} {_done_of(one, progress)}" for one, progress in running]
        counts = [f"{self._labels[one.id]} {progress.epochs}" for one, progress in running]
        done, planned = sum(progress.epochs for _, progress in running), sum(one.epochs for one, _ in running)
        of = f" of {task.epochs}" if len({one.epochs for one, _ in running}) == 1 and planned else ""
        short = f"{len(running)} backends, {done}{f' of {planned}' if planned else ''} {_unit(task, planned or done)}"
        return [
            f"{start}  {'  '.join(each)}{end or f'  {seconds:.0f} s'}",
            f"{start}  {', '.join(counts)}{of}{end}",
            f"{start}  {short}{end}",
            f"{start}{end}",
            start,
        ]


def labels(tasks: Sequence[CellTask]) -> dict[str, str]:
    """A short name of each cell among those of its example: the backend, if needed with generation and layout."""
    names = short_names(task.backend for task in tasks)
    rows = {(task.example, task.backend, task.image_data_format) for task in tasks}
    layouts = Counter((example, backend) for example, backend, _ in rows)
    found = {}
    for task in tasks:
        layout = " first" if task.image_data_format == CHANNELS_FIRST else " last"
        found[task.id] = names[task.backend] + layout * (layouts[task.example, task.backend] > 1)
    return found


def one_cell(task: CellTask, progress: EpochProgress, seconds: float) -> str:
    """The progress of a cell that runs alone, after `seconds`, in a few words."""
    planned = task.epochs
    unit = _under_way(task, progress).unit
    came_to = _came_to(progress, f" s/{unit}")
    if progress.epochs < planned:
        return f"{_unit(task)} {progress.epochs + 1}/{planned}{came_to}, {seconds:.0f} s"
    where = f"{plain(progress.site)}: " if progress.site else ""
    so_far = f"{where}{unit} {progress.epochs:,}{came_to}" if progress.epochs else "computing"
    return f"{'ending' if planned else so_far}, {seconds:.0f} s"


def _done_of(task: CellTask, progress: EpochProgress) -> str:
    """Such as 3/8; how many are planned is unknown of a script."""
    if task.epochs:
        return f"{progress.epochs}/{task.epochs}"
    work = _under_way(task, progress)
    return f"{work.unit} {progress.epochs + (not work.by_call):,}"  # the epoch under way, or calls that have returned


def _unit(task: CellTask, count: int = 1) -> str:
    work = workloads.workload_for(task.task)
    return work.unit if count == 1 else work.units


def _under_way(task: CellTask, progress: EpochProgress) -> Workload:
    """What is counted: of observed work, what is done where it is."""
    work = workloads.workload_for(task.task)
    return work.told_by.under_way(progress.site) if work.told_by and progress.site else work


def _came_to(progress: EpochProgress, unit: str) -> str:
    parts = [] if progress.seconds is None else [f"{significant(progress.seconds)}{unit}"]
    parts += [] if progress.loss is None else [f"loss {progress.loss:.4g}"]
    parts += [] if progress.accuracy is None else [f"accuracy {progress.accuracy:.4f}"]
    return "".join(f", {part}" for part in parts)
