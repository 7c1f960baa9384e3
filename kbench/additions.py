"""What features may add to kbench: the values that hooks (kbench/hooks.py) give and take."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbench.analysis.row_figures import RowProcesses
    from kbench.analysis.times.ratios import Timed
    from kbench.cells.launcher import Exit
    from kbench.cells.spec import RunPaths, WorkTerms
    from kbench.planning.plan import Plan
    from kbench.planning.request import Request, Script
    from kbench.planning.settings import Settings
    from kbench.planning.tasks import CellTask
    from kbench.plots.styles import Key, RowStyle, Style
    from kbench.records.findings import FeatureKind, Finding
    from kbench.records.values import Backend, Device, Example, Measured, Outcome
    from kbench.records.workloads import Workload
    from kbench.screen.output import Output
    from kbench.session.events import OnEvent
    from kbench.store import CellFolder, GuestReport, RunResults
    from kbench.summary import Figure, Summary
    from kbench.tables.content import Table


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
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # argument -> further words that it takes
    # Option, as in Python -> what the shell completes it to.
    completions: Mapping[str, Callable[[], list[str]]] = field(default_factory=dict)
    examples: Path | None = None  # a text, below those of the command
    says_why: str = ""  # the option of these that finds out why rows differ


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
    key: Callable[[Any], Hashable] = lambda event: ""  # what tells several of a cell apart
    # What is kept of each: of what was kept of it before, None at first, of the event, and of its fields that were
    # written.
    kept: Callable[[Any, Any, Collection[str]], Any] = lambda before, event, written: event
    most: int = 100_000  # of different keys; what comes after them counts as damaged
    said: Callable[[Any], str] | None = None  # which one it is, where the key is no word for that
    is_progress: bool = False  # whether they are the progress of a cell, in place of epochs


@dataclass(frozen=True)
class GuestDriver:
    """What does a cell in a backend's process, in place of the core's own driver."""

    feature: str  # whose guest has it
    # With `run(spec, events)`, whose errors the core tells; or with `main(spec, events) -> exit status`, which tells
    # its own, and its end.
    module: str


class Engine:
    """The processes of a cell, and what lets them train one model. Here: of a cell with one process."""

    feature = ""  # whose guest has it
    module = ""  # with `started(framework, spec)`, which returns this process's Workers of frameworks/workers.py

    def of_row(
        self, row: CellTask, backend: Backend, device: Device, gpus: Sequence[Device], apart: bool
    ) -> tuple[str, str]:
        """(what the workers are, as `CellTask.engine` has it; why they cannot train together, or nothing).

        gpus: all of this machine. apart: each is on a machine of its own.
        """
        return "", ""

    def numbers(self, task: CellTask, run_paths: RunPaths) -> Sequence[int]:
        """Which of the cell's processes run on this machine: they have numbers from 0 on."""
        return [0]

    def workers_in_each(self, task: CellTask) -> int:
        """How many workers are in a process."""
        return 1

    def addresses(self, task: CellTask, run_paths: RunPaths) -> Sequence[str]:
        """Where they find each other."""
        return []

    def devices(self, task: CellTask, run_paths: RunPaths, number: int) -> Sequence[Device]:
        """Those that this process of the cell sees."""
        return [run_paths.devices[task.device]]

    def told(self, task: CellTask, run_paths: RunPaths, number: int, addresses: Sequence[str]) -> Mapping[str, Any]:
        """What this process is told of the others, in its spec as `workers`."""
        return {}

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
        return first


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
    on_error: str = ""  # a module of its guest with `tell(error, events)`, imported once a program or example fails


@dataclass(frozen=True)
class Comparison:
    """What rows are compared with, beside the fastest, a baseline and their backend without settings."""

    kind: str  # of its ratios, in `Summary.ratios`
    # From a run's backends, as its plan has them: how well the second row suits the first as its reference; 0 is not
    # at all. See `compare` in kbench/analysis/times/ratios.py.
    suits: Callable[[Mapping[str, Mapping[str, object]]], Callable[[Timed, Timed], int]]
    along: tuple[str, ...] = ()  # the axes on which the two may differ; empty: those along which rows are ranked
    heading: str = ""  # of its column in the tables of examples; empty: it has none
    # Where the kind is also a group of backends, which --baseline takes: what each row is compared with then.
    baseline: str = ""
    # Its ratios among these rows in sentences, which stand for what is gained along its first axis.
    in_words: Callable[[Sequence[Summary]], Sequence[str]] = lambda rows: ()


