"""A run as pandas DataFrames, with numbers as numbers: what notebooks and Parquet files get."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from kbench.tables.csv import epochs_columns, summary_columns
from kbench.values import Measured, Summary

_WHOLE = {
    "repeats",
    "repeat",
    "epoch",
    "seed",
    "parameters",
    "batch_size",
    "samples",
    "validation_samples",
    "epochs",
    "epochs_done",
    "resampled_values",
    "repeats_to_target",
    "exit_code",
}
_TRUTHS = {"deterministic"}
_PHASES = ("import", "data", "build", "first_step", "evaluation")


def summary_frame(summaries: Sequence[Summary]) -> pd.DataFrame:
    """One row a row of the tables, with the columns of summary.csv."""
    return _frame(summary_columns(summaries))


def epochs_frame(measured: Sequence[Measured]) -> pd.DataFrame:
    """One row an epoch of a cell, with the columns of epochs.csv."""
    return _frame(epochs_columns(measured))


def cells_frame(measured: Sequence[Measured]) -> pd.DataFrame:
    """One row a cell: what was asked, what came of it, its phases and its memory."""
    columns: dict[str, Callable[[Measured], object]] = {
        "cell": lambda one: one.cell.id,
        **{name: _of_cell(name) for name in ("example", "backend", "image_data_format", "device", "repeat", "seed")},
        "status": lambda one: one.outcome.status,
        "reason": lambda one: one.outcome.reason,
        "seconds": lambda one: one.outcome.seconds,
        "exit_code": lambda one: one.outcome.exit_code,
        "epochs_done": lambda one: len(one.epochs),
        **{f"{name}_seconds": _phase(name) for name in _PHASES},
        "peak_memory_mib": _number("peak_memory_mib"),
        "import_memory_mib": _number("import_memory_mib"),
        "tree_memory_mib": lambda one: one.outcome.tree_memory_mib,
        "reference_seconds": lambda one: one.outcome.reference_seconds,
    }
    return _frame({name: [fact(one) for one in measured] for name, fact in columns.items()})


def _frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: _series(name, values) for name, values in columns.items()})


def _series(name: str, values: Sequence[Any]) -> pd.Series[Any]:
    if name in _WHOLE:
        return pd.Series(pd.array(values, dtype="Int64"))
    if name in _TRUTHS:
        return pd.Series(pd.array(values, dtype="boolean"))
    if any(isinstance(value, str) for value in values):
        return pd.Series(values, dtype="string")
    return pd.Series(values, dtype="float64")  # nothing known is a column of NaN


def _of_cell(name: str) -> Callable[[Measured], object]:
    return lambda one: getattr(one.cell, name)


def _phase(name: str) -> Callable[[Measured], object]:
    return lambda one: one.phases.get(name)


def _number(name: str) -> Callable[[Measured], object]:
    def read(one: Measured) -> object:
        value = one.facts.get(name)
        return value if isinstance(value, float) else None

    return read
