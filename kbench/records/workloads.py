"""The kinds of work that times are of: training or inference of an example, and what features know beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.records.values import INFER, SCRIPT, TRAIN

if TYPE_CHECKING:
    from kbench.additions import WorkKind


@dataclass(frozen=True)
class Workload:
    """A kind of work, and how tables, plots and sentences speak of it."""

    unit: str  # what its times are of
    units: str
    does: str  # before "fastest"
    function: str = ""  # Keras's
    trains: bool = False  # whether it learns, so that it has scores and curves
    per_samples: bool = False  # whether its time is shown for 1,000 samples
    kind: str = ""  # of work that is observed, such as a user's program: the feature's kind that makes rows of it
    once: bool = False  # whether it is done once a process
    by_call: bool = False  # whether calls stand in the place of steps
    compared: bool = True

    @property
    def observed(self) -> bool:
        """Whether it is taken as it is: nothing is asked for, such as epochs, and nothing is made equal."""
        return bool(self.kind)

    @property
    def repeated(self) -> bool:
        """Whether it is a part of observed work that is done again and again."""
        return self.observed and not self.once

    @property
    def told_by(self) -> WorkKind | None:
        """What makes its rows and tells of them; None of an example, which the core does."""
        return hooks.work_kind(self.kind) if self.kind else None

    @property
    def time(self) -> str:
        """What is shown of its time."""
        if self.once:
            return f"seconds of the {self.unit}"
        return "seconds per 1,000 samples" if self.per_samples else f"seconds per {self.unit}"

    @property
    def column(self) -> str:
        """The column with that."""
        return "seconds" if self.once else self.time.replace("seconds per ", "s/")

    @property
    def each(self) -> str:
        """Behind seconds."""
        if self.once:
            return ""
        return (
            " per 1,000 samples" if self.per_samples else f" {'an' if self.unit[0] in 'aeiou' else 'a'} {self.unit}"
        )

    @property
    def first(self) -> str:
        """The first of the unit, which compiles."""
        return f"first {self.unit}"


_OF_TASK = {
    TRAIN: Workload("epoch", "epochs", "trains", "fit", trains=True),
    INFER: Workload("pass", "passes", "predicts", "predict", per_samples=True),
    SCRIPT: Workload("epoch", "epochs", "runs", kind=SCRIPT, once=True),  # as a whole
}
TASKS = tuple(_OF_TASK)


@lru_cache
def workload_for(task: str, unit: str = "") -> Workload:
    """The kind of work of an example or a row; `unit` is what times of a row of observed work are of."""
    of_task = _OF_TASK[task or TRAIN]
    found = hooks.workloads().get(unit)
    return replace(found, function=of_task.function, trains=of_task.trains) if found else of_task
