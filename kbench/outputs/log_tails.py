"""The last lines of what failed cells printed."""

from __future__ import annotations

from pathlib import Path

from kbench.report.page import Log
from kbench.store.guest_files import open_regular
from kbench.store.reading import RunResults
from kbench.store.runs import cell_folder
from kbench.values import FAILED, TIMEOUT

MOST_LOGS = 50  # on one page
LINES = 20  # of a log
_BYTES = 16_384  # that are read for them
_LONGEST = 500  # letters of a line


def of_failed(results: RunResults) -> list[Log]:
    """For each cell that failed or timed out, the first 50 of them: the end of its log, where there is one."""
    failed = [(one.cell, one.outcome) for one in results.measured if one.outcome.status in (FAILED, TIMEOUT)]
    return [
        Log(cell.id, outcome.status, outcome.reason, last_lines(cell_folder(results.folder, cell).log))
        for cell, outcome in failed[:MOST_LOGS]
    ]


def last_lines(path: Path) -> list[str]:
    """The last lines of the file; none where it cannot be read."""
    try:
        with open_regular(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _BYTES))
            text = file.read(_BYTES).decode(errors="replace")
    except OSError:
        return []
    lines = text.splitlines()[1 if size > _BYTES else 0 :]  # the first one of a piece is torn
    return [line[:_LONGEST] for line in lines[-LINES:]]
