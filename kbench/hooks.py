"""The hooks: what a feature may add to kbench.

A feature is a folder in `kbench/features`, or somebody else's package with an entry point in the group
`kbench.features`. Its module (`feature.py` in the folder) has functions with the names of these hooks, marked
`@hooks.fills`; it fills those that it needs. The core calls each hook in one place and knows no feature by name.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, TypeVar

import pluggy

from kbench.errors import UserError

if TYPE_CHECKING:
    from kbench.analysis.row_figures import RowProcesses
    from kbench.analysis.rows import Analysis
    from kbench.cells.launcher import Exit
    from kbench.cells.spec import RunPaths, WorkTerms
    from kbench.planning.plan import Plan
    from kbench.planning.request import Request, Script
    from kbench.planning.settings import Settings
    from kbench.planning.tasks import CellTask
    from kbench.plots.styles import Key, RowStyle, Style
    from kbench.records.findings import FeatureKind, Finding
    from kbench.records.values import Backend, Device, Example, Measured, Outcome
    from kbench.screen.output import Output
    from kbench.session.events import OnEvent
    from kbench.store import CellFolder, GuestReport, RunRecord, RunResults
    from kbench.summary import Figure, Summary
    from kbench.tables.content import Table

T = TypeVar("T")
NAME = "kbench"
GROUP = "kbench.features"  # of entry points
FOLDER = Path(__file__).parent / "features"
_declares = pluggy.HookspecMarker(NAME)
fills = pluggy.HookimplMarker(NAME)


@dataclass(frozen=True)
class Command:
    """A command of the command line."""

    about: str  # what it does, in a sentence: the head of its --help
    listed: str  # the same in a few words, for the list of commands
    module: str  # whose `main(options)` runs it and returns the exit status; imported when it runs
    examples: Path  # the text below its options
    # Names of options in the order of --help: of the core's (kbench/cli/options.py) or of `declared`; @NAME stands
    # for the options of axes in that group; (title, names) is a group.
    options: tuple[str | tuple[str, tuple[str, ...]], ...]
    # Option -> what argparse has to know of it: of options that no other command has, and of what is otherwise here.
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Axis -> its help here, or "" for the usual one: the axes on which it takes one value.
    axes: Mapping[str, str] = field(default_factory=dict)
    several: tuple[str, ...] = ()  # the axes on which it takes several values
    usual: tuple[str, ...] = ()  # the options that --help shows, if not all: --help-all does
    takes_program: bool = False  # whether what follows -- is for the user's program
    after: str = ""  # the command of the core behind which --help lists it; else it is among the last


@dataclass(frozen=True)
class FurtherOptions:
    """Options that a feature adds to the command of another, or of the core."""

    title: str
    options: tuple[str, ...]
    declared: Mapping[str, Mapping[str, Any]]
    usual: tuple[str, ...] = ()  # those that a short --help shows, too
    of_programs: bool = False  # whether they are for a program of the user's
    kept: bool = False  # whether the request keeps them, as `asked`; then Python has them, too
    budget: Mapping[str, float] = field(default_factory=dict)  # option, as in Python -> seconds, the default with it
    # Argument of the command -> further words that it takes.
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Option, as in Python -> what the shell completes it to.
    completions: Mapping[str, Callable[[], list[str]]] = field(default_factory=dict)
    examples: Path | None = None  # a text, below those of the command


@dataclass(frozen=True)
class ChosenExamples:
    """What a feature has measured in place of --examples."""

    examples: tuple[Example, ...]
    named: frozenset[str]  # those that the user named one by one
    settings: Mapping[str, Settings]  # by example
    kept: Mapping[str, Any]  # what the request keeps of it, in `asked`


@dataclass(frozen=True)
class EventKind:
    """A kind of event that a feature's part of the guest writes."""

    struct: Any  # a FeatureEvent (kbench/records/reported.py), tagged with the event's name
    key: Callable[[Any], Hashable] = lambda event: ""  # what tells several of a cell apart; the last of each is kept
    said: Callable[[Any], str] = lambda event: ""  # which one it is, where the key is no word for that
    is_progress: bool = False  # whether they are the progress of a cell, in place of epochs


@dataclass(frozen=True)
class GuestDriver:
    """What does a cell in a backend's process, in place of the core's own driver."""

    feature: str  # whose guest has it
    # With `run(spec, events)`, whose errors the core tells; or with `main(spec, events) -> exit status`, which tells
    # its own, and its end.
    module: str


