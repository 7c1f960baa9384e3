"""What came of a cell: from the end of its process, and what its guest has told."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from pathlib import Path

from kbench import store
from kbench.base.masking import without_passwords
from kbench.cells import advice
from kbench.cells.launcher import Exit
from kbench.planning.tasks import CellTask
from kbench.records.values import FAILED, OK, SCRIPT, TIMEOUT, UNSUPPORTED, Outcome
from kbench.store.guest_files import last_lines
from kbench.words.text import plain

LINES_KEPT = 12  # of the log of a cell that did not end ok
MOST_REASON = 500  # characters
_OUT_OF_MEMORY = re.compile(r"out of memory|MemoryError|RESOURCE_?EXHAUSTED|bad_alloc|cannot allocate", re.IGNORECASE)
_LOST = re.compile(
    r"connection (was )?(closed|reset|refused|aborted)|Connection\w*Error|broken pipe|peer", re.IGNORECASE
)


def outcome_of(ended: Exit, report: store.GuestReport, task: CellTask, log: Path) -> Outcome:
    """The outcome of a cell, from the end of its process and the guest's report."""
    error, program = report.facts.error, report.facts.program
    complete = report.has_ended(task.epochs, of_any_length=task.task == SCRIPT or bool(task.timing))
    if complete and program is not None and not program.keras and not program.exit_status:
        complete, error = False, "it never imported Keras, so there is nothing to measure"
    lines = [without_passwords(plain(line)) for line in last_lines(log, LINES_KEPT)]
    end = _last_words(report, lines)
    status, after_end = FAILED, _after_end(ended, task) if complete else ""
    if after_end:
        status, reason = OK, ""
    elif ended.timed_out:
        done = (
            "it had not ended" if task.task == SCRIPT else f"{len(report.epochs)} of {task.epochs} epochs were done"
        )
        limit = f"{round(task.timeout, 1):g} s"
        status, reason = TIMEOUT, f"not done after {limit} ({done}); give it longer with --timeout"
    elif ended.over_memory:
        held, allowed = ended.peak_memory_mib or 0.0, task.memory_limit_mib or 0.0
        reason = f"stopped: it used {held:.0f} MiB, more than --memory-limit ({allowed:.0f} MiB)"
    elif ended.code == 0 and complete:
        status, reason = OK, ""
    elif report.facts.error_kind in ("device", "unsupported"):
        status, reason = UNSUPPORTED, error
    elif error:
        reason = error
    elif ended.code < 0:
        reason = f"killed by {_signal_name(-ended.code)}{_of_memory(ended)}{end}"
    elif ended.code == 0:
        reason = f"ended without a result{end}"
    else:
        words = advice.on_exit_status(ended.code, lines, task) if complete else end
        reason = f"ended with exit status {ended.code}{words}"
    return Outcome(
        status,
        without_passwords(plain(reason))[:MOST_REASON],
        ended.seconds,
        ended.code,
        ended.peak_memory_mib,
        device_memory_mib=ended.device_memory_mib,
        device_memory_source=ended.device_memory_source,
        memory=ended.memory,
        out_of_memory=status == FAILED
        and (ended.over_memory or ended.memory_short or bool(_OUT_OF_MEMORY.search(f"{error} {end}"))),
        after_end=after_end,
        last_event="" if status == OK else plain(report.last),
        last_lines=() if status == OK else tuple(lines),
    )


def is_lost(reason: str) -> bool:
    """Whether that is how a process fails that lost another one."""
    return bool(_LOST.search(reason)) or signal.SIGABRT.name in reason


def _after_end(ended: Exit, task: CellTask) -> str:
    """How the process of a whole measurement ended, if not by itself and well: nothing of it is lost then. A
    program's own end is part of what is asked for, unless it takes too long.
    """
    if ended.over_memory:
        return ""
    if ended.timed_out or ended.lingered:
        return "its process went on after its last event, as a thread or an exit handler does, and was ended"
    if ended.code == 0 or task.task == SCRIPT:
        return ""
    how = f"was killed by {_signal_name(-ended.code)}" if ended.code < 0 else f"ended with exit status {ended.code}"
    return f"its process {how} after its last event"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _of_memory(ended: Exit) -> str:
    """That the system has ended it, as far as can be told."""
    if not ended.memory_short:
        return ""
    held = "" if ended.peak_memory_mib is None else f"; it used {ended.peak_memory_mib:.0f} MiB"
    return f", as the system does if memory runs out{held}"


def _last_words(report: store.GuestReport, lines: Sequence[str]) -> str:
    """The last event, damaged events and the last line of words in the log, for the one-line reason."""
    damaged = report.facts.events_damaged
    facts = [f"last event: {report.last}" if report.last else "it reported nothing"]
    facts += [f"{damaged} damaged lines among its events"] if damaged else []
    words = [line for line in lines if any(map(str.isalnum, line))]  # not a ruler
    return f" ({'; '.join(facts)}){f': {words[-1]}' if words else ''}"