@dataclass(frozen=True)
class Column:
    """A figure of rows: a column of summary.csv and JSON and, where its `figure` says so, of tables."""

    name: str  # in summary.csv, if its figure names no other
    after: str  # the field of Summary, or another such column, that it follows there; it is last if that is missing
    # Of a row (kbench/analysis/row_figures.py); None where it has none. Rows that failed are asked, too.
    value: Callable[[RowProcesses], float | None] | None
    figure: Figure  # how tables show it, of kbench.summary: title, unit, shown, digits, left_out
    of_compared: Callable[[Summary], Any] | None = None  # in place of `value`: of the row once it has its ratios
    entry: Callable[[Summary], str] | None = None  # as tables show it, if not as a number
    whole: bool = False  # whether its numbers are
    of_examples: str = ""  # its heading in the table of examples of a run's configuration; empty: it is not there
    about: str = ""  # what it is, said once on a page whose rows have it
    # On it, below the table of these rows; on the whole table, if it has no title.
    remark: Callable[[Sequence[Summary]], str] = lambda rows: ""


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding that only a feature knows."""

    name: FeatureKind
    sentence: Callable[[Finding], str]  # as in kbench/words/sentences.py
    differs: bool = False  # whether rows that have one are not compared with others
    is_note: bool = True  # whether it stands beside a row
    in_status: str = ""  # what tables add to the status of such a row, as they say above what it is


@dataclass(frozen=True)
class WorkCheck:
    """Whether cells did the work that they should, where only a feature knows what that is."""

    differences: Callable[[Sequence[Measured]], Sequence[tuple[Measured, Finding]]]  # the cells that did other work
    # How a cell's epoch differs, with the reason if it knows that.
    explained: Callable[[Measured, Finding], Finding] = lambda cell, finding: finding


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


TableColumns = Mapping[str, "Callable[[Summary], str]"]  # by their headings, what they say of a row


class WorkKind:
    """A kind of work that is observed as it is: how its cells become rows, and what is said of these.

    As it is here, which is without its feature: each cell is a row that has no times. Rows are those of one table, if
    nothing else is said; none of them is empty.
    """

    task = ""  # what is done in its cells
    parts = "rows"  # what its rows are of
    workloads: Mapping[str, Workload] = {}  # of its rows, by what their times are of (`unit`)

    def row_cells(self, measured: Sequence[Measured], request: Mapping[str, object]) -> Sequence[Measured]:
        """These cells as rows have them: of each a part for each of its rows. request: that of their run."""
        return [replace(one, epochs=()) for one in measured]

    def row(self, processes: RowProcesses, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields of the Summary of these processes; given as they would be of an example."""
        return fields

    def compared(self, rows: Sequence[Summary], row_cells: Sequence[Measured]) -> Sequence[Summary]:
        """The rows of all tables, which are ranked, with what else follows from their cells."""
        return rows

    def on_screen(self, rows: Sequence[Summary], of_run: Sequence[Summary]) -> bool:
        """Whether their table is shown on the screen, too, beside those of the run's other rows."""
        return True

    def under_way(self, site: str) -> Workload:
        """What a cell does there: `site` of its epochs."""
        raise NotImplementedError

    def heading(self, rows: Sequence[Summary]) -> str:
        """Of their table."""
        return rows[0].example

    def columns(self, rows: Sequence[Summary]) -> TableColumns:
        """Those of their table between what tells rows apart and the status."""
        return {}

    def optional(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Those of them that a narrow page leaves out, in this order."""
        return ()

    def remarks(self, rows: Sequence[Summary]) -> Mapping[str, Sequence[str]]:
        """Remarks below the table, and the columns that each explains; ("",) is the table as a whole."""
        return {}

    def above_tables(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Sentences above all tables, on the rows of all of them."""
        names = dict.fromkeys(row.program for row in rows)
        return [f"{name}: this kbench does not have the feature that tells of it." for name in names]

    def before_answer(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Sentences that begin the answer: to what the user asked."""
        return ()

    def after_ranking(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Sentences behind those on who is fastest; of the rows of a device that are compared, fastest first."""
        return ()

    def after_answer(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Sentences that end the answer."""
        return ()
