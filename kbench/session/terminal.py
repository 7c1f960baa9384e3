"""Prints the plan, the progress and the tables of a run."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from kbench import store
from kbench.analysis import machine_stability
from kbench.analysis.rows import again
from kbench.cells.runner import EpochProgress, Listener
from kbench.cli import arguments
from kbench.machine.provenance import describe
from kbench.outputs import causes
from kbench.parity.values import Agreement
from kbench.planning.plan import Plan
from kbench.planning.tasks import CellTask
from kbench.session import planned_data, planned_program
from kbench.session.colors import colored
from kbench.store.files import read_bytes
from kbench.tables import csv, keras_cost, markdown, text
from kbench.tables import parity as parity_tables
from kbench.tables.answers import answer
from kbench.tables.content import by_example
from kbench.text import as_json, at_blanks, plain, significant
from kbench.values import FAILED, INTERRUPTED, OK, TIMEOUT, Outcome, Summary

TABLE = "table"


def say(line: str) -> None:
    """Print a progress message on stderr; stdout is only for tables."""
    tqdm.write(line.encode(errors="backslashreplace").decode(), file=sys.stderr)  # notebooks have strict streams


def print_plan(plan: Plan, missing: list[str], instead: str = "", file: TextIO | None = None) -> None:
    """Print the plan, to `file` or stdout; `instead` replaces the profile."""
    request = plan.request
    subset = {"smoke": ": a tiny subset", "quick": ": a subset", "full": ": the published settings"}
    count = f"{len(plan.tasks)} cell{'s' * (len(plan.tasks) != 1)}"
    extent = instead or f"profile {request.profile}{subset[request.profile]}"
    if request.script:
        extent = f"the script {' '.join([plan.examples[0].name, *request.script.kept()['arguments']])}"
    lines = [f"Plan: {count}, {extent}{planned_data.in_short(plan)}"]
    lines.append(f"  backends   {', '.join(backend.name for backend in plan.backends)}")
    lines += planned_program.lines(request.script) if request.script else []
    lines += [] if request.script else [f"  examples   {', '.join(example.name for example in plan.examples)}"]
    lines += planned_data.lines(plan, width())
    device = plan.device
    lines.append(f"  device     {device.label}{f' ({device.name}, driver {device.driver})' if device.name else ''}")
    noted: dict[str, list[str]] = {}
    for backend, build in plan.environments():
        if build.note:
            noted.setdefault(build.note, []).append(backend.name)
    lines += [f"  note       {', '.join(names)}: {note}" for note, names in noted.items()]
    if request.repeats > 1:
        first, last = request.seed, request.seed_of(request.repeats)
        seeds = f"seed {first} in each" if first == last else f"seeds {first} to {last}, one for each"
        lines.append(f"  repeats    {request.repeats}, {seeds}")
    if request.baseline:
        lines.append(f"  baseline   {request.baseline}")
    if missing:
        lines.append(f"  to make    environments for {', '.join(missing)} (once; minutes, and some GB to download)")
    if plan.verdicts:
        lines.append(f"  left out   {len(plan.verdicts)} that cannot run:")
        reasons = (
            f"{one.backend}: {plain(plan.verdicts[one.id].reason)}" for one in plan.tasks if one.id in plan.verdicts
        )
        lines += [f"             {line}" for line in dict.fromkeys(reasons)]
    print("\n".join(lines), file=file or sys.stdout, flush=True)


QUIET, USUAL, VERBOSE = "quiet", "usual", "verbose"


class Progress:
    """A progress bar with the running cell's epoch, or a line per cell; VERBOSE: a line per epoch; QUIET: nothing."""

    def __init__(self, cells: int, detail: str = USUAL) -> None:
        self._cells = cells
        self._done = 0
        self._epochs: dict[str, int] = {}  # finished ones, by cell
        self._starts: dict[str, float] = {}
        self._detail = detail
        self._terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=cells,
            unit="cell",
            disable=not self._terminal or detail == QUIET,
            file=sys.stderr,
            leave=False,
            dynamic_ncols=True,
        )
        self.listener = Listener(self._started, self._epoch, self._ended, say)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _started(self, task: CellTask) -> None:
        self._starts[task.id] = time.monotonic()
        self._epochs[task.id] = 0
        self._bar.set_description(_name(task))
        self._bar.set_postfix_str("starting")

    def _epoch(self, task: CellTask, progress: EpochProgress) -> None:
        if self._detail == VERBOSE and progress.epochs > self._epochs[task.id]:
            of_all = f"/{task.epochs}" if task.epochs else ""
            say(f"  {_name(task)}: {_unit(task)} {progress.epochs}{of_all}{_came_to(progress, ' s')}")
        self._epochs[task.id] = progress.epochs
        self._bar.set_description(_name(task), refresh=False)
        self._bar.set_postfix_str(running(task, progress, time.monotonic() - self._starts[task.id]))

    def _ended(self, task: CellTask, outcome: Outcome) -> None:
        self._done += 1
        self._bar.update()
        if self._detail == QUIET:
            return
        seconds = "" if outcome.seconds is None else f" in {outcome.seconds:.1f} s"
        line = f"[{self._done}/{self._cells}] {_name(task)}: {outcome.status}{seconds}"
        if outcome.status != OK:
            say(f"{line}: {plain(outcome.reason)}")
        elif not self._terminal or self._detail == VERBOSE:
            say(line)


