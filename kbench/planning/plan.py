"""Plans a run: its cells, their order and environments, and which cells are known not to work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kbench import hooks
from kbench.base import paths
from kbench.datasets import Origin
from kbench.environments import locks
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning import rows
from kbench.planning.request import LAST_SEED, Request
from kbench.planning.tasks import CellTask, start_of_sha256
from kbench.records import axes
from kbench.records.values import (
    OK,
    UNAVAILABLE,
    UNSUPPORTED,
    Backend,
    Build,
    Cell,
    Device,
    Example,
    Measured,
    Outcome,
    base,
)
from kbench.selection import examples, variants

ASKED_FOR = ": "  # between a dataset and what an example's settings ask for


@dataclass(frozen=True)
class Plan:
    """The cells of a run in the order in which they run."""

    request: Request
    devices: tuple[Device, ...]
    tasks: tuple[CellTask, ...]
    impossible: Mapping[str, Outcome]  # of cells that cannot run, by id
    backends: tuple[Backend, ...]
    examples: tuple[Example, ...]
    frameworks: frozenset[str] = frozenset()  # the packages of all backends of Keras
    data: Mapping[str, Origin] = field(default_factory=dict)  # by `dataset`, of published ones, once it is chosen
    gpus: tuple[Device, ...] = ()  # all of this machine

    def dataset(self, task: CellTask) -> str:
        """The name of the task's data; where its settings say whether real or synthetic, with that."""
        name = next(one.data for one in self.examples if one.name == task.example)
        return f"{name}{ASKED_FOR}{task.source}" if task.source else name

    def to_measure(self) -> tuple[CellTask, ...]:
        """The tasks without a verdict."""
        return tuple(task for task in self.tasks if task.id not in self.impossible)

    def in_turns(self) -> bool:
        """Whether cells that are ranked together run side by side, where their device allows it."""
        return any(task.takes_turns for task in self.to_measure()) and self.request.interleave == "on"

    def environments(self) -> list[tuple[Backend, Build]]:
        """The backends and builds that the cells need, each once."""
        needed = {(task.backend, task.build): None for task in self.to_measure()}
        builds = {(one.name, build.name): (one, build) for one in self.backends for build in one.builds}
        return [builds[names] for names in needed]


def make_plan(
    request: Request,
    known: Mapping[str, Backend],
    gpus: Sequence[Device],
    task: str = "",
    report: Callable[[str], None] = lambda line: None,
) -> Plan:
    """The plan for a request, from the current files of backends and examples; `task` replaces the examples' own.

    `report` gets a line if versions have to be found first. Raises UserError if a number does not fit an example, or
    if a backend, an example or the device does not exist.
    """
    on = tuple(dict.fromkeys(devices.choose(str(one), gpus) for one in request.on(axes.DEVICE)))
    chosen = tuple(_backend(name, known, on, report) for name in request.backends)
    _check_different(request.backends)
    loaded = tuple(example_loader(request)(paths.with_home(path)) for path in request.examples)
    if request.augment and not any(example.augmentation for example in loaded):
        raise UserError("--augment: none of the chosen examples says how its images are augmented.")
    if request.seed_of(request.repeats) > LAST_SEED:
        raise UserError(
            f"--seeds different: {request.repeats} seeds from {request.seed} on go beyond {LAST_SEED:,}; "
            "choose a smaller --seed."
        )
    tasks, impossible = [], {}
    passed = {name: start_of_sha256(value) for name, value in request.passed().items()}
    for example in loaded:
        for made, verdict in _of_example(example, request, chosen, on, task, passed, gpus):
            tasks.append(made)
            if verdict is not None:
                impossible[made.id] = verdict
    frameworks = frozenset(backend.imported[1] for backend in known.values() if backend.keras_backend)
    return Plan(request, on, tuple(tasks), impossible, chosen, loaded, frameworks, gpus=tuple(gpus))


def cells_of(request: Request, example: Example, known: Mapping[str, Backend], on: Sequence[Device]) -> list[Cell]:
    """Those of the example in a plan for the request, on whatever machine it is made: no version is looked up.

    Raises UserError.
    """
    backends = [_named(name, known) for name in request.backends]
    return [task.cell for task, _ in _of_example(example, request, backends, on, "", {}, ())]


def _of_example(
    example: Example,
    request: Request,
    backends: Sequence[Backend],
    on: Sequence[Device],
    task: str,
    passed: Mapping[str, str],
    gpus: Sequence[Device],
) -> Iterator[tuple[CellTask, Outcome | None]]:
    """The cells of an example in their order, and the outcome of those that cannot run: whole ones by repeat, then
    those that only time some steps. Raises UserError.
    """
    found = [
        row
        for one in ((task,) if task else request.tasks_of(example))
        for row in rows.of_example(example, one, backends, on, request, passed, gpus)
    ]
    repeats = {one.row_id: rows.repeats(one, request) for one, _ in found}
    for repeat in sorted(set[int]().union(*repeats.values())):
        now = [one for one in found if repeat in repeats[one[0].row_id]]
        for together in axes.group_by_point(now, lambda one: one[0].key, axes.ranked()).values():
            for one, verdict in _rotated(together, backends, repeat - 1):
                yield replace(one, repeat=repeat, seed=request.seed_of(repeat)), verdict
    for one, _ in found:
        for repeat, number in request.short.get(one.row_id, ()):
            yield replace(one, repeat=repeat, timing=number), None


def example_loader(request: Request) -> Callable[[Path], Example]:
    """Reads a file of the request: an example or, of `script`, a program."""
    return partial(hooks.programs().load, module=request.script.module) if request.script else examples.load


def _backend(name: str, known: Mapping[str, Backend], on: Sequence[Device], report: Callable[[str], None]) -> Backend:
    """The backend or variant, with the lock files for these devices."""
    found = _named(name, known)
    for kind in dict.fromkeys(device.kind for device in on):
        found = locks.locked(found, kind, report)
    return found


def _named(name: str, known: Mapping[str, Backend]) -> Backend:
    """The backend or variant. Raises UserError."""
    backend = known.get(base(name))
    if backend is None:
        raise UserError(f"There is no backend {name} any more: start a new run without it.")
    return variants.parse_name(name, backend)


def _check_different(names: Sequence[str]) -> None:
    """Raises UserError if two names mean the same: settings in another order."""
    found: dict[axes.Point, str] = {}
    for name in names:
        if (other := found.setdefault(axes.point({}, name), name)) != name:
            raise UserError(f"{other} and {name} are the same: leave one out.")


def is_acceptable(
    named_backends: Collection[str], named_examples: Collection[str], measured: Iterable[Measured]
) -> bool:
    """Whether a run counts as ok: each cell is ok, or cannot be measured here and was not named by the user.

    `unavailable` counts as a failure if the backend was named, `unsupported` if backend and example were.
    """

    def fails(cell: Cell, status: str) -> bool:
        named = cell.backend in named_backends and (status == UNAVAILABLE or cell.example in named_examples)
        return named if status in (UNAVAILABLE, UNSUPPORTED) else status != OK

    return not any(fails(one.cell, one.outcome.status) for one in measured)


def _rotated(
    together: Sequence[tuple[CellTask, Outcome | None]], backends: Sequence[Backend], by: int
) -> list[tuple[CellTask, Outcome | None]]:
    """Each repeat starts with another backend, so that a drift of the machine does not always affect the same one."""
    order = {backend.name: (number - by) % len(backends) for number, backend in enumerate(backends)}
    return sorted(together, key=lambda one: order[one[0].backend])
