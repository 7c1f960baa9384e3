"""Compiles before the measurement, for backends that cache compiled code: several examples at a time."""

from __future__ import annotations

import contextlib
import os
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
from kbench.cells.spec import RunPaths
from kbench.planning.tasks import CellTask
from kbench.records.values import OK, Environment, Outcome

SILENT = Listener(lambda task: None, lambda task, progress: None, lambda task, outcome: None)


def compile_first(
    tasks: Sequence[CellTask],
    impossible: Mapping[str, Outcome],
    run_paths: RunPaths,
    launcher: Launcher,
    report: Callable[[str], None],
    moving: Callable[[str], None] = lambda text: None,
) -> float:
    """Have each backend that caches compiled code compile what is missing; returns the seconds that this took.

    It runs one epoch of one batch of each example, as many at a time as there are cores, and starts each with what is
    compiled for others. Neighbours in the list share most, so two from its ends are compiled side by side. An
    error here is ignored: it occurs again in the measurement. `moving` gets what is done a few times a second. Raises
    KeyboardInterrupt.
    """
    missing: dict[Path, CellTask] = {}
    for task in tasks:
        folder = _compiled(task, run_paths)
        if folder is not None and task.id not in impossible and not folder.is_dir():
            missing.setdefault(folder, task)
    if not missing:
        return 0.0
    start = time.monotonic()
    backends = ", ".join(dict.fromkeys(task.backend for task in missing.values()))
    what = f"{len(missing)} example{'s' * (len(missing) > 1)}"
    report(f"{backends}: compiling {what} before the measurement (once; minutes)")
    cores = len(psutil.Process().cpu_affinity() or [0])
    with tempfile.TemporaryDirectory(prefix="kbench-") as nowhere, contextlib.ExitStack() as stack:
        waiting, running = list(missing.items()), dict[Path, tuple[CellTask, Running[Outcome]]]()
        apart = replace(run_paths, run=Path(nowhere))
        while waiting or running:
            while waiting and len(running) < cores:
                folder, task = waiting.pop(0 if len(waiting) % 2 else -1)
                _take_over(folder, running)
                one = runner.measure(_shortest(task), apart, launcher, SILENT)
                running[folder] = (task, stack.enter_context(contextlib.closing(one)))
            for folder, (task, one) in list(running.items()):
                try:
                    next(one)
                except StopIteration as end:
                    del running[folder]
                    if end.value.status == OK:
                        report(f"{task.backend}: compiled {task.example} in {end.value.seconds:.0f} s")
                    else:  # a half-filled folder would pass for a complete one
                        shutil.rmtree(folder, ignore_errors=True)
            done, seconds = len(missing) - len(waiting) - len(running), time.monotonic() - start
            moving(f"compiling, {done} of {len(missing)} done  {seconds:.0f} s")
            time.sleep(launchers.POLL_SECONDS)
    return time.monotonic() - start


def _compiled(task: CellTask, run_paths: RunPaths) -> Path | None:
    """The folder of the backend's compiled code for the task's example, if it has one."""
    environment = run_paths.environments.get(task.environment)
    if task.script is not None or not task.has_model:  # it cannot be shortened
        return None
    if not isinstance(environment, Environment) or not environment.compiles:
        return None
    return Path(environment.compiles.replace("{example}", task.example))


def _take_over(folder: Path, unfinished: Collection[Path]) -> None:
    """Start with what is compiled for other examples: links to libraries, which never change, and copies of the rest.

    They do not share one folder, because compilers lock it: a stopped cell would block all others.
    """
    for other in list(folder.parent.glob("*/")):
        if other not in unfinished:
            with contextlib.suppress(OSError):  # another kbench is at work in it
                shutil.copytree(
                    other, folder, ignore=shutil.ignore_patterns("lock_dir"), copy_function=_link, dirs_exist_ok=True
                )


def _link(source: str, target: str) -> None:
    if not source.endswith(".so"):
        shutil.copy2(source, target)
    elif not Path(target).exists():
        os.link(source, target)


def _shortest(task: CellTask) -> CellTask:
    """The task with one batch and one epoch."""
    validation = min(task.validation_samples, task.batch_size)
    return replace(task.at(samples=task.batch_size), validation_samples=validation, epochs=1)