def running(task: CellTask, progress: EpochProgress, seconds: float) -> str:
    """The progress of the running cell after `seconds`, in a few words."""
    planned = task.epochs
    if progress.epochs >= planned:
        so_far = f"{_unit(task)} {progress.epochs}{_came_to(progress, f' s/{_unit(task)}')}"
        return f"{'ending' if planned else so_far if progress.epochs else 'computing'}, {seconds:.0f} s"
    left = "" if progress.seconds is None else f", {progress.seconds * (planned - progress.epochs):.0f} s left"
    came_to = _came_to(progress, f" s/{_unit(task)}")
    return f"{_unit(task)} {progress.epochs + 1}/{planned}{came_to}{left}, {seconds:.0f} s"


def _unit(task: CellTask) -> str:
    return "pass" if task.task == "infer" else "epoch"


def _came_to(progress: EpochProgress, unit: str) -> str:
    parts = [] if progress.seconds is None else [f"{significant(progress.seconds)}{unit}"]
    parts += [] if progress.loss is None else [f"loss {progress.loss:.4g}"]
    parts += [] if progress.accuracy is None else [f"accuracy {progress.accuracy:.4f}"]
    return "".join(f", {part}" for part in parts)


def _name(task: CellTask) -> str:
    repeat = f" (repeat {task.repeat})" if task.repeat > 1 else ""
    layout = f" {task.image_data_format}" if task.input == "image" else ""
    return f"{task.example} on {task.backend}{layout}{repeat}"


def print_results(run: store.RunResults, rows: Sequence[Summary], form: str = TABLE, plots: bool = True) -> None:
    """Print the rows of a run in one of the formats, and where the results are (on stderr unless it is the table)."""
    print_rows(run, rows, form)
    print_written(run, form, plots)


def print_written(run: store.RunResults, form: str = TABLE, plots: bool = True) -> None:
    """Print where the results are (on stderr unless stdout has the table)."""
    what = "Tables, plots and raw measurements" if plots else "Tables and raw measurements"
    start = "report.html; plots are in plots/" if plots else "report.html"
    print_folder(run.folder, what, start, None if form == TABLE else sys.stderr)


def show_output(run: Path, task: CellTask) -> None:
    """Print a script's stdout, below a line that names the cell."""
    try:
        content = read_bytes(store.cell_folder(run, task).stdout)
    except OSError:  # the program has removed or replaced it
        return
    print(f"--- {_name(task)}", flush=True)
    if buffer := getattr(sys.stdout, "buffer", None):
        buffer.write(content)
        sys.stdout.flush()
    else:  # of `kbench.script`
        print(content.decode(errors="replace"), end="")


def show_example(rows: Sequence[Summary], command: str = "") -> None:
    """Print an example's table on a terminal, or else only its answer; all tables come at the end. `command` repeats
    what could not be compared.
    """
    if sys.stderr.isatty():
        say(f"\n{colored(text.text(rows, width(), command), sys.stderr)}\n")
        return
    for found in filter(None, (answer(group, command) for group in by_example(rows))):
        say(found)


