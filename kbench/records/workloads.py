"""The kinds of work that times are of: training or inference of an example, and the parts of a user's program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from kbench.records.values import CALL, EPOCH, REST, RUN, SCRIPT, STEP


@dataclass(frozen=True)
class Workload:
    """A kind of work, and how tables, plots and sentences speak of it."""

    unit: str  # what its times are of
    units: str
    does: str  # before "fastest"
    function: str = ""  # Keras's
    trains: bool = False  # whether it learns, so that it has scores and curves
    per_samples: bool = False  # whether its time is shown for 1,000 samples
    of_program: bool = False  # of a user's, for which nothing is asked, such as epochs
    of_line: bool = False  # of the program's calls of a model
    by_call: bool = False  # whether calls stand in the place of steps
    compared: bool = True

    @property
    def once(self) -> bool:
        """Whether it is done once a process."""
        return self.of_program and not self.of_line

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
    "train": Workload("epoch", "epochs", "trains", "fit", trains=True),
    "infer": Workload("pass", "passes", "predicts", "predict", per_samples=True),
    SCRIPT: Workload("epoch", "epochs", "runs", of_program=True),  # while it runs
}
TASKS = tuple(_OF_TASK)
_OF_UNIT = {
    EPOCH: Workload("epoch", "epochs", "is", of_program=True, of_line=True),
    CALL: Workload("call", "calls", "is", of_program=True, of_line=True, by_call=True),
    STEP: Workload("step", "steps", "is", of_program=True, of_line=True, by_call=True),
    RUN: Workload("run", "runs", "runs", of_program=True),
    REST: Workload("rest", "rests", "runs", of_program=True, compared=False),
}


@lru_cache
def workload_for(task: str, unit: str = "") -> Workload:
    """The kind of work of an example or a row; `unit` is what times of a program's row are of."""
    of_task = _OF_TASK[task or "train"]
    return replace(_OF_UNIT[unit], function=of_task.function, trains=of_task.trains) if unit else of_task