class Engine:
    """What lets several workers of a cell train one model."""

    feature = ""  # whose guest has it
    module = ""  # with `started(framework, spec)`, which returns this process's Workers of frameworks/workers.py

    def of_row(
        self, row: CellTask, backend: Backend, device: Device, gpus: Sequence[Device], apart: bool
    ) -> tuple[str, str]:
        """(what the workers are, as `CellTask.engine` has it; why they cannot train together, or nothing).

        gpus: all of this machine. apart: each is on a machine of its own.
        """
        raise NotImplementedError

    def outcome(
        self,
        first: Outcome,
        ended: Exit,
        reports: Sequence[GuestReport],
        task: CellTask,
        files: Sequence[CellFolder],
        rank: int,
    ) -> Outcome:
        """The outcome of a cell of several processes that did not end well: which of them is why.

        first: as the first one on this machine tells it, whose number is rank.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class InPlace:
    """What is measured in place of an example's file."""

    file: Path  # which the feature's driver is given
    sha256: str
    constants: Mapping[str, object]  # of the example, which the driver is given, too


@dataclass(frozen=True)
class ProgramPart:
    """What a feature does in the process of a user's program, once the program has imported Keras."""

    feature: str
    driver: str  # a module of its guest, with `begin(keras)`, which returns what has a `note()` for the end
    asked: bool  # whether it was asked for
    served: str = ""  # a regular expression: errors of a program that it may help, if it was not asked for
    advice: str = ""  # and what is said then


@dataclass(frozen=True)
class Column:
    """A figure of rows: a column of summary.csv and JSON and, where its `figure` says so, of tables."""

    name: str  # in summary.csv
    after: str  # the field of Summary, or another such column, that it follows there; it is last if that is missing
    # Of a row (kbench/analysis/row_figures.py); None where it has none. Rows that failed are asked, too.
    value: Callable[[RowProcesses], float | None]
    figure: Figure  # how tables show it, of kbench.summary: title, unit, shown, digits, left_out
    whole: bool = False  # whether its numbers are
    of_examples: str = ""  # its heading in the table of examples of a run's configuration; empty: it is not there
    about: str = ""  # what it is, said once on a page whose rows have it
    remark: Callable[[Sequence[Summary]], str] = lambda rows: ""  # on it, below the table of these rows


@dataclass(frozen=True)
class WorkCheck:
    """Whether cells did the work that they should, where only a feature knows what that is."""

    kind: FeatureKind  # of its findings
    differences: Callable[[Sequence[Measured]], Sequence[tuple[Measured, Finding]]]  # the cells that did other work
    sentence: Callable[[Finding], str]  # of such a finding, as in kbench/words/sentences.py
    explained: Callable[[Measured, Finding], Finding]  # how a cell's epoch differs, with the reason if it knows that


@dataclass(frozen=True)
class EndedRun:
    """A run whose cells have all ended, with what it takes to measure more."""

    plan: Plan
    run_paths: RunPaths
    measured: Sequence[Measured]
    run_cells: Callable[[Plan, RunPaths], object]
    on_event: OnEvent


@dataclass(frozen=True)
class Section:
    """Tables under a heading of their own, on the pages of a run."""

    heading: str  # without one, each table has its own
    tables: Sequence[Table]
    lead: str = ""  # a sentence below the heading, in summary.md
    hint: str = ""  # and in report.html
    contents: str = ""  # the heading in report.html's list of contents
    folded: bool = False  # whether report.html opens a table only on demand
    in_summary: bool = True  # whether summary.md has it
    in_report: bool = True  # whether report.html has it
    on_screen: Sequence[Table] = ()  # what the screen shows of it


@dataclass(frozen=True)
class ReferenceLine:
    """A line in the plot of an example's validation accuracy."""

    value: float
    ends: tuple[float, float]  # of a band around it
    in_words: str


@dataclass(frozen=True)
class Told:
    """What a feature tells of a run."""

    answers: Sequence[str] = ()  # sentences above the tables: to what the user asked of it
    remarks: Sequence[str] = ()  # sentences below the tables
    tables: Sequence[Table] = ()
    sections: Sequence[Section] = ()
    references: Mapping[str, ReferenceLine] = field(default_factory=dict)  # by example


