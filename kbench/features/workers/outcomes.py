"""Which of a cell's workers is why it did not end well, or which one the others waited for."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kbench.cells.launcher import Exit
from kbench.cells.outcomes import MOST_REASON, is_lost, outcome_of
from kbench.features.workers import processes
from kbench.features.workers.events import told
from kbench.planning.tasks import CellTask
from kbench.records.values import Outcome
from kbench.store import CellFolder, GuestReport
from kbench.store.guest_files import last_lines
from kbench.words.text import listed, plain

_TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
_LINES, _MOST_SAID = 30, 120  # lines of a log in which a library says that, and characters of one


def outcome(
    first: Outcome,
    ended: Exit,
    reports: Sequence[GuestReport],
    task: CellTask,
    files: Sequence[CellFolder],
    rank: int,
) -> Outcome:
    """The outcome of a cell that did not end well: that of the worker that is why it ended.

    first: as the first worker on this machine tells it, whose number is rank.
    """
    if processes.count(task) == 1:
        return first
    if ended.timed_out:
        done, more = first.reason.rsplit("; ", 1)
        waited = _waited_apart(rank, reports[0]) if processes.apart(task) else _waited(ended, reports)
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


def _blamed(ended: Exit, reports: Sequence[GuestReport], files: Sequence[CellFolder]) -> int:
    """The worker that is why the cell ended: the first that told an error or ended. Others only lost it."""
    times = {number: at for number, (at, _) in ended.ends.items() if reports[number].facts.guest_seconds is None}
    lost = {number for number in times if ended.ends[number][1] == -signal.SIGABRT}  # as libraries of C++ end then
    for number, report in enumerate(reports):
        if error := report.facts.error:
            lost |= {number} if is_lost(error) else set()
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
    return max((one.epoch for one in told(report.facts)), default=0)
