"""A user's program as a kind of work: its cells are split by the lines that call a model, and each is told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kbench import hooks
from kbench.additions import TableColumns, WorkKind
from kbench.analysis.row_figures import RowProcesses
from kbench.analysis.times import memory_growth
from kbench.features.script.lines import (
    afterwards,
    asked_lines,
    call_outputs,
    call_sites,
    line_figures,
    line_outputs,
    program_shares,
    program_warnings,
    sums,
    time_growth,
)
from kbench.features.script.lines.line_details import LineDetails
from kbench.features.script.lines.units import CALL, EPOCH, WORKLOADS
from kbench.features.script.told import line_answers, line_tables, unlike_calls
from kbench.records.values import SCRIPT, Measured
from kbench.records.workloads import Workload
from kbench.summary import Summary


class ProgramWork(WorkKind):
    """The rows of a program: its lines, what is outside of them, and the whole."""

    task = SCRIPT
    parts = "parts of the program"
    workloads = WORKLOADS

    def row_cells(self, measured: Sequence[Measured], request: Mapping[str, object]) -> Sequence[Measured]:
        """By line. What says why they differ is named if it was not asked for."""
        given = request.get("asked")
        asked = given if isinstance(given, dict) else {}
        told = (one.says_why for one in hooks.further_options("script"))
        why = next((one for one in told if one and not asked.get(one.strip("-").replace("-", "_"))), "")
        return call_sites.by_line(measured, asked=asked_lines.wanted(request), says_why=why)

    def row(self, processes: RowProcesses, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """With its part of the program's time, and whether memory and time grow with each call."""
        ok, kind = processes.ok, processes.kind
        slower = time_growth.of_row(ok) if kind.repeated else None
        flat_memory = kind.repeated and not processes.grows and memory_growth.is_flat(ok)
        flat_times = not slower and time_growth.is_flat(ok)
        growth = (slower.first, slower.last) if slower else () if flat_times else None
        findings = fields["findings"]
        if slower:  # which says more
            steady = [finding for finding in findings if finding.kind != "not steady"]
            findings = (*steady, time_growth.finding(slower, kind.unit))
        total = program_shares.seconds(ok)
        phases = fields["phases"] if kind.compared else program_shares.phases(ok)
        return {
            **sums.checked({**fields, "findings": findings, "phases": phases}, processes, total),
            "total_seconds": total,
            "memory_growth_mib": 0.0 if flat_memory else fields["memory_growth_mib"],
            "of_kind": LineDetails(time_growth=growth),
        }

    def compared(self, rows: Sequence[Summary], row_cells: Sequence[Measured]) -> Sequence[Summary]:
        """With how calls differ, and what was tried out."""
        for noted in (call_outputs, line_outputs, afterwards, line_figures, program_warnings):
            rows = noted.add_notes(rows, row_cells)
        return sums.without_intervals(rows)

    def on_screen(self, rows: Sequence[Summary], of_run: Sequence[Summary]) -> bool:
        """Not what is outside of its lines, and the whole of it, where no times say anything."""
        return line_tables.on_screen(rows, of_run)

    def under_way(self, site: str) -> Workload:
        """Epochs of a fit, calls of all else."""
        return WORKLOADS[EPOCH if call_sites.is_fit(site) else CALL]

    def heading(self, rows: Sequence[Summary]) -> str:
        """With the samples, epochs and calls of a line."""
        return line_tables.heading(rows)

    def columns(self, rows: Sequence[Summary]) -> TableColumns:
        """Times, what they hold, and scores."""
        return line_tables.columns(rows)

    def optional(self, rows: Sequence[Summary]) -> Sequence[str]:
        """All but the main score."""
        return line_tables.optional(rows)

    def remarks(self, rows: Sequence[Summary]) -> Mapping[str, Sequence[str]]:
        """On compilation within times, and on what is the program's own."""
        return line_tables.remarks(rows)

    def above_tables(self, rows: Sequence[Summary]) -> Sequence[str]:
        """What failed, and which calls return something else."""
        return [*line_answers.failures(rows), *unlike_calls.sentences(rows)]

    def before_answer(self, rows: Sequence[Summary]) -> Sequence[str]:
        """What further arguments change."""
        return line_answers.on_arguments(rows)

    def after_ranking(self, rows: Sequence[Summary]) -> Sequence[str]:
        """Compilation in each call."""
        return line_answers.on_compilation(rows)

    def after_answer(self, rows: Sequence[Summary]) -> Sequence[str]:
        """What else the calls show."""
        return line_answers.on_rows(rows)
