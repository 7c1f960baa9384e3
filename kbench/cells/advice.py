"""Says what may help where a cell failed, to end its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbench import hooks
from kbench.cells.spec import RunPaths
from kbench.planning.tasks import CellTask
from kbench.records.values import Outcome

WRONG_USAGE = 2  # the exit status of argparse and others for wrong arguments
MANY = 1_000_000  # classes, that are more likely something else


def on_error(task: CellTask, run_paths: RunPaths, outcome: Outcome) -> str:
    """On an error that the guest told: where a file was looked for, or what takes so much memory."""
    if "FileNotFoundError" in outcome.reason and not re.search(r"'/[^']*'$", outcome.reason):
        return _looked_in(task, run_paths)
    data = run_paths.data.get(task.arrays)
    if outcome.out_of_memory and data is not None and data.num_classes > MANY:
        return f"; the targets are class numbers up to {data.num_classes - 1:,}: store others as float32"
    return ""


def _looked_in(task: CellTask, run_paths: RunPaths) -> str:
    if task.script is None:
        return "; it runs in a folder of its own: give the whole path, or that of a file beside __file__"
    return hooks.programs().where(task, run_paths)


def on_exit_status(code: int, lines: Sequence[str], task: CellTask) -> str:
    """The last of the lines of a program that ended itself, and how to give it arguments if it may lack them."""
    lacks = code == WRONG_USAGE and not (task.script or {}).get("arguments")
    return f"{f': {lines[-1]}' if lines else ''}{'; its own arguments follow --' if lacks else ''}"
