"""Estimates how long a run still takes: from the epochs that are done, from ended cells, and from earlier runs."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbench import store
from kbench.base import paths
from kbench.cells.runner import EpochProgress
from kbench.errors import UserError
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.values import OK, Outcome

MOST_RUNS = 10  # earlier ones that are looked at, the newest first
_ALIKE_OF_SCRIPTS = ("arguments", "max_epochs", "max_steps", "variant")
_ALIKE = ("validation_samples", "epochs", axes.TASK)


def earlier(tasks: Sequence[CellTask], results: Path) -> dict[str, float]:
    """The seconds that cells took which did the same work in earlier runs, or in the one that comes with kbench."""
    found: dict[str, float] = {}
    shipped = paths.project_folder("results") / store.REFERENCE
    runs = [run for run in store.by_time(results) if run.resolve() != shipped.resolve()][:MOST_RUNS]
    with contextlib.suppress(UserError):  # without it less is known
        runs.append(store.raw_folder(shipped))
    for run in runs:
        for task in tasks:
            seconds = None if task.id in found else _took(run, task)
            if seconds is not None:
                found[task.id] = seconds
    return found


def _took(run: Path, task: CellTask) -> float | None:
    if not store.cell_folder(run, task).outcome.is_file():
        return None
    was, outcome = store.spec(run, task), store.outcome(run, task)
    alike = all(was.get(name) == getattr(task, name) for name in _ALIKE)
    alike &= all(was.get(axis.name, axis.default) == task.values[axis.name] for axis in axes.numbers())
    was_run, is_run = (
        {name: str(of.get(name)) for name in _ALIKE_OF_SCRIPTS} for of in (_script(was), _script(vars(task)))
    )
    same = task.script is None or (was.get("example_sha256") == task.example_sha256 and was_run == is_run)
    return outcome.seconds if alike and same and outcome.status == OK else None


def _script(of: Mapping[str, Any]) -> dict[str, Any]:
    script = of.get("script")
    return {**script, "arguments": list(script.get("arguments", ()))} if isinstance(script, Mapping) else {}


class TimeLeft:
    """The seconds that the cells of a run still take, as far as can be told; cells take no time side by side."""

    def __init__(
        self, tasks: Sequence[CellTask], took: Mapping[str, float] | None = None, until: float | None = None
    ) -> None:
        """`took`: what cells took in earlier runs. `until`: when, on the clock, no repeat is begun any more."""
        self._tasks = tasks
        self._took = dict(took or {})
        self._until = until
        self._running: dict[str, EpochProgress] = {}
        self._ended: dict[str, float] = {}

    def progress(self, task: CellTask, progress: EpochProgress) -> None:
        """So much of a cell is done."""
        self._running[task.id] = progress

    def ended(self, task: CellTask, outcome: Outcome) -> None:
        """A cell has ended, or could not run."""
        self._running.pop(task.id, None)
        self._ended[task.id] = outcome.seconds or 0.0

    def seconds(self, ran: Mapping[str, float] | None = None) -> float | None:
        """Of planned cells; None where nothing is known, or one takes longer than expected. ran: so far, by id."""
        speed = self._speed()
        known: dict[str, float] = {}  # what all of a cell takes
        left: dict[str, float] = {}
        for task in self._tasks:
            done = self._running.get(task.id)
            if task.id in self._ended:
                known[task.id], left[task.id] = self._ended[task.id], 0.0
            elif done and done.epochs == 1 and task.epochs and task.id in self._took:  # the first epoch also compiles
                known[task.id] = speed * self._took[task.id]
                left[task.id] = known[task.id] * (1 - 1 / task.epochs)
            elif done and done.epochs and done.seconds is not None and task.epochs:
                known[task.id] = task.epochs * done.seconds
                left[task.id] = max(0, task.epochs - done.epochs) * done.seconds
            elif task.id in self._took:
                known[task.id] = speed * self._took[task.id]
        measured = [seconds for seconds in known.values() if seconds > 0]
        if not measured:
            return None
        usual = sum(measured) / len(measured)
        expected = {one.id: known.get(one.id, usual) for one in self._tasks if one.id not in left}
        overdue = any(seconds > expected.get(one, seconds) for one, seconds in (ran or {}).items())
        return None if overdue else sum([*left.values(), *expected.values()])

    def in_words(self, now: float, ran: Mapping[str, float] | None = None) -> str:
        """Such as `about 4 min left`, or `4 to 10 min left` if repeats may follow; empty if nothing is known."""
        seconds = self.seconds(ran)
        return "" if seconds is None else in_words(seconds, None if self._until is None else self._until - now)

    def _speed(self) -> float:
        """How much longer this run's cells take than those of the earlier runs."""
        both = [one for one, seconds in self._ended.items() if seconds and one in self._took]
        before = sum(self._took[one] for one in both)
        return sum(self._ended[one] for one in both) / before if before else 1.0


def in_words(seconds: float, most: float | None = None) -> str:
    """A time that is left, roughly; `most`: what it may become."""
    if most is None or most < 1.3 * seconds or most - seconds < 20:
        unit, size = _unit(seconds)
        return f"about {_rounded(seconds / size, unit)} {unit} left"
    unit, size = _unit(most)
    low, high = _rounded(seconds / size, unit), _rounded(most / size, unit)
    return f"up to {high} {unit} left" if seconds < size or low == high else f"{low} to {high} {unit} left"


def _unit(seconds: float) -> tuple[str, float]:
    return ("s", 1) if seconds < 90 else ("min", 60) if seconds < 5400 else ("h", 3600)


def _rounded(number: float, unit: str) -> str:
    if unit == "s":  # by tens: it is an estimate
        return f"{10 * max(1, round(number / 10))}"
    return f"{number:.1f}" if unit == "h" else f"{max(1, round(number))}"
