"""A run and the rows of its tables, each derived once from what the store gives back, and which are still open.

Racing (Maron & Moore 1994; Birattari et al. 2002): a decided row needs no more of the machine's time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_
from pathlib import Path

from kbench import store
from kbench.additions import WorkKind
from kbench.analysis import summaries
from kbench.analysis.learning import final_scores, no_progress, unlike_others
from kbench.analysis.times import intervals, row_times, spreads
from kbench.analysis.times.processes import Process
from kbench.analysis.times.ratios import Timed, ranked, verdict
from kbench.analysis.times.spreads import Priors
from kbench.records import workloads
from kbench.records.axes import Point
from kbench.records.values import (
    AS_FAST,
    BASELINE,
    FASTEST,
    NO_DIFFERENCE,
    NOT_COMPARED,
    PRECISION,
    Measured,
)
from kbench.store.reading import RunRecord, RunResults, objects
from kbench.store.runs import MACHINES
from kbench.summary import TO_BASELINE, TO_FASTEST, Summary


@dataclass(frozen=True, eq=False)
class ExampleAnalysis:
    """What follows from the cells of one example: those of two are never compared."""

    record: RunRecord  # of its run
    baseline: str
    measured: Sequence[Measured]
    short: Sequence[Measured]

    @property
    def kind(self) -> WorkKind | None:
        """What makes its rows, if its work is observed."""
        return workloads.workload_for(self.measured[0].facts.task).told_by if self.measured else None

    @cached_property
    def row_cells(self) -> Sequence[Measured]:
        """Its cells as rows have them: each, or where work is observed a part of it for each row."""
        return self.kind.row_cells(self.measured, self.record.request) if self.kind else self.measured

    @cached_property
    def timed(self) -> Sequence[Timed]:
        """Its rows with their times, those of one table fastest first, not yet compared."""
        return summaries.timed(self.row_cells, self.record.provenance, self.short, priors(self.record))

    @cached_property
    def rows(self) -> Sequence[Summary]:
        """Its rows, compared, in the same order."""
        run, asked = self.record, self.record.request.get("precision")
        found = ranked(
            self.timed,
            self.baseline or run.baseline,
            intervals.INTERIM_CONFIDENCE if run.adds_processes else intervals.CONFIDENCE,
            run.backends,
            asked if isinstance(asked, int | float) else PRECISION,
        )
        for noted in (unlike_others.add_notes, no_progress.add_notes, final_scores.add_notes):
            found = noted(found, self.row_cells)
        return self.kind.compared(found, self.row_cells) if self.kind else found

    def is_of(self, other: ExampleAnalysis) -> bool:
        """Whether another one would come to the same: of the same cells, read once, and compared in the same way."""
        mine, its = (*self.measured, None, *self.short), (*other.measured, None, *other.short)
        alike = len(mine) == len(its) and all(map(is_, mine, its))
        return alike and _compared_by(self.record, self.baseline) == _compared_by(other.record, other.baseline)


@dataclass(frozen=True, eq=False)
class Analysis:
    """A run and all that follows from its measurements, each thing derived once: when it is first asked for."""

    run: RunResults
    baseline: str = ""  # the full name of a backend to compare with instead of the plan's own
    known: Mapping[str, ExampleAnalysis] = field(default_factory=dict)  # of the same run, when it had fewer cells

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.run.folder

    @cached_property
    def examples(self) -> Mapping[str, ExampleAnalysis]:
        """Each example by its name, in the plan's order. What is known of its cells is taken over."""
        cells: dict[str, tuple[list[Measured], list[Measured]]] = {}
        for one in self.run.measured:
            cells.setdefault(one.cell.example, ([], []))[0].append(one)
        for one in self.run.short:
            cells.setdefault(one.cell.example, ([], []))[1].append(one)
        made = {name: ExampleAnalysis(self.run, self.baseline, *of) for name, of in cells.items()}
        return {name: old if (old := self.known.get(name)) and old.is_of(new) else new for name, new in made.items()}

    @cached_property
    def row_cells(self) -> Sequence[Measured]:
        """The cells in the plan's order, as rows have them: see `ExampleAnalysis`."""
        if not self._observes:
            return self.run.measured
        return [cell for example in self.examples.values() for cell in example.row_cells]

    @property
    def _observes(self) -> bool:
        return any(example.kind for example in self.examples.values())

    @cached_property
    def timed(self) -> Sequence[Timed]:
        """The rows of the run's tables with their times, not yet compared with each other."""
        return [row for example in self.examples.values() for row in example.timed]

    @cached_property
    def rows(self) -> Sequence[Summary]:
        """The rows of the run's tables, compared with the fastest and with the baseline."""
        return [row for example in self.examples.values() for row in example.rows]

    @cached_property
    def processes(self) -> Mapping[str, Process]:
        """Those that a row's time is made of, by their cells' ids; none where a cell has several rows."""
        measured = () if self._observes else self.run.measured
        return row_times.of_processes(measured, self.run.short, priors(self.run) or spreads.shipped())

    @cached_property
    def explained_by(self) -> Mapping[str, Analysis]:
        """The runs that explain this one, by what was changed."""
        return {folder.name: Analysis(store.read(folder)) for folder in store.parts(self.run.raw_folder)}


