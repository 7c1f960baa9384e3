"""Several runs on one page, with the plots of what varies between them beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.comparison.scaling import SweepRun, lines
from kbench.errors import UserError
from kbench.machine.provenance import gpu_names, processor
from kbench.outputs.one_run import colors, file_name, of_report, signed
from kbench.outputs.told import ToldRun
from kbench.plots.scaling import scaling
from kbench.plots.styles import OWN, Style, row_styles
from kbench.report.page import html
from kbench.store.files import os_errors_as_user_errors, remove_others, replace

_OWN = ("scaling-*.png", "scaling-*.svg")


def write_page(
    page: Path, runs: Sequence[ToldRun], style: Style = OWN, plots: bool = True
) -> tuple[list[Path], list[str]]:
    """Write the runs' report.html to `page`, and wanted plots into the folder beside it.

    Returns the plots, and a sentence on the examples that have none. Raises UserError.
    """
    drawn, missing = lines(list(map(_side, runs)))
    styles = row_styles([row for run in runs for row in run.rows], colors([one.run for one in runs]))
    style = signed(style, runs)
    drawings: dict[str, bytes] = {}
    for one in drawn if plots else ():
        stem = f"scaling-{file_name(one.title)}-{one.axis.title.replace(' ', '-')}"
        drawings |= {f"{stem}.{suffix}": content for suffix, content in scaling(one, styles, style).items()}
    folder = page.with_name(f"{page.stem}-plots")
    content = html(list(map(of_report, runs)), drawn, missing, folder.name if plots else "")
    if page.is_dir():
        raise UserError(f"{page} is a folder: name a file with --output.")
    for needed in (page.parent, *([folder] if drawings else [])):
        with os_errors_as_user_errors("make", needed):
            needed.mkdir(parents=True, exist_ok=True)
    replace(page, content, durable=False)
    for name, plot in drawings.items():
        replace(folder / name, plot, durable=False)
    if plots:
        remove_others(folder, _OWN, drawings)
    return [folder / name for name in drawings], missing


def _side(analysis: Analysis) -> SweepRun:
    run = analysis.run
    alike = {
        "the processor": processor(run.provenance),
        "the GPU": gpu_names(run.provenance),
        "augmentation": str(run.request.get("augment", "")),
    }
    models = {name: str(about.get("sha256", "")) for name, about in run.examples.items()}
    return SweepRun(analysis.rows, alike, models)
