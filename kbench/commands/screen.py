"""What a person sees while a run goes on and when it ends: the plan, the progress, the tables."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tqdm import tqdm

from kbench import arguments, results, steadiness
from kbench import plan as planning
from kbench.parity_values import Agreement
from kbench.plan import Plan
from kbench.runner import Job, Listener
from kbench.stats import summarise
from kbench.tables import parity as parity_tables
from kbench.tables import text
from kbench.values import FAILED, INTERRUPTED, OK, TIMEOUT, Outcome


def say(line: str) -> None:
    """A line about what takes a while, on stderr: stdout carries tables alone."""
    tqdm.write(line, file=sys.stderr)


def print_plan(plan: Plan, missing: list[str], where: Path | None, instead: str = "") -> None:
    """What is going to be done: cells, full names of the backends, device, environments to make.

    `instead` stands in the place of the profile.
    """
    runnable = sum(planned.verdict is None for planned in plan.cells)
    request = plan.request
    subset = {"smoke": ": a tiny subset", "quick": ": a subset", "full": ": the published settings"}
    count = f"{len(plan.cells)} cell{'s' * (len(plan.cells) != 1)}"
    extent = instead or f"profile {request.profile}{subset[request.profile]}"
    print(f"Plan: {count}, {extent}, {request.data_source} data")
    print(f"  backends   {', '.join(backend.name for backend in plan.backends)}")
    print(f"  examples   {', '.join(example.name for example in plan.examples)}")
    device = plan.device
    print(f"  device     {device.label}{f' ({device.name}, driver {device.driver})' if device.name else ''}")
    if request.repeats > 1:
        seeds = planning.seeds(request)
        print(f"  repeats    {request.repeats}, {_seeds(seeds)}")
    if request.baseline:
        print(f"  baseline   {request.baseline}")
    if missing:
        print(f"  to make    environments for {', '.join(missing)} (once; minutes, and some GB to download)")
    if runnable < len(plan.cells):
        print(f"  left out   {len(plan.cells) - runnable} unsupported:")
        for line in dict.fromkeys(
            f"{planned.backend.name}: {planned.verdict.reason}" for planned in plan.cells if planned.verdict
        ):
            print(f"             {line}")
    if where is not None:
        print(f"  results    {where}")
    sys.stdout.flush()


def _seeds(seeds: list[int]) -> str:
    return f"seed {seeds[0]} in each" if len(set(seeds)) == 1 else f"seeds {seeds[0]} to {seeds[-1]}, one for each"


class Progress:
    """A bar over the cells with the running one's epoch; a line a cell where nobody watches a terminal."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._done = 0
        self._terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=cells,
            unit="cell",
            disable=not self._terminal,
            file=sys.stderr,
            leave=False,
            dynamic_ncols=True,
        )
        self._start = time.monotonic()
        self.listener = Listener(self._started, self._epoch, self._ended)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def _started(self, job: Job) -> None:
        self._start = time.monotonic()
        self._bar.set_description(_name(job))
        self._bar.set_postfix_str("starting")

    def _epoch(self, job: Job, done: int) -> None:
        unit = "epoch" if job.example.task == "train" else "pass"
        seconds = time.monotonic() - self._start
        ending = "ending" if job.cell.epochs else "computing"
        text = f"{unit} {done + 1}/{job.cell.epochs}" if done < job.cell.epochs else ending
        self._bar.set_postfix_str(f"{text}, {seconds:.0f} s")

    def _ended(self, job: Job, outcome: Outcome) -> None:
        self._done += 1
        self._bar.update()
        seconds = "" if outcome.seconds is None else f" in {outcome.seconds:.1f} s"
        line = f"[{self._done}/{self._cells}] {_name(job)}: {outcome.status}{seconds}"
        if outcome.status != OK:
            say(f"{line}: {outcome.reason}")
        elif not self._terminal:
            say(line)


def _name(job: Job) -> str:
    cell = job.cell
    repeat = f" (repeat {cell.repeat})" if cell.repeat > 1 else ""
    layout = f" {cell.image_data_format}" if job.example.input == "image" else ""
    return f"{cell.example} on {cell.backend}{layout}{repeat}"


def print_tables(run: results.RunResults, baseline: str = "") -> None:
    """The tables of a run, as wide as the terminal allows; `baseline` is instead of the run's own."""
    print()
    tables = text.text(summarise(run.measured, baseline or run.baseline), width=_width())
    encoding = sys.stdout.encoding or "utf-8"
    print(tables.encode(encoding, "replace").decode(encoding))  # there are terminals without ±
    for remark in steadiness.remarks(run.measured, run.provenance):
        print()
        print(textwrap.fill(remark, _width()))


def print_parity(rows: Sequence[Agreement], facts: str) -> None:
    """The tables of a parity run, in the same width."""
    print()
    print(parity_tables.text(rows, facts, _width()))


def _width() -> int:
    return max(60, shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100)


def print_folder(
    run: Path, what: str = "Tables, plots and raw measurements", start: str = "summary.md; plots are in plots/"
) -> None:
    """The last lines: where everything is."""
    print()
    print(f"{what}: {_short(run)} (start with {start})")


def print_resuming(run: results.RunResults) -> None:
    """How to go on with a run in which cells are missing or failed; nothing where there are none."""
    statuses = [one.outcome.status for one in run.measured]
    unfinished = statuses.count(INTERRUPTED)
    failed = sorted({FAILED, TIMEOUT} & set(statuses))
    if unfinished:
        print(f"Not measured: {unfinished} of {len(statuses)} cells; {resuming(run.folder)}")
    elif failed:
        print(f"To try again what did not end ok, {resuming(run.folder, ' --retry ' + ','.join(failed))}")


def resuming(run: Path, options: str = "") -> str:
    """How to go on with the run in that folder: the end of a sentence."""
    return f"go on with `{arguments.program()} resume {shlex.quote(str(_short(run)))}{options}`."


def _short(run: Path) -> Path:
    with contextlib.suppress(ValueError, OSError):  # not below the current folder, or that folder is gone
        return run.absolute().relative_to(Path.cwd())
    return run
