"""The hooks: what a feature may add to kbench.

A feature is a folder in `kbench/features`, or somebody else's package with an entry point in the group
`kbench.features`. Its module (`feature.py` in the folder) has functions with the names of these hooks, marked
`@hooks.fills`; it fills those that it needs. The core calls each hook in one place and knows no feature by name.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from kbench.additions import (
    ChosenExamples,
    Column,
    Command,
    Comparison,
    EndedRun,
    Engine,
    EventKind,
    FindingKind,
    FurtherOptions,
    GuestDriver,
    InPlace,
    Plot,
    ProgramPart,
    Programs,
    RunKind,
    Told,
    WorkCheck,
    WorkKind,
)
from kbench.errors import UserError

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis
    from kbench.commands.finding import DoctorFinding
    from kbench.planning.plan import Plan
    from kbench.planning.request import Request
    from kbench.planning.tasks import CellTask
    from kbench.records.axes import Axis
    from kbench.records.values import Backend, Build, Device, Environment, Example
    from kbench.records.workloads import Workload
    from kbench.store import RunRecord, RunResults

T = TypeVar("T")
NAME = "kbench"
GROUP = "kbench.features"  # of entry points
FOLDER = Path(__file__).parent / "features"
_declares = pluggy.HookspecMarker(NAME)
fills = pluggy.HookimplMarker(NAME)


class Hooks:
    """The hooks themselves."""

    @_declares
    def commands(self) -> Mapping[str, Command]:  # type: ignore[empty-body]
        """Commands by their names. `--help`, completion and the documentation have them, too."""

    @_declares
    def further_options(self) -> Mapping[str, FurtherOptions]:  # type: ignore[empty-body]
        """Options of other commands, by the command. Their feature fills `instead`, too, which sees them."""

    @_declares(firstresult=True)
    def instead(self, options: argparse.Namespace) -> int | None:
        """Run a command otherwise than its own module does, and return the exit status; None to leave it to that."""

    @_declares(firstresult=True)
    def chosen_examples(self, options: Mapping[str, Any], devices: Sequence[Device]) -> ChosenExamples | None:
        """What to measure in place of --examples, by an option of its own; None if that is not given."""

    @_declares
    def planned(self, request: Request) -> Sequence[str]:  # type: ignore[empty-body]
        """Lines of the plan that a run begins with. Each is `  WORD       what it is`."""

    @_declares
    def planned_work(self, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """More such lines, further below: on how its cells are measured."""

    @_declares(firstresult=True)
    def add_packages(self, backend: Backend, build: Build, folder: Path, log: Path) -> bool | None:
        """Add to a backend's new environment what no package index has; None if it cannot. Raises InstallFailed."""

    @_declares(firstresult=True)
    def changed_files(self, folder: Path, thorough: bool) -> Sequence[str]:  # type: ignore[empty-body]
        """The files of an environment that are not as its packages brought them; thorough: it reads them all."""

    @_declares(firstresult=True)
    def with_packages(
        self, environment: Environment, request: Request, report: Callable[[str], None]
    ) -> Environment | None:
        """A backend's environment with what the request adds to it; None for nothing. Raises Unavailable."""

    @_declares
    def tools(self) -> Sequence[DoctorFinding]:  # type: ignore[empty-body]
        """What `doctor` says of the programs that it uses."""

    @_declares(firstresult=True)
    def guest_driver(self, task: CellTask) -> GuestDriver | None:
        """What does the cell in a backend's process; None to leave it to the core, which runs an example."""

    @_declares(firstresult=True)
    def engine(self, task: CellTask) -> Engine | None:
        """The processes of the cell, and what lets its workers train one model; None of a cell that has one."""

    @_declares(firstresult=True)
    def in_place(
        self, task: CellTask, example: Example, backend: Backend, device: Device, backends: Sequence[Backend]
    ) -> InPlace | None:
        """What the cell measures in place of the example's file; None to leave it at that. backends: of the run.

        Raises Unsupported if it cannot be measured.
        """

    @_declares(firstresult=True)
    def programs(self) -> Programs | None:
        """How users' own programs are run."""

    @_declares
    def work_kinds(self) -> Sequence[WorkKind]:  # type: ignore[empty-body]
        """Kinds of work that are observed as they are: how their cells become rows, and what is said of these."""

    @_declares
    def events(self) -> Sequence[EventKind]:  # type: ignore[empty-body]
        """Events of its part of the guest. They are kept in `Facts.of`, by the event's name and their key."""

    @_declares
    def program_part(self, asked: Mapping[str, Any]) -> ProgramPart:  # type: ignore[empty-body]
        """What it does in the process of a user's program; asked: what features were asked for, by option."""

    @_declares
    def columns(self) -> Sequence[Column]:  # type: ignore[empty-body]
        """Figures of rows, found from their processes. Files, tables and `--columns` have them by name."""

    @_declares
    def finding_kinds(self) -> Sequence[FindingKind]:  # type: ignore[empty-body]
        """Kinds of findings of its own: their sentences, and whether rows that have one are compared."""

    @_declares
    def axes(self) -> Sequence[Axis]:  # type: ignore[empty-body]
        """What can vary between measurements, and how it is asked for. See kbench/records/axes.py."""

    @_declares
    def comparisons(self) -> Sequence[Comparison]:  # type: ignore[empty-body]
        """What rows are compared with: each kind is a ratio of every row that has such a reference."""

    @_declares
    def work_check(self) -> WorkCheck:  # type: ignore[empty-body]
        """Whether cells did the work that they should. Those that did not are not compared."""

    @_declares
    def of_machine(self, plan: Plan, earlier: Mapping[str, Any]) -> Mapping[str, Any]:  # type: ignore[empty-body]
        """What it measures of the machine as a run begins and as it ends. earlier: what is kept of an earlier end."""

    @_declares
    def machine_shown(self, provenance: Mapping[str, Any]) -> Mapping[str, str]:  # type: ignore[empty-body]
        """What a run's configuration says of it, by the heads of its lines. Lines without text are left out."""

    @_declares
    def after_measuring(self, run: EndedRun) -> None:
        """Measure more once all cells of a run have ended, in folders below its own. A resumed run calls it again."""

    @_declares
    def left_to_measure(self, plan: Plan, results: RunResults) -> str:  # type: ignore[empty-body]
        """What `after_measuring` still has to do in a run, in words; empty if nothing. `resume` goes on with it."""

    @_declares
    def told(self, analysis: Analysis) -> Told:  # type: ignore[empty-body]
        """What is said of a run, and tables and sections beside its own. Screen, pages and JSON show them."""

    @_declares
    def plots(self) -> Sequence[Plot]:  # type: ignore[empty-body]
        """Plots beside those of the whole run, which summary.md shows."""

    @_declares
    def run_kinds(self) -> Sequence[RunKind]:  # type: ignore[empty-body]
        """Kinds of runs that time nothing. `report`, `resume` and `list runs` hand such a run on to them."""


