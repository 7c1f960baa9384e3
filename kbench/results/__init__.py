"""The one place that reads and writes results/: a run's raw files, and what is derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kbench.results.events import Told, read_events, understand
from kbench.results.reading import RunResults, identity, read
from kbench.results.store import (
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
from kbench.values import Summary

__all__ = [
    "CellFolder",
    "RunResults",
    "Told",
    "cell_folder",
    "check_name",
    "create",
    "filling",
    "find",
    "identity",
    "latest",
    "plan_record",
    "read",
    "read_events",
    "rebuild",
    "record_end",
    "set_aside",
    "understand",
    "update",
    "write_outcome",
    "write_page",
    "write_spec",
]


def rebuild(run: Path | RunResults, baseline: str = "", rows: Sequence[Summary] | None = None) -> list[Path]:
    """Write what is derived from the raw files of `run`: tables, plots and pages; return their paths.

    The same raw files give the same bytes. `baseline` is the full name of a backend to compare with instead of
    the one in the run's plan; `rows` are its summaries, where they have been made. Raises UserError where the run
    cannot be read or written.
    """
    # pandas and matplotlib take a second to load, and most commands never come here.
    from kbench.results.derived import rebuild_all

    return rebuild_all(run if isinstance(run, RunResults) else read(run), baseline, rows)


def write_page(page: Path, runs: Sequence[RunResults], baseline: str = "") -> None:
    """Write one report.html of several runs to `page`. Raises UserError where it cannot be written."""
    from kbench.results.derived import page_of_several

    page_of_several(page, runs, baseline)