def print_rows(run: store.RunResults, rows: Sequence[Summary], form: str = TABLE) -> None:
    """Print the rows of a run in one of the formats, with remarks on the whole run below the tables."""
    cost, command, machine = keras_cost.table(rows), repeating(run), describe(run.provenance)
    remarks = [*causes.sentences(run, rows), *machine_stability.remarks(run.measured, run.provenance)]
    if form == TABLE:
        print()
        show(text.text(rows, width(), command))
        if cost:
            show("\n" + text.together([cost], width(), "in summary.md"))
        for remark in remarks:
            print()
            print(at_blanks(remark, width()))
    elif form == "markdown":
        notes = [f"**Note:** {markdown.escape(one)}" for one in remarks]
        tables = [markdown.markdown(rows, command), *([markdown.together([cost])] if cost else [])]
        show("\n\n".join([*notes, *tables, f"Machine: {markdown.escape(machine)}."]))
    elif form == "csv":
        show(csv.summary_csv(rows).rstrip())
        for remark in remarks:  # a CSV holds one table
            print(remark, file=sys.stderr)
    else:
        about = {"name": run.name, "created": run.created, "machine": machine, "remarks": remarks}
        show(as_json({"schema": 1, **about, "rows": csv.summary_records(rows)}))


def print_parity(rows: Sequence[Agreement], facts: str, form: str = TABLE) -> None:
    """Print the tables of a parity run in one of the formats."""
    if form == TABLE:
        show("\n" + parity_tables.text(rows, facts, width()))
    elif form == "markdown":
        show(markdown.together(parity_tables.tables(rows, facts)))
    elif form == "csv":
        show(parity_tables.csv(rows).rstrip())
    else:
        show(as_json({"schema": 1, "rows": parity_tables.records(rows)}))


def show(text: str) -> None:
    """Print the output of a command."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(colored(text.encode(encoding, "replace").decode(encoding), sys.stdout))  # some terminals have no ±


def width() -> int:
    """The width of tables in columns: the terminal's, or 100 without one."""
    return max(60, shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100)


def print_folder(run: Path, what: str, start: str, file: TextIO | None = None) -> None:
    """Print the last lines: where the results are."""
    print(f"\n{at_blanks(f'{what}: {_short(run)} (start with {start})', width())}", file=file or sys.stdout)


def print_open(run: store.RunResults, found: Mapping[str, Sequence[Summary]], file: TextIO | None = None) -> None:
    """Print what is not settled and how to continue; nothing if all is."""
    if not found:
        return
    named = "; ".join(f"{example} on {', '.join(row.backend for row in rows[1:])}" for example, rows in found.items())
    command = f"{arguments.program()} resume {shlex.quote(str(_short(run.folder)))} --budget 10m"
    print_sentence(f"Not settled yet: {named}. To measure again: `{command}`", file)


def print_sentence(sentence: str, file: TextIO | None = None) -> None:
    """Print a sentence in lines of the terminal's width."""
    print(at_blanks(sentence, width()), file=file or sys.stdout)


def print_resuming(run: store.RunResults, file: TextIO | None = None) -> None:
    """Print how to continue a run with missing or failed cells; nothing if there are none."""
    statuses = [one.outcome.status for one in run.measured]
    unfinished = statuses.count(INTERRUPTED)
    failed = sorted({FAILED, TIMEOUT} & set(statuses))
    if unfinished:
        print(f"Not measured: {unfinished} of {len(statuses)} cells; {resuming(run.folder)}", file=file or sys.stdout)
    elif failed:
        again = resuming(run.folder, " --retry " + ",".join(failed))
        print(f"To repeat the cells that did not end ok, {again}", file=file or sys.stdout)


def repeating(run: store.RunResults) -> str:
    """The command that measures again what is undecided; empty where there is none."""
    return again(run, str(_short(run.folder)))


def resuming(run: Path, options: str = "") -> str:
    """How to continue the run in that folder: the end of a sentence."""
    return f"continue with `{arguments.program()} resume {shlex.quote(str(_short(run)))}{options}`."


def reporting(run: Path) -> str:
    """How to write the run's tables and plots: the end of a sentence."""
    return f"`{arguments.program()} report {shlex.quote(str(_short(run)))}` writes what is missing."


def _short(run: Path) -> Path:
    with contextlib.suppress(ValueError, OSError):  # not below the current folder, or the current folder was removed
        return run.absolute().relative_to(Path.cwd())
    return run