@dataclass(frozen=True)
class Plot:
    """A plot of a whole run."""

    stem: str  # of its files in the run's folder plots/
    draw: Callable[[Sequence[Summary], Mapping[Key, RowStyle], Style], Mapping[str, bytes]]  # by format; or nothing


class RunKind:
    """A kind of run other than those that time something: what `run.json` calls it, and how it is read."""

    name = ""
    file = ""  # in the run's folder, which has all of its results
    is_resumed = False  # whether `resume` continues it

    def counted(self, read: RunResults) -> str:
        """What came of it in a few words, for `list runs`."""
        raise NotImplementedError

    def report(self, read: RunResults, wanted: Output) -> int:
        """Write its files again and print its tables. Returns the exit status."""
        raise NotImplementedError

    def resume(self, run: Path, options: argparse.Namespace) -> int:
        """Continue it. Returns the exit status. Raises UserError."""
        raise NotImplementedError


class Programs:
    """How a user's own program is named and read, and what its process is given. Its cells are made by the core."""

    def asked(self, options: Mapping[str, Any], known: Mapping[str, Backend]) -> tuple[Example, Script]:
        """The program that a command's options name, and how it is run. Raises UserError."""
        raise NotImplementedError

    def load(self, file: Path, module: str) -> Example:
        """The program in this file, run as `module` if that is not empty. Raises UserError."""
        raise NotImplementedError

    def with_secrets(
        self,
        asked: Request,
        given: tuple[Sequence[str], Sequence[str]],
        known: Mapping[str, Backend],
        run: Path,
    ) -> Request:
        """The request of a run with its secrets, which are not kept and have been given again: arguments, packages.

        Raises UserError.
        """
        raise NotImplementedError

    def cells(self, file: Path) -> tuple[str, ...]:
        """The code of a notebook, cell by cell; empty for any other program. Raises UserError."""
        raise NotImplementedError

    def text(self, file: Path, module: str) -> str:
        """Its text, and that of the files that are its own."""
        raise NotImplementedError

    def check(self, request: Request, results: Path) -> None:
        """Raises UserError if it cannot be run from where it is; `results` is no part of it."""
        raise NotImplementedError

    def input(self, on_event: OnEvent) -> AbstractContextManager[IO[bytes] | None]:
        """A context with what each cell reads from its standard input; None if there is nothing. Raises UserError."""
        raise NotImplementedError

    def work(self, task: CellTask, run_paths: RunPaths, files: CellFolder) -> AbstractContextManager[WorkTerms]:
        """A context with its files as a cell may use them, and what its process is given. Raises OSError."""
        raise NotImplementedError

    def where(self, task: CellTask, run_paths: RunPaths) -> str:
        """Where a cell runs, to end a sentence about a file that it did not find."""
        raise NotImplementedError


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
    def guest_driver(self, task: CellTask) -> GuestDriver | None:
        """What does the cell in a backend's process; None to leave it to the core, which runs an example."""

    @_declares(firstresult=True)
    def engine(self, task: CellTask) -> Engine | None:
        """What lets the workers of the cell train one model; None of a cell that has one."""

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
    def events(self) -> Sequence[EventKind]:  # type: ignore[empty-body]
        """Events of its part of the guest. They are kept in `Facts.of`, by the event's name and their key."""

    @_declares
    def program_part(self, asked: Mapping[str, Any]) -> ProgramPart:  # type: ignore[empty-body]
        """What it does in the process of a user's program; asked: what features were asked for, by option."""

    @_declares
    def columns(self) -> Sequence[Column]:  # type: ignore[empty-body]
        """Figures of rows, found from their processes. Files, tables, `--columns` and `--sort` have them by name."""

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


def guest_driver(task: CellTask) -> GuestDriver | None:
    """The feature's driver that does the cell; None if the core's does."""
    driver: GuestDriver | None = plugins().hook.guest_driver(task=task)
    return driver


def engine(task: CellTask) -> Engine | None:
    """What lets the workers of the cell train one model; None if it has one."""
    found: Engine | None = plugins().hook.engine(task=task)
    return found


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
def columns() -> dict[str, Column]:
    """The columns of features, by name."""
    return once(((column.name, column) for of_feature in plugins().hook.columns() for column in of_feature), "column")


@cache
def work_checks() -> dict[str, WorkCheck]:
    """The checks of features, by the kind of their findings."""
    return once(((check.kind, check) for check in plugins().hook.work_check()), "kind of finding")


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
