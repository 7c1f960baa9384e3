"""summary.csv and epochs.csv: stable leading columns, full precision, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, fields
from operator import attrgetter
from typing import Any

import msgspec

from kbench.epochs import Epochs
from kbench.text import no_formula
from kbench.values import Measured, Summary

# The order of these is a promise: programs read them by place. Further columns follow.
EPOCHS_COLUMNS = (
    "example",
    "backend",
    "image_data_format",
    "device",
    "repeat",
    "epoch",
    "seconds",
    "samples",
    "loss",
    "accuracy",
    "val_loss",
    "val_accuracy",
)
_OF_CELL = EPOCHS_COLUMNS[:5]
_OF_EPOCH = (*EPOCHS_COLUMNS[5:], "evaluation_seconds", "teardown_seconds")
_PHASES = ("import", "data", "build", "first_step")


def _columns(one: Field[object]) -> dict[str, Callable[[Summary], object]]:
    """The columns of a summary's field, by name."""
    value = attrgetter(one.name)
    name, of_task = one.metadata.get("column", one.name), one.metadata.get("of_task")
    if not name:
        return {}
    if one.type == "Interval | None":
        return {f"{name}_{end}": _end(one.name, end) for end in ("low", "high")}
    if one.type == "Mapping[str, float]":
        return {f"{phase}_seconds": _phase(phase) for phase in _PHASES}
    if one.type == "tuple[str, ...]":
        return {name: lambda row: "; ".join(value(row))}
    return {name: (lambda row: value(row) if row.task == of_task else None) if of_task else value}


def _phase(name: str) -> Callable[[Summary], object]:
    return lambda row: row.phases.get(name)


def _end(interval: str, end: str) -> Callable[[Summary], object]:
    return lambda row: getattr(getattr(row, interval), end, None)


def summary_csv(summaries: Sequence[Summary]) -> str:
    """One line a row of the tables. Empty: not applicable or not measured; nan: measured as not a number."""
    return csv_text(summary_columns(summaries))


def summary_columns(summaries: Sequence[Summary]) -> dict[str, list[Any]]:
    """The columns of summary.csv by name; None is not applicable or not measured."""
    return {
        name: [value(row) for row in summaries] for one in fields(Summary) for name, value in _columns(one).items()
    }


def summary_records(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """One object a row, with the names of summary.csv's columns."""
    columns = summary_columns(summaries)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def epochs_csv(measured: Iterable[Measured]) -> str:
    """One line an epoch of a cell, those of cells that did not end ok included; in the order of the plan."""
    return "".join(epochs_csv_pieces(measured))


def epochs_csv_pieces(measured: Iterable[Measured]) -> Iterator[str]:
    """The same a cell at a time: a run may have a million epochs."""
    yield csv_text({name: [] for name in (*_OF_CELL, *_OF_EPOCH)})
    of_cell = attrgetter(*_OF_CELL)
    for one in measured:
        if one.epochs:
            # What all lines of a cell begin with is written once, and put before each of them.
            start = _line(map(_entry, of_cell(one.cell))) + ","
            yield start + _numbers(one.epochs).replace("\n", f"\n{start}") + "\n"


def _line(values: Iterable[object]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(values)  # which quotes what has that in it
    return file.getvalue().removesuffix("\n")


def _numbers(epochs: Epochs) -> str:
    """A line an epoch; a number that was not told is empty."""
    rows = list(zip(*(epochs.values(name) for name in _OF_EPOCH), strict=True))
    if not epochs.odd:
        # All at once: as JSON, [[1,2.5],[2,2.0]], which has a float's shortest digits as Python has them.
        return msgspec.json.encode(rows).decode()[2:-2].replace("],[", "\n")
    return "\n".join(",".join(map(_number, row)) for row in rows)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return msgspec.json.encode(value).decode() if math.isfinite(value) else str(value)


def epochs_columns(measured: Iterable[Measured]) -> dict[str, list[Any]]:
    """The columns of epochs.csv by name."""
    every = list(measured)
    of_cell: dict[str, list[Any]] = {
        name: [value for one in every for value in itertools.repeat(getattr(one.cell, name), len(one.epochs))]
        for name in _OF_CELL
    }
    return of_cell | {name: [value for one in every for value in one.epochs.values(name)] for name in _OF_EPOCH}


def csv_text(columns: Mapping[str, Sequence[object]]) -> str:
    """Columns of equal length as CSV. None is an empty entry."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_entry, values) for values in columns.values()), strict=True))
    return file.getvalue()


def _entry(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        return no_formula(value)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value
