"""Everything that is made from a run's raw files: tables, plots and pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench.store.reading import RunResults, read
from kbench.values import Summary

if TYPE_CHECKING:
    from kbench.outputs.several_runs import Written


def rebuild(
    run: Path | RunResults,
    baseline: str = "",
    rows: Sequence[Summary] | None = None,
    plot_style: str = "",
    plot_size: tuple[float, float] | None = None,
    plots: bool = True,
) -> list[Path]:
    """Write what is derived from the raw files of `run`: tables, plots and pages; return their paths.

    The same raw files give the same bytes. `baseline` is the full name of a backend to compare with instead of the
    plan's; `rows` are its summaries, if known. `plot_style` is a matplotlib style or the path of an .mplstyle file,
    and `plot_size` the width and height of each picture in inches. Without `plots` none are drawn, and earlier ones
    are removed. Raises UserError where the run cannot be read or written, or a picture cannot be drawn; nothing is
    written then.
    """
    # pandas and matplotlib take a second to load, and most commands do not need them.
    from kbench.outputs.one_run import rebuild_all

    return rebuild_all(
        run if isinstance(run, RunResults) else read(run), baseline, rows, plot_style, plot_size, plots
    )


def write_page(
    page: Path,
    runs: Sequence[RunResults],
    baseline: str = "",
    plot_style: str = "",
    plot_size: tuple[float, float] | None = None,
    plots: bool = True,
) -> Written:
    """Write one report.html of several runs to `page`, and pictures of what varies between them beside it.

    Raises UserError where it cannot be written.
    """
    from kbench.outputs.several_runs import page_of_several

    return page_of_several(page, runs, baseline, plot_style, plot_size, plots)