@cache
def plugins() -> pluggy.PluginManager:
    """All features, each under its name. Raises UserError if one cannot be loaded."""
    manager = pluggy.PluginManager(NAME)
    manager.add_hookspecs(Hooks)
    try:
        for folder in pkgutil.iter_modules([str(FOLDER)]):
            manager.register(importlib.import_module(f"kbench.features.{folder.name}.feature"), folder.name)
        manager.load_setuptools_entrypoints(GROUP)
        manager.check_pending()  # that all functions so marked are hooks
    except Exception as error:  # whatever the code of others raises
        raise UserError(f"A feature cannot be loaded: {error!r}.") from error
    return manager


def once(pairs: Iterable[tuple[str, T]], what: str, core: Collection[str] = ()) -> dict[str, T]:
    """What features add, by name. Raises UserError if two have one name, or if the core has it."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if name in found or name in core:
            raise UserError(f"Two features, or one and the core, have the {what} {name!r}: rename one.")
        found[name] = value
    return found


def of_features() -> dict[str, str]:
    """Each feature with the first line of its docstring."""
    found = ((name, module) for name, module in plugins().list_name_plugin() if isinstance(module, ModuleType))
    return {name: (module.__doc__ or "").strip().partition("\n")[0] for name, module in sorted(found)}


def guest_folder(feature: str) -> Path:
    """The folder with the feature's part of the guest, from which a cell that asks for it imports its driver."""
    module = plugins().get_plugin(feature)
    return Path(str(getattr(module, "__file__", ""))).parent / "guest"


