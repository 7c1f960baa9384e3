"""Several workers train one model together, each on its part of every batch: `--workers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kbench import hooks
from kbench.additions import Column, Comparison, Engine, EventKind, FindingKind, WorkCheck

if TYPE_CHECKING:
    from kbench.cells.launcher import Exit
    from kbench.cells.spec import RunPaths
    from kbench.planning.plan import Plan
    from kbench.planning.tasks import CellTask
    from kbench.records.axes import Axis
    from kbench.records.values import Backend, Device, Outcome
    from kbench.store import CellFolder, GuestReport


@hooks.fills
def axes() -> Sequence[Axis]:
    """`--workers`, `--scaling`, and what `--threads` means beside them."""
    from kbench.features.workers.axes import OF_FEATURE

    return OF_FEATURE


@hooks.fills
def engine(task: CellTask) -> Engine | None:
    """The framework's own, by which gradients are shared."""
    return OfFramework() if task.workers > 1 else None


class OfFramework(Engine):
    """It, and what is said if its workers lose each other."""

    feature = "workers"
    module = "kbench_workers.engines"

    def of_row(
        self, row: CellTask, backend: Backend, device: Device, gpus: Sequence[Device], apart: bool
    ) -> tuple[str, str]:
        """By the backend's file."""
        from kbench.features.workers import possible

        return possible.kind(backend, apart), possible.why_not(row, backend, device, gpus, apart)

    def numbers(self, task: CellTask, run_paths: RunPaths) -> Sequence[int]:
        """All, or the one of a machine's own worker."""
        from kbench.features.workers import processes

        return processes.numbers(task, run_paths)

    def workers_in_each(self, task: CellTask) -> int:
        """One, or all."""
        from kbench.features.workers import processes

        return task.workers // processes.count(task)

    def addresses(self, task: CellTask, run_paths: RunPaths) -> Sequence[str]:
        """Of each worker, or of the first."""
        from kbench.features.workers import processes

        return processes.addresses(task, run_paths)

    def devices(self, task: CellTask, run_paths: RunPaths, number: int) -> Sequence[Device]:
        """A GPU for each worker."""
        from kbench.features.workers import processes

        return processes.devices(task, run_paths, number)

    def told(self, task: CellTask, run_paths: RunPaths, number: int, addresses: Sequence[str]) -> Mapping[str, Any]:
        """Its number, and how many share the work."""
        from kbench.features.workers import processes

        return processes.told(task, run_paths, number, addresses)

    def outcome(
        self,
        first: Outcome,
        ended: Exit,
        reports: Sequence[GuestReport],
        task: CellTask,
        files: Sequence[CellFolder],
        rank: int,
    ) -> Outcome:
        """That of the worker that is why the cell ended."""
        from kbench.features.workers import outcomes

        return outcomes.outcome(first, ended, reports, task, files, rank)


@hooks.fills
def planned_work(plan: Plan) -> Sequence[str]:
    """How many, and how they share the batch and the cores."""
    from kbench.features.workers import planned

    return planned.lines(plan)


@hooks.fills
def events() -> Sequence[EventKind]:
    """What each worker did in an epoch."""
    from kbench.features.workers.events import WorkerEpoch

    return (
        EventKind(WorkerEpoch, lambda event: (event.epoch, event.rank), said=lambda event: f"of epoch {event.epoch}"),
    )


@hooks.fills
def comparisons() -> Sequence[Comparison]:
    """Several workers with one."""
    from kbench.features.workers.speed_up import COMPARISON

    return (COMPARISON,)


@hooks.fills
def columns() -> Sequence[Column]:
    """What they gain over one worker, how long they communicate, and what each holds in memory."""
    from kbench.features.workers import columns, speed_up

    return (*speed_up.COLUMNS, *columns.COLUMNS)


@hooks.fills
def finding_kinds() -> Sequence[FindingKind]:
    """Of workers that did something else."""
    from kbench.features.workers import work

    return (work.FINDINGS,)


@hooks.fills
def work_check() -> WorkCheck:
    """Whether they did one worker's work."""
    from kbench.features.workers import work

    return work.CHECK
