"""Prints the plan, the progress and the tables of a run."""

from __future__ import annotations

import contextlib
import math
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from kbench import hooks, store
from kbench.analysis.rows import command_to_repeat, open_rows
from kbench.analysis.times import settling
from kbench.analysis.times.machine_stability import disturbs
from kbench.analysis.times.settling import Gain
from kbench.cli import arguments
from kbench.planning.plan import Plan
from kbench.planning.request import cores
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.axes import Axis, Point
from kbench.records.values import FAILED, INTERRUPTED, NOT_COMPARED, PRECISION, TIMEOUT, Measured, beside_others
from kbench.screen import planned_data
from kbench.screen.colors import colored
from kbench.store.files import read_bytes
from kbench.summary import Summary
from kbench.tables import text
from kbench.tables.answers import answer, load
from kbench.tables.content import by_example
from kbench.words.text import at_blanks, plain, without_controls

TABLE, _INDENT = "table", " " * 13
_FROM_OUTSIDE = re.compile("Connection|URLError|HTTPError|Timeout|No space left")  # in an error


def print_note(line: str) -> None:
    """Print a progress message on stderr; stdout is only for tables."""
    tqdm.write(line.encode(errors="backslashreplace").decode(), file=sys.stderr)  # notebooks have strict streams


def print_plan(plan: Plan, missing: Sequence[str], instead: str = "", file: TextIO | None = None) -> None:
    """Print the plan, to `file` or stdout; `instead` replaces the profile."""
    request = plan.request
    subset = {"smoke": ": a tiny subset", "quick": ": a subset", "full": ": the published settings"}
    extent = instead or f"profile {request.profile}{subset[request.profile]}"
    if request.script:
        extent = f"the script {' '.join([plan.examples[0].name, *request.script.kept()['arguments']])}"
    lines = [f"Plan: {len(plan.tasks)} cell{'s' * (len(plan.tasks) != 1)}, {extent}{planned_data.in_short(plan)}"]
    lines += hooks.planned(request)
    lines.append(f"  backends   {', '.join(backend.name for backend in plan.backends)}")
    lines += [f"{_INDENT}{one}" for one in beside_others({one.name: one.beside_newer for one in plan.backends})]
    lines += [] if request.script else [f"  examples   {', '.join(example.name for example in plan.examples)}"]
    lines += planned_data.lines(plan)
    of_devices = [f"{one.label}{f' ({one.name}, driver {one.driver})' if one.name else ''}" for one in plan.devices]
    lines.append(f"  device     {', '.join(of_devices)}")
    if (most := max(request.numbers_on(axes.THREADS))) > max(cores()):
        lines.append(f"  threads    {most} are more than the cores here, {max(cores())}")
    lines += hooks.planned_work(plan)
    if any(backend.tuned for backend in plan.backends) and any(task.has_model for task in plan.tasks):
        lines.append("  settings   tuned for speed; NAME+settings=default in --backends: not tuned")
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
    if plan.impossible:
        lines.append(f"  left out   {len(plan.impossible)} that cannot run:")
        left_out = [one for one in plan.tasks if one.id in plan.impossible]
        lines += dict.fromkeys(f"{_INDENT}{one.backend}: {plan.impossible[one.id].reason}" for one in left_out)
    folded = (at_blanks(without_controls(line), width(), _INDENT) for line in lines)
    print("\n".join(folded), file=file or sys.stdout, flush=True)


QUIET, USUAL, VERBOSE = "quiet", "usual", "verbose"


def cell_title(task: CellTask) -> str:
    """The cell as a line of progress names it."""
    repeat = f" (repeat {task.repeat})" if task.repeat > 1 else ""
    layout = f" {task.image_data_format}" if task.input == "image" else ""
    values = task.key.only(task.varied).values
    varying = "".join(f" {axes.shown(axes.by_name(name), value)}" for name, value in values)
    return plain(f"{task.example} on {task.backend}{layout}{varying}{repeat}")


def print_cell_output(run: Path, task: CellTask) -> None:
    """Print a script's stdout, below a line that names the cell."""
    try:
        content = read_bytes(store.cell_folder(run, task).stdout)
    except OSError:  # the program has removed or replaced it
        return
    print(f"--- {cell_title(task)}", flush=True)
    if buffer := getattr(sys.stdout, "buffer", None):
        buffer.write(content)
        sys.stdout.flush()
    else:  # of `kbench.script`
        print(content.decode(errors="replace"), end="")


def print_example(rows: Sequence[Summary], command: str = "", tables: bool = False) -> None:
    """Print an example's answer, or its table. `command` repeats what could not be compared."""
    if tables:
        print_note(f"\n{colored(text.text(rows, width(), command), sys.stderr)}\n")
        return
    for found in filter(None, (answer(group, command) for group in by_example(rows))):
        print_note(found)


def print_text(text: str) -> None:
    """Print the output of a command."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(colored(text.encode(encoding, "replace").decode(encoding), sys.stdout))  # some terminals have no ±


def width() -> int:
    """The width of tables in columns: the terminal's, or 100 without one."""
    return max(30, shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100)