@cache
def commands() -> dict[str, Command]:
    """The commands of all features, in alphabetical order."""
    pairs = (pair for of_feature in plugins().hook.commands() for pair in of_feature.items())
    return dict(sorted(once(pairs, "command").items()))


@cache
def further_options(command: str) -> tuple[FurtherOptions, ...]:
    """What features add to this command's options."""
    return tuple(by_command[command] for by_command in plugins().hook.further_options() if command in by_command)


def instead(options: argparse.Namespace) -> int | None:
    """The exit status of the feature that ran this command; None if none did."""
    status: int | None = plugins().hook.instead(options=options)
    return status


@cache
def event_kinds() -> dict[str, EventKind]:
    """The events of features, by name."""
    kinds = (kind for of_feature in plugins().hook.events() for kind in of_feature)
    return {str(kind.struct.__struct_config__.tag): kind for kind in kinds}


@cache
def counted_events() -> tuple[bytes, ...]:
    """How a line with an event begins that is the progress of a cell."""
    return tuple(f'"event": "{name}"'.encode() for name, kind in event_kinds().items() if kind.is_progress)


def chosen_examples(options: Mapping[str, Any], devices: Sequence[Device]) -> ChosenExamples | None:
    """What a feature has measured in place of --examples. Raises UserError."""
    chosen: ChosenExamples | None = plugins().hook.chosen_examples(options=options, devices=devices)
    return chosen


def planned(request: Request) -> list[str]:
    """What features say in a run's plan."""
    return [line for lines in plugins().hook.planned(request=request) for line in lines]


def planned_work(plan: Plan) -> list[str]:
    """And on how its cells are measured."""
    return [line for lines in plugins().hook.planned_work(plan=plan) for line in lines]


def add_packages(backend: Backend, build: Build, folder: Path, log: Path) -> bool:
    """Whether a feature has added what no package index has. Raises InstallFailed."""
    return bool(plugins().hook.add_packages(backend=backend, build=build, folder=folder, log=log))


def changed_files(folder: Path, thorough: bool = False) -> Sequence[str]:
    """The files of an environment that are not as its packages brought them, in site-packages."""
    return plugins().hook.changed_files(folder=folder, thorough=thorough) or ()


def with_packages(environment: Environment, request: Request, report: Callable[[str], None]) -> Environment:
    """The environment with what the request adds to it. Raises Unavailable."""
    return plugins().hook.with_packages(environment=environment, request=request, report=report) or environment


def tools() -> list[DoctorFinding]:
    """What `doctor` says of the programs that features use."""
    return [finding for of_feature in plugins().hook.tools() for finding in of_feature]


def guest_driver(task: CellTask) -> GuestDriver | None:
    """The feature's driver that does the cell; None if the core's does."""
    driver: GuestDriver | None = plugins().hook.guest_driver(task=task)
    return driver


def engine(task: CellTask) -> Engine:
    """The processes of the cell, and what lets its workers train one model."""
    of_feature: Engine | None = plugins().hook.engine(task=task)
    return of_feature or Engine()