def summarised(run: RunResults, baseline: str = "") -> Sequence[Summary]:
    """The rows of the run's tables alone."""
    return Analysis(run, baseline).rows


def _compared_by(run: RunRecord, baseline: str) -> tuple[object, ...]:
    """What the rows of its examples depend on, beside their cells."""
    return baseline, run.baseline, run.request.get("precision"), run.backends, run.provenance


def priors(run: RunRecord) -> Priors | None:
    """How much processes differ, as was known when the run was made; None if it does not say."""
    kept = run.provenance.get("process_spreads")
    return spreads.from_record(kept) if isinstance(kept, list) else None


def tuned(run: RunRecord) -> list[str]:
    """The run's backends whose cells had variables that only make them faster."""
    environments = objects(run.provenance.get("environments"))
    found = []
    for name, about in run.backends.items():
        variables, named = environments.get(name, {}).get("variables"), about.get("tuned")
        if isinstance(named, list) and isinstance(variables, dict) and variables.keys() & {*named}:
            found.append(name)
    return found


def open_rows(rows: Sequence[Summary], precision: float) -> dict[Point, list[Summary]]:
    """Ranking -> the row to compare with, then its open rows; only rankings that have some.

    Open: neither shown to differ from the row that it is compared with, nor to be as fast to within `precision`.
    """
    found: dict[Point, list[Summary]] = {}
    alone = all(row.work.once for row in rows)
    for row in rows:
        if row.work.once and not alone:  # the whole is not repeated where its parts say more
            continue
        ratio = row.ratios.get(TO_BASELINE) or row.ratios.get(TO_FASTEST)
        if ratio and ratio.verdict in (NO_DIFFERENCE, NOT_COMPARED) and verdict(ratio.interval, precision) != AS_FAST:
            found.setdefault(row.ranking, []).append(row)
    references = {ranking: _compared_with(rows, ranking) for ranking in found}
    others = {ranking: [row for row in there if row not in references[ranking]] for ranking, there in found.items()}
    return {ranking: [*references[ranking], *there] for ranking, there in others.items() if there}


def command_to_repeat(run: RunRecord, folder: str = "") -> str:
    """The command that measures again what is undecided, in the run's `folder` or that of its name; empty where there
    is none, as for one kind of machine of a cluster.
    """
    if "kind" in run.plan or run.folder.parent.name == MACHINES:
        return ""
    return f"{program(run)} resume {shlex.quote(folder or run.name)} --budget 10m"


def program(run: RunRecord) -> str:
    """How the user starts kbench."""
    began = re.match(r"python run\.py|python -m kbench|kbench", str(run.provenance.get("command_line")))
    return began[0] if began else "python run.py"


def _compared_with(rows: Sequence[Summary], ranking: Point) -> list[Summary]:
    """The baseline's row if there is one, and else the fastest, whether that is sure or not."""
    there = [row for row in rows if row.ranking == ranking]
    verdicts = [row for shown in (BASELINE, FASTEST) for row in there if row.verdict == shown]
    return [*verdicts, *(row for row in there if row.relative_to_fastest == 1)][:1]