def print_folder(run: Path, what: str, start: str, file: TextIO | None = None) -> None:
    """Print the last lines: where the results are."""
    print(f"\n{at_blanks(f'{what}: {_short(run)} (start with {start})', width())}", file=file or sys.stdout)


_NAMED = 4  # open comparisons; of more, the number is said


def print_open(
    run: store.RunResults,
    found: Mapping[Point, Sequence[Summary]],
    precision: float | None = None,
    file: TextIO | None = None,
    gain: Gain | None = None,
    said: bool = False,
) -> None:
    """Print what is open, what settling it would take, and how; nothing if all is settled. `gain`: what the last
    processes of open rows brought. `said`: it stands above that other programs used the processor.
    """
    if not found:
        return
    varying, others = axes.varying(found), sum(len(rows) - 1 for rows in found.values())
    named = "; ".join(
        f"{_named(ranking, varying)} on {', '.join(row.backend for row in rows[1:])}"
        for ranking, rows in found.items()
    )
    named = f"{others} comparisons" if others > _NAMED else named
    shares = gain.shares if gain and not gain.lost else {}
    needed = settling.seconds(run, found, PRECISION if precision is None else precision, shares)
    minutes = 10 if math.isinf(needed) else max(1, math.ceil(needed / 60))
    command = resume_command(run.folder, "--budget", f"{minutes}m")
    every = [*{row.key: row for rows in found.values() for row in rows}.values()]
    unknown = disturbs(*every) or any(row.verdict == NOT_COMPARED for row in every)
    if gain and gain.lost:
        brought, share = ("nothing", "all") if gain.disturbed == gain.turns else ("little", f"{gain.disturbed} of")
        rest = (
            f"The last {gain.processes} processes brought {brought}: {share} their {gain.turns} turns were disturbed"
        )
        rest += f"; end other programs, then `{command}`."
    elif unknown and (why := load(every)):
        rest = "Once other programs have ended:" if said else f"{why[0].upper()}{why[1:]}: end them, then"
        rest += f" `{command}`."
    elif math.isinf(needed):
        nothing = gain and not any(gain.shares.values())
        why = f"the last {gain.processes} narrowed nothing" if gain and nothing else "times vary too much here"
        rest = f"More processes would not settle it: {why}."
    else:
        rest = f"About {10 * math.ceil(max(needed, 10.0) / 10):,} s more would settle it: `{command}`"
    print_sentence(f"Open: {named}. {rest}", file)


def _named(ranking: Point, varying: Sequence[Axis]) -> str:
    """A ranking by its example, and by what differs from the others: `mnist_mlp (batch 32)`."""
    others = {axis.name: ranking[axis.name] for axis in varying if axis.name not in axes.TITLE}
    return axes.titled(axes.example_and_line(ranking[axes.EXAMPLE], ranking[axes.SITE]), others)


def print_sentence(sentence: str, file: TextIO | None = None) -> None:
    """Print a sentence in lines of the terminal's width."""
    print(at_blanks(sentence, width()), file=file or sys.stdout)


def print_how_to_resume(run: store.RunResults, file: TextIO | None = None) -> None:
    """Print how to continue a run with missing or failed cells; nothing if there are none."""
    statuses = [one.outcome.status for one in run.measured]
    unfinished = statuses.count(INTERRUPTED)
    failed = sorted({one.outcome.status for one in run.measured if _may_end_ok(one)})
    if unfinished:
        missing = f"{unfinished} of {len(statuses)} cells"
        command = resume_command(run.folder)
        print(f"Not measured: {missing}; continue with `{command}`.", file=file or sys.stdout)
    elif failed:
        command = resume_command(run.folder, "--retry", ",".join(failed))
        print(f"To repeat the cells that did not end ok, continue with `{command}`.", file=file or sys.stdout)


def _may_end_ok(one: Measured) -> bool:
    """Whether the cell did not end ok and may if it is repeated as it is: not if it told an error or ended itself,
    which it would again, unless that came from outside.
    """
    outcome, facts = one.outcome, one.facts
    if outcome.status != FAILED or outcome.out_of_memory or _FROM_OUTSIDE.search(outcome.reason):
        return outcome.status in (FAILED, TIMEOUT)
    return not facts.error and facts.program is None


def repeat_command(run: store.RunResults, rows: Sequence[Summary]) -> str:
    """The command that measures again what is undecided; empty where there is none, or it would settle nothing."""
    settles = settling.seconds(run, open_rows(rows, PRECISION), PRECISION) < math.inf
    return command_to_repeat(run, str(_short(run.folder))) if settles else ""


def resume_command(run: Path, *options: str) -> str:
    """The command that continues the run in that folder."""
    return " ".join([arguments.program(), "resume", shlex.quote(str(_short(run))), *options])


def report_command(run: Path) -> str:
    """The command that writes the run's tables and plots."""
    return f"{arguments.program()} report {shlex.quote(str(_short(run)))}"


def _short(run: Path) -> Path:
    with contextlib.suppress(ValueError, OSError):  # not below the current folder, or the current folder was removed
        return run.absolute().relative_to(Path.cwd())
    return run
