"""What a cell of several workers takes: addresses, devices, and which of its processes is why it ended."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kbench.cells.launcher import Exit
from kbench.cells.outcomes import MOST_REASON, outcome_of
from kbench.cells.spec import RunPaths
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.records.values import OK, Device, Outcome
from kbench.store import CellFolder, GuestReport
from kbench.store.guest_files import last_lines
from kbench.words.text import listed, plain

_TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
_LOST = re.compile(
    r"connection (was )?(closed|reset|refused|aborted)|Connection\w*Error|broken pipe|peer", re.IGNORECASE
)
_LINES, _MOST_SAID = 30, 120  # lines of a log in which a library says that, and characters of one


def addresses(count: int) -> list[str]:
    """So many addresses of this machine alone, at ports that are free now."""
    with contextlib.ExitStack() as stack:  # all at once, or two might be the same
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]


def numbers(task: CellTask, run_paths: RunPaths) -> list[int]:
    """Which of the cell's processes run on this machine."""
    place = run_paths.place if task.apart else None
    return [*range(task.processes)] if place is None else [place.rank]


def meeting(task: CellTask, run_paths: RunPaths) -> list[str]:
    """The addresses at which the cell's workers find each other: one for each, or the first one's."""
    if task.apart and run_paths.place:
        return run_paths.place.addresses(task)
    return addresses(task.workers) if task.workers > 1 else []


def check_environments(tasks: Sequence[CellTask], run_paths: RunPaths) -> None:
    """Raises UserError if this machine has no environment for a cell of several: the others would wait for it."""
    for task in tasks:
        environment = run_paths.environments.get(task.environment)
        if task.apart and isinstance(environment, str):
            raise UserError(f"{task.backend} is unavailable on this machine: {environment}")


def devices_of(task: CellTask, run_paths: RunPaths, worker: int) -> list[Device]:
    """Those that a process of the cell sees: of several workers on GPUs one each, or all of them in one process."""
    device = run_paths.devices[task.device]
    if device.kind == "cpu" or task.workers == 1 or task.apart:
        return [device]
    there = [one for one in run_paths.gpus if (one.index or 0) >= (device.index or 0)][: task.workers]
    return there if task.processes == 1 else there[worker : worker + 1]


def outcome(
    ended: Exit, reports: Sequence[GuestReport], task: CellTask, files: Sequence[CellFolder], rank: int = 0
) -> Outcome:
    """The outcome of a cell with several processes: that of the first worker, or of the one that is why it ended.

    rank: of the first one on this machine.
    """
    first = outcome_of(ended, reports[0], task, files[0].log)
    if first.status == OK:
        return first
    if ended.timed_out:
        done, more = first.reason.rsplit("; ", 1)
        waited = _waited_apart(rank, reports[0]) if task.apart else _waited(ended, reports)
        return replace(first, reason=f"{done}: {waited}; {more}")
    if ended.over_memory:
        return first
    number = _blamed(ended, reports, files)
    one, report = files[number], reports[number]
    code = ended.ends[number][1] if number in ended.ends else ended.code
    found = outcome_of(replace(ended, code=code), report, task, one.log)
    if taken := _port_taken(report, one.log):
        found = replace(found, reason=f"another program took its port meanwhile ({taken}); measure it again")
    return replace(found, reason=f"worker {rank + number}: {found.reason}"[:MOST_REASON])


def is_lost(reason: str) -> bool:
    """Whether that is how a worker fails that lost another one."""
    return bool(_LOST.search(reason)) or signal.SIGABRT.name in reason


def _blamed(ended: Exit, reports: Sequence[GuestReport], files: Sequence[CellFolder]) -> int:
    """The worker that is why the cell ended: the first that told an error or ended. Others only lost it."""
    times = {number: at for number, (at, _) in ended.ends.items() if reports[number].facts.guest_seconds is None}
    lost = {number for number in times if ended.ends[number][1] == -signal.SIGABRT}  # as libraries of C++ end then
    for number, report in enumerate(reports):
        if error := report.facts.error:
            lost |= {number} if _LOST.search(error) else set()
            with contextlib.suppress(OSError):
                times[number] = files[number].events.stat().st_mtime
    return min(times, key=lambda number: (number in lost, times[number]), default=0)


def _port_taken(report: GuestReport, log: Path) -> str:
    """What a worker says of a port that is another program's by now; empty where it says nothing of that."""
    said = [report.facts.error, *last_lines(log, _LINES)]
    return next((plain(text)[:_MOST_SAID] for text in said if _TAKEN.search(text)), "")


def _waited_apart(rank: int, report: GuestReport) -> str:
    """Of a worker that was ended after the time limit, alone on its machine."""
    told = f", and told nothing after {report.last}" if report.last else ", and told nothing"
    return f"worker {rank} waited for those on other machines{told}"


def _waited(ended: Exit, reports: Sequence[GuestReport]) -> str:
    """Of workers that were ended after the time limit: which one waited for which."""
    done = {number: _epochs(report) for number, report in enumerate(reports)}
    gone = {number for number, (_, code) in ended.ends.items() if code == 0}
    if late := ended.frozen:
        why = "which was stopped"
    elif late := frozenset(number for number, report in enumerate(reports) if not report.last):
        why = "which told nothing"
    else:
        late = frozenset(number for number in done if done[number] == min(done.values())) - gone
        last = reports[min(late)].last if late else ""
        why = f"which told nothing after {last}"
    others = [number for number in done if number not in late]
    if not late or not others:
        return f"none of its workers told anything more after {reports[0].last}"
    return f"{_named(others)} waited for {_named(sorted(late))}, {why}"


def _named(numbers: Sequence[int]) -> str:
    return f"worker{'s' * (len(numbers) > 1)} {listed(map(str, numbers))}"


def _epochs(report: GuestReport) -> int:
    """How many its worker has done."""
    return max((one.epoch for one in report.facts.workers), default=0)