def in_place(
    task: CellTask, example: Example, backend: Backend, device: Device, backends: Sequence[Backend]
) -> InPlace | None:
    """What the cell measures in place of the example's file; None if that. Raises Unsupported."""
    hook = plugins().hook.in_place
    found: InPlace | None = hook(task=task, example=example, backend=backend, device=device, backends=backends)
    return found


@cache
def programs() -> Programs:
    """How users' own programs are run. Raises UserError if no feature here does."""
    found: Programs | None = plugins().hook.programs()
    if found is None:
        raise UserError("This kbench does not have the feature that runs programs.")
    return found


def program_parts(asked: Mapping[str, Any]) -> Sequence[ProgramPart]:
    """What features do in the process of a user's program."""
    parts: list[ProgramPart] = plugins().hook.program_part(asked=asked)
    return parts


@cache
def _work_kinds() -> dict[str, WorkKind]:
    kinds = (kind for several in plugins().hook.work_kinds() for kind in several)
    return once(((kind.task, kind) for kind in kinds), "kind of work")


def work_kind(task: str) -> WorkKind:
    """The kind of work that is done for this task; without its feature one that is told as a whole."""
    return _work_kinds().get(task) or WorkKind()


@cache
def workloads() -> dict[str, Workload]:
    """What the rows of these kinds do, by what their times are of."""
    return once((pair for kind in _work_kinds().values() for pair in kind.workloads.items()), "unit of times")


@cache
def columns() -> dict[str, Column]:
    """The columns of features, by name."""
    return once(((column.name, column) for of_feature in plugins().hook.columns() for column in of_feature), "column")


@cache
def finding_kinds() -> dict[str, FindingKind]:
    """The kinds of findings of features, by name."""
    kinds = (kind for several in plugins().hook.finding_kinds() for kind in several)
    return once(((kind.name, kind) for kind in kinds), "kind of finding")


@cache
def axes() -> Sequence[Axis]:
    """The axes of features."""
    return [*once(((one.name, one) for of_feature in plugins().hook.axes() for one in of_feature), "axis").values()]


@cache
def comparisons() -> dict[str, Comparison]:
    """What features compare rows with, by its kind."""
    return once(((one.kind, one) for of_feature in plugins().hook.comparisons() for one in of_feature), "comparison")


@cache
def work_checks() -> Sequence[WorkCheck]:
    """The checks of features."""
    return tuple(plugins().hook.work_check())


def of_machine(plan: Plan, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """What features measure of the machine."""
    found = plugins().hook.of_machine(plan=plan, earlier=earlier)
    return {name: value for one in found for name, value in one.items()}


def machine_shown(provenance: Mapping[str, Any]) -> dict[str, str]:
    """What a run's configuration says of that."""
    found = plugins().hook.machine_shown(provenance=provenance)
    return {name: text for one in found for name, text in one.items()}


def after_measuring(run: EndedRun) -> None:
    """Have features measure more of a run. Raises as its `run_cells` does."""
    plugins().hook.after_measuring(run=run)


def left_to_measure(plan: Plan, results: RunResults) -> str:
    """What features still have to measure of a run, in words."""
    return " and ".join(filter(None, plugins().hook.left_to_measure(plan=plan, results=results)))


def told(analysis: Analysis) -> Sequence[Told]:
    """What features tell of a run."""
    found: list[Told] = plugins().hook.told(analysis=analysis)
    return found


@cache
def plots() -> Sequence[Plot]:
    """The plots of features."""
    return [one for several in plugins().hook.plots() for one in several]


@cache
def run_kinds() -> dict[str, RunKind]:
    """The kinds of runs by their names."""
    return {one.name: one for several in plugins().hook.run_kinds() for one in several}


def kind_of(record: RunRecord) -> RunKind | None:
    """The kind of a run that times nothing; None of others. Raises UserError if no feature here knows it."""
    name = record.plan.get("kind")
    if name is None:
        return None
    if name not in run_kinds():
        raise UserError(f"{record.folder} is a {name} run, and this kbench does not have that feature.")
    return run_kinds()[name]
