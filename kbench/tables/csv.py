"""summary.csv and epochs.csv: stable leading columns, full precision, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from kbench.text import no_formula
from kbench.values import Measured, Summary

# The order of these is a promise: programs read them by place. Further columns follow.
SUMMARY_COLUMNS = (
    "example",
    "backend",
    "image_data_format",
    "device",
    "profile",
    "status",
    "reason",
    "repeats",
    "epoch_seconds",
    "first_epoch_seconds",
    "samples_per_second",
    "relative_to_fastest",
    "final_loss",
    "final_accuracy",
    "final_val_loss",
    "final_val_accuracy",
    "parameters",
    "keras_version",
    "backend_version",
)
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


def _phase(name: str) -> Callable[[Summary], object]:
    return lambda row: row.phases.get(name)


def _end(interval: str, end: str) -> Callable[[Summary], object]:
    return lambda row: getattr(getattr(row, interval), end, None)


_MORE_SUMMARY: Mapping[str, Callable[[Summary], object]] = {
    "task": attrgetter("task"),
    "form": attrgetter("form"),
    **{f"{name}_seconds": _phase(name) for name in _PHASES},
    "evaluation_seconds": attrgetter("evaluation_seconds"),
    "seconds_per_1000_images": lambda row: row.seconds_per_1000_samples if row.task == "infer" else None,
    "batch_size": attrgetter("batch_size"),
    "samples": attrgetter("samples"),
    "validation_samples": attrgetter("validation_samples"),
    "epochs": attrgetter("epochs"),
    "data": attrgetter("data"),
    "data_source": attrgetter("data_source"),
    "data_sha256": attrgetter("data_sha256"),
    "notes": lambda row: "; ".join(row.notes),
    "epoch_seconds_low": _end("epoch_interval", "low"),
    "epoch_seconds_high": _end("epoch_interval", "high"),
    "relative_low": _end("relative_interval", "low"),
    "relative_high": _end("relative_interval", "high"),
    "verdict": attrgetter("verdict"),
    "baseline": attrgetter("baseline"),
    "relative_to_baseline": attrgetter("relative_to_baseline"),
    "relative_to_baseline_low": _end("baseline_interval", "low"),
    "relative_to_baseline_high": _end("baseline_interval", "high"),
    "resampled": attrgetter("resampled"),
    "resampled_values": lambda row: row.resampled_values or None,
    "final_accuracy_sd": attrgetter("final_accuracy_sd"),
    "final_val_accuracy_sd": attrgetter("final_val_accuracy_sd"),
    "target_accuracy": attrgetter("target_accuracy"),
    "epochs_to_target": attrgetter("epochs_to_target"),
    "seconds_to_target": attrgetter("seconds_to_target"),
    "repeats_to_target": attrgetter("repeats_to_target"),
    "deterministic": attrgetter("deterministic"),
    "peak_memory_mib": attrgetter("peak_memory_mib"),
    "import_memory_mib": attrgetter("import_memory_mib"),
    "tree_memory_mib": attrgetter("tree_memory_mib"),
    "weights": attrgetter("weights"),
    "fingerprint": attrgetter("fingerprint"),
    "differs": lambda row: "; ".join(row.differs),
    "step_seconds_median": attrgetter("step_seconds_median"),
    "step_seconds_p95": attrgetter("step_seconds_p95"),
    "compile_seconds": attrgetter("compile_seconds"),
    "device_memory_mib": attrgetter("device_memory_mib"),
    "device_memory_source": attrgetter("device_memory_source"),
    "allocator_peak_mib": attrgetter("allocator_peak_mib"),
    "operations_per_sample": attrgetter("operations_per_sample"),
    "percent_of_limit": attrgetter("percent_of_limit"),
    "teardown_seconds": attrgetter("teardown_seconds"),
    "between_process_factor": attrgetter("between_process_factor"),
}


def summary_csv(summaries: Sequence[Summary]) -> str:
    """One line a row of the tables. Empty: not applicable or not measured; nan: measured as not a number."""
    return csv_text(summary_columns(summaries))


def summary_columns(summaries: Sequence[Summary]) -> dict[str, list[Any]]:
    """The columns of summary.csv by name; None is not applicable or not measured."""
    columns = {name: attrgetter(name) for name in SUMMARY_COLUMNS} | dict(_MORE_SUMMARY)
    return {name: [value(row) for row in summaries] for name, value in columns.items()}


def summary_records(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """One object a row, with the names of summary.csv's columns."""
    columns = summary_columns(summaries)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def epochs_csv(measured: Iterable[Measured]) -> str:
    """One line an epoch of a cell, those of cells that did not end ok included; in the order of the plan."""
    return csv_text(epochs_columns(measured))


def epochs_columns(measured: Iterable[Measured]) -> dict[str, list[Any]]:
    """The columns of epochs.csv by name; None is not reported."""
    rows = [(one.cell, epoch) for one in measured for epoch in one.epochs]
    of_cell = {name: [getattr(cell, name) for cell, _ in rows] for name in _OF_CELL}
    return of_cell | {name: [getattr(epoch, name) for _, epoch in rows] for name in _OF_EPOCH}


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
