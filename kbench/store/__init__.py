"""The one place that reads and writes results/: a run's raw files."""

from __future__ import annotations

from kbench.store.events import GuestReport, read_events, understand
from kbench.store.reading import RunRecord, RunResults, measured_of, read, read_record, spec
from kbench.store.runs import (
    CellFolder,
    cell_folder,
    check_name,
    create,
    filling,
    find,
    latest,
    plan_record,
    record_end,
    set_aside,
    update,
    write_outcome,
    write_spec,
)

__all__ = [
    "CellFolder",
    "GuestReport",
    "RunRecord",
    "RunResults",
    "cell_folder",
    "check_name",
    "create",
    "filling",
    "find",
    "latest",
    "measured_of",
    "plan_record",
    "read",
    "read_events",
    "read_record",
    "record_end",
    "set_aside",
    "spec",
    "understand",
    "update",
    "write_outcome",
    "write_spec",
]
