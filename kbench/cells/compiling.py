"""Compiles before anything is timed, for backends that keep what they compile: several at a time."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from kbench.cells import launcher as launchers
from kbench.cells import runner
from kbench.cells.launcher import Launcher, Running
from kbench.cells.runner import Listener
from kbench.cells.spec import Here
from kbench.planning.tasks import CellTask
from kbench.values import OK, Environment, Outcome

NOBODY = Listener(lambda task: None, lambda task, progress: None, lambda task, outcome: None)


def compile_first(
    tasks: Sequence[CellTask],
    verdicts: Mapping[str, Outcome],
    here: Here,
    launcher: Launcher,
    report: Callable[[str], None],
) -> float:
    """Let each backend that keeps what it compiles do so where that is missing; returns how many seconds it took.

    A batch and an epoch of the example are enough. As many compile at a time as there are cores, and each begins with
    what is compiled for other examples. Examples are in order of kind, and like ones share most: so those at the two
    ends of the list are compiled side by side. What fails here fails again when it is measured, and is reported then.
    Raises KeyboardInterrupt.
    """
    missing: dict[Path, CellTask] = {}
    for task in tasks:
        folder = _compiled(task, here)
        if folder is not None and task.id not in verdicts and not folder.is_dir():
            missing.setdefault(folder, task)
    if not missing:
        return 0.0
    start = time.monotonic()
    backends = ", ".join(dict.fromkeys(task.backend for task in missing.values()))
    what = f"{len(missing)} examples, before the time of any" if len(missing) > 1 else "1 example, before its time"
    report(f"{backends}: compiling for {what} is taken (once; minutes)")
    cores = len(psutil.Process().cpu_affinity() or [0])
    with tempfile.TemporaryDirectory(prefix="kbench-") as nowhere, contextlib.ExitStack() as stack:
        waiting, running = list(missing.items()), dict[Path, tuple[CellTask, Running[Outcome]]]()
        apart = replace(here, run=Path(nowhere))
        while waiting or running:
            while waiting and len(running) < cores:
                folder, task = waiting.pop(0 if len(waiting) % 2 else -1)
                _take_over(folder, running)
                one = runner.measure(_shortest(task), apart, launcher, NOBODY)
                running[folder] = (task, stack.enter_context(contextlib.closing(one)))
            for folder, (task, one) in list(running.items()):
                try:
                    next(one)
                except StopIteration as end:
                    del running[folder]
                    if end.value.status == OK:
                        report(f"{task.backend}: compiled for {task.example} in {end.value.seconds:.0f} s")
                    else:  # half of it would pass for all
                        shutil.rmtree(folder, ignore_errors=True)
            time.sleep(launchers.POLL_SECONDS)
    return time.monotonic() - start


def _compiled(task: CellTask, here: Here) -> Path | None:
    """Where the task's backend keeps what it compiles for the task's example."""
    environment = here.environments.get(task.backend)
    if task.script is not None:  # it cannot be told to do a little
        return None
    if not isinstance(environment, Environment) or not environment.compiles:
        return None
    return Path(environment.compiles.replace("{example}", task.example))


def _take_over(folder: Path, unfinished: Collection[Path]) -> None:
    """Begin with a copy of what is compiled for other examples.

    They do not share one folder: compilers lock it, and a cell that is held meanwhile would hold up all others.
    """
    for other in list(folder.parent.glob("*/")):
        if other not in unfinished:
            with contextlib.suppress(OSError):  # another kbench is at work in it
                shutil.copytree(other, folder, ignore=shutil.ignore_patterns("lock_dir"), dirs_exist_ok=True)


def _shortest(task: CellTask) -> CellTask:
    """The task with one batch and one epoch."""
    validation = min(task.validation_samples, task.batch_size)
    return replace(task, samples=task.batch_size, validation_samples=validation, epochs=1)
