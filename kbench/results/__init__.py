"""The one place that reads and writes results/: a run's raw files, and what is derived from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench.results.events import Told, read_events, understand
from kbench.results.reading import RunRecord, RunResults, identity, read, read_record
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

if TYPE_CHECKING:
    from kbench.results.together import Written

__all__ = [
    "CellFolder",
    "RunRecord",
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
    "read_record",
    "rebuild",
    "record_end",
    "set_aside",
    "understand",
    "update",
    "write_outcome",
    "write_page",
    "write_spec",
]


def rebuild(
    run: Path | RunResults,
    baseline: str = "",
    rows: Sequence[Summary] | None = None,
    plot_style: str = "",
    plot_size: tuple[float, float] | None = None,
) -> list[Path]:
    """Write what is derived from the raw files of `run`: tables, plots and pages; return their paths.

    The same raw files give the same bytes. `baseline` is the full name of a backend to compare with instead of
    the one in the run's plan; `rows` are its summaries, where they have been made. `plot_style` is a name that
    matplotlib knows or the path of an .mplstyle file, and `plot_size` the width and height of each picture in
    inches. Raises UserError where the run cannot be read or written, or a picture not be drawn so; nothing is
    written then.
    """
    # pandas and matplotlib take a second to load, and most commands never come here.
    from kbench.results.derived import rebuild_all

    return rebuild_all(run if isinstance(run, RunResults) else read(run), baseline, rows, plot_style, plot_size)


def write_page(
    page: Path,
    runs: Sequence[RunResults],
    baseline: str = "",
    plot_style: str = "",
    plot_size: tuple[float, float] | None = None,
) -> Written:
    """Write one report.html of several runs to `page`, and pictures of what varies between them beside it.

    Raises UserError where it cannot be written.
    """
    from kbench.results.together import page_of_several

    return page_of_several(page, runs, baseline, plot_style, plot_size)
