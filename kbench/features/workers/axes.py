"""The axes: how many workers there are, whether the batch is that of all or of each, and the threads of each."""

from __future__ import annotations

from dataclasses import replace

from kbench.records.asked import NUMBERS, Asked, Numbers, Words
from kbench.records.axes import AXES, BATCH_SIZE, SAMPLES, THREADS, WORKERS, Axis, Point
from kbench.records.values import Cell

SCALING, STRONG, WEAK = "scaling", "strong", "weak"


def scaling(cell: Cell | Point) -> str:
    """STRONG, where the batch size is that of all workers together, or WEAK, where it is that of each."""
    return str((cell.values if isinstance(cell, Cell) else cell)[SCALING])


def _threads() -> Axis:
    """That of the core, with what it means for several workers, which only `run` can have."""
    (axis,) = (axis for axis in AXES if axis.name == THREADS)
    assert axis.asked
    process = "of each process"
    words = axis.asked.help.replace(process, f"{process}, and with --workers of each worker")
    return replace(axis, asked=replace(axis.asked, help_of={**axis.asked.help_of, "run": words}))


OF_FEATURE = (
    Axis(
        WORKERS, "workers", "{} workers", number=True, speeds_up=True, default=1, in_turns=True, carries=THREADS,
        multiplies=(BATCH_SIZE, SCALING, WEAK), after=SAMPLES,
        asked=Asked(
            "--workers", "workers that train together by the backend's own engine, each on its part of every batch "
            "(default: 1). Without --threads the cores are divided among them",
            "several: a row for each, such as 1,2,4, and how much faster than one", takes=Numbers(1, 64),
            group=NUMBERS,
        ),
    ),
    Axis(
        SCALING, "scaling", "{} scaling", same_work=False, default=STRONG, after=WORKERS,
        asked=Asked(
            "--scaling", "strong (default): all workers share a batch of the batch size; weak: each has one, at the "
            "same learning rate", takes=Words((STRONG, WEAK)), group=NUMBERS, metavar="HOW",
            one_each="a run has one, strong or weak: leave one out.",
        ),
    ),
    _threads(),
)  # fmt: skip
