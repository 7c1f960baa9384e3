"""A run for a notebook: `kbench.load("latest")` gives DataFrames, with numbers as numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from kbench import hooks, store
from kbench.analysis.rows import Analysis, command_to_repeat, summarised
from kbench.analysis.times import machine_stability
from kbench.analysis.times.processes import Process
from kbench.base import paths
from kbench.machine.provenance import describe
from kbench.outputs import findings
from kbench.records import axes
from kbench.records.values import Cell, Measured, Outcome
from kbench.summary import Summary
from kbench.tables import content
from kbench.tables.answers import headline
from kbench.tables.csv import epochs_columns, process_columns, summary_columns

_WHOLE = {"epoch", "epochs_done"} | {
    one.name for kind in (Summary, Cell, Outcome) for one in fields(kind) if one.type in ("int", "int | None")
}
_TRUTHS = {"deterministic", "compilation_cached"}
_OF_CELL = ("example", "backend", "image_data_format", "device", "repeat", "seed")
_PHASES = ("import", "data", "build", "first_step", "evaluation")


@dataclass(frozen=True)
class RunData:
    """A run as DataFrames; docs/columns.csv describes every column, docs/findings.csv those of `findings`."""

    name: str
    folder: Path
    summary: pd.DataFrame  # one row a row of the tables: an example on a backend, over its repeats
    epochs: pd.DataFrame  # one row an epoch of a cell
    cells: pd.DataFrame  # one row a cell: its status, phases, memory, and what it shows of its row's time
    findings: pd.DataFrame  # one row a finding about a row of the tables, as findings.json has it
    provenance: Mapping[str, Any]  # the machine and the versions, as run.json holds them
    status: int | None = None  # the exit status of the command, if this comes from one: 0 where all is ok

    def __repr__(self) -> str:
        """What `print` shows: where it is, and what there is to look at."""
        sizes = (f"{name} ({len(getattr(self, name))})" for name in ("summary", "epochs", "cells", "findings"))
        return f"{self.name} in {self.folder}\nDataFrames, with rows: {', '.join(sizes)}\nalso: provenance, status"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answer, warnings, the tables, and the plots if there are any."""
        run = store.read(self.folder)
        rows, command = summarised(run), command_to_repeat(run, str(self.folder))
        parts = [f"<h4>{escape(self.name)}</h4>"]
        parts += [f"<p>{escape(text)}</p>" for text in (headline(rows, command), describe(run.provenance)) if text]
        if remark := machine_stability.remark(run.measured):
            parts.append(f"<p><b>Note:</b> {escape(remark)}</p>")
        for one in content.tables(rows, command):
            parts.append(f"<p><b>{escape(one.heading)}</b><br>{escape(one.answer)}</p>")
            parts.append(pd.DataFrame(one.rows, columns=list(one.columns)).to_html(index=False, border=0))
            parts += [f"<div>{escape(note)}</div>" for note in (*one.numbered, *one.remarks)]
        for picture in sorted((self.folder / "plots").glob("*.png")):
            image = base64.b64encode(picture.read_bytes()).decode("ascii")
            parts.append(f'<img alt="{escape(picture.stem)}" src="data:image/png;base64,{image}">')
        return "\n".join(parts)


def load(run: str | PathLike[str] = "latest", results_folder: str | PathLike[str] = "results") -> RunData:
    """The run at the path `run`, or so named in `results_folder`, or the `latest` there. Raises UserError."""
    folder = store.find(str(run), paths.with_home(str(results_folder)), timed=True)
    return data(Analysis(store.read(folder)))


def data(analysis: Analysis, status: int | None = None) -> RunData:
    """A run that has been read, as DataFrames."""
    read, rows = analysis.run, analysis.rows
    return RunData(
        name=read.name,
        folder=read.folder,
        summary=_frame(summary_columns(rows)),
        epochs=_frame(epochs_columns(analysis.row_cells, read.short)),
        cells=_frame(_cells_columns([*read.measured, *read.short], analysis.processes)),
        findings=pd.DataFrame(findings.records(rows), columns=list(findings.COLUMNS)),
        provenance=read.provenance,
        status=status,
    )


def _cells_columns(measured: Sequence[Measured], times: Mapping[str, Process]) -> dict[str, list[Any]]:
    """Each cell's settings, outcome, phases and memory, and what it shows of its row's time."""
    shown = [times.get(one.cell.id) for one in measured]
    outcomes = [one.outcome for one in measured]
    memory = ("peak_memory_mib", "import_memory_mib")
    return {
        "cell": [one.cell.id for one in measured],
        **{name: [getattr(one.cell, name) for one in measured] for name in _OF_CELL},
        **process_columns([one.cell for one in measured]),
        **{name: [getattr(one, name) for one in outcomes] for name in ("status", "reason", "seconds", "exit_code")},
        "epochs_done": [len(one.epochs) for one in measured],
        "compilation_cached": [one.compilation_cached for one in outcomes],
        **{f"{name}_seconds": [one.phases.get(name) for one in measured] for name in _PHASES},
        **{name: [getattr(one.facts, name) for one in measured] for name in memory},
        "tree_memory_mib": [one.tree_memory_mib for one in outcomes],
        "steady_seconds": [None if one is None else one.seconds for one in shown],
        "steady_error": [None if one is None else one.error for one in shown],
    }


def _frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: _series(name, values) for name, values in columns.items()})


def _series(name: str, values: Sequence[Any]) -> pd.Series[Any]:
    whole = {*(axis.name for axis in axes.numbers()), *(one.name for one in hooks.columns().values() if one.whole)}
    if name in _WHOLE | whole:
        return pd.Series(pd.array(values, dtype="Int64"))
    if name in _TRUTHS:
        return pd.Series(pd.array(values, dtype="boolean"))
    if any(isinstance(value, str) for value in values):
        return pd.Series(values, dtype="string")
    return pd.Series(values, dtype="float64")  # a column of NaN where nothing is known
