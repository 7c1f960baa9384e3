"""summary.csv and epochs.csv: stable leading columns, full precision, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbench.records import axes
from kbench.records.values import Cell, Measured
from kbench.summary import Figure, Summary, figures
from kbench.words.text import no_formula

# The order of these is a promise: programs read them by place. Further columns follow.
EPOCHS_COLUMNS = (
    "example", "backend", "image_data_format", "device", "repeat",
    "epoch", "seconds", "samples", "loss", "accuracy", "val_loss", "val_accuracy",
)  # fmt: skip
_OF_CELL = EPOCHS_COLUMNS[:5]
_OF_EPOCH = (*EPOCHS_COLUMNS[5:], "evaluation_seconds", "teardown_seconds", "resident_mib")
_PHASES = ("import", "data", "build", "first_step")


def _columns(field: str, told: Figure, summaries: Sequence[Summary]) -> dict[str, list[Any]]:
    """The columns of a summary's field, by name."""
    values, name = [row.value(field) for row in summaries], told.column
    if not name:
        return {}
    match told.shape:
        case "ends":
            return {f"{name}_{end}": [getattr(value, end, None) for value in values] for end in ("low", "high")}
        case "phases":
            return {f"{phase}_seconds": [value.get(phase) for value in values] for phase in _PHASES}
        case "texts":
            return {name: ["; ".join(value) for value in values]}
        case "json":
            return {name: [json.dumps(value) if value else None for value in values]}
    if task := told.of_task:
        values = [value if row.task == task else None for row, value in zip(summaries, values, strict=True)]
    return {name: values}


def summary_csv(summaries: Sequence[Summary], only: Sequence[str] = ()) -> str:
    """One line a row of the tables. Empty: not applicable or not measured; nan: measured as not a number."""
    return csv_text(summary_columns(summaries, only))


def summary_columns(summaries: Sequence[Summary], only: Sequence[str] = ()) -> dict[str, list[Any]]:
    """The columns of summary.csv by name, or `only` some; None is not applicable or not measured."""
    found = {
        name: values for field, told in figures().items() for name, values in _columns(field, told, summaries).items()
    }
    named = {name for row in summaries for name, _ in row.key.named.values} - {*axes.of_backends()}
    others = axes.in_order(named)
    found |= {name: [row.key[name] for row in summaries] for name in others if name not in found}
    return {name: found[name] for name in only or found}


def summary_records(summaries: Sequence[Summary], only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One object a row, with the names of summary.csv's columns."""
    columns = summary_columns(summaries, only)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def epochs_csv(measured: Sequence[Measured], short: Sequence[Measured] = ()) -> str:
    """One line an epoch of a cell, those of cells that did not end ok included; in the order of the plan. Those of
    short processes, which are parts of one, come last.
    """
    return csv_text(epochs_columns(measured, short))


def epochs_columns(measured: Sequence[Measured], short: Sequence[Measured] = ()) -> dict[str, list[Any]]:
    """The columns of epochs.csv by name; None is not reported."""
    rows = [(one.cell, epoch) for one in (*measured, *short) for epoch in one.epochs]
    of_cell = {name: [getattr(cell, name) for cell, _ in rows] for name in _OF_CELL}
    of_epoch = {name: [getattr(epoch, name) for _, epoch in rows] for name in _OF_EPOCH}
    metrics = dict.fromkeys(name for _, epoch in rows for name in epoch.metrics or {})
    scores = {name: [(epoch.metrics or {}).get(name) for _, epoch in rows] for name in metrics}
    others = {name: values for name, values in scores.items() if name not in of_epoch}
    return of_cell | of_epoch | others | process_columns([cell for cell, _ in rows])


def process_columns(cells: Sequence[Cell]) -> dict[str, list[Any]]:
    """What tells apart the processes of an example on a backend, beside their repeat: whether each only timed some
    steps, and its values on the axes that vary in the run.
    """
    varied = axes.in_order({name for cell in cells for name in cell.varied} - {*_OF_CELL})
    return {"timing": [cell.timing for cell in cells]} | {
        name: [cell.values[name] for cell in cells] for name in varied
    }


def memory_csv(measured: Iterable[Measured]) -> str:
    """One line for each time at which a cell's memory was read, in the order of the plan."""
    rows = [(one.cell, point) for one in measured for point in one.outcome.memory]
    of_cell = {name: [getattr(cell, name) for cell, _ in rows] for name in _OF_CELL}
    return csv_text(of_cell | {name: [point[at] for _, point in rows] for at, name in enumerate(("seconds", "mib"))})


def records_csv(records: Sequence[Mapping[str, object]]) -> str:
    """Objects with the same names as CSV, a line each."""
    return csv_text({name: [record[name] for record in records] for name in next(iter(records), {})})


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Columns of equal length as CSV. None is an empty entry."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(no_formula(value) if isinstance(value, str) else value for value in row)
    return file.getvalue()
