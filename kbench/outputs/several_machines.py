"""What is derived from a run on a cluster: each kind of machine's own tables, and all kinds side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kbench.analysis.rows import summarised
from kbench.machine.provenance import kind
from kbench.outputs.one_run import colors, rebuild, report, signed
from kbench.plots.overview import overview
from kbench.plots.styles import OWN, row_styles
from kbench.store.files import os_errors_as_user_errors, replace
from kbench.store.reading import RunResults
from kbench.summary import Summary
from kbench.tables import markdown
from kbench.tables.answers import answer
from kbench.tables.content import by_example
from kbench.tables.machines import Rows, machines_csv, table


def write(run: Path, there: Sequence[RunResults], plots: bool = True) -> Rows:
    """Write summary.csv, summary.md, report.html and a plot of all kinds; returns their rows. Raises UserError."""
    rows = rows_of(there)
    for one, found in zip(there, rows.values(), strict=True):
        rebuild(one, rows=found, plots=plots)
    if not rows:
        return rows
    replace(run / "summary.csv", machines_csv(rows), durable=False)
    replace(run / "summary.md", _page(run, there, rows, plots), durable=False)
    if plots:
        styles = row_styles([row for found in rows.values() for row in found], colors(there))
        with os_errors_as_user_errors("make", run / "plots"):
            (run / "plots").mkdir(exist_ok=True)
        for suffix, content in overview(
            rows, styles, signed(OWN, list(zip(there, rows.values(), strict=True)))
        ).items():
            replace(run / "plots" / f"machines.{suffix}", content, durable=False)
    replace(run / "report.html", report(list(zip(there, rows.values(), strict=True))), durable=False)
    return rows


def rows_of(there: Sequence[RunResults]) -> Rows:
    """The rows of each kind of machine, by its name; a worker may have told a name that is taken."""
    rows = dict[str, Sequence[Summary]]()
    for one in there:
        name = kind(one.provenance)
        rows[f"{name} ({one.folder.name})" if name in rows else name] = summarised(one)
    return rows


def _page(run: Path, there: Sequence[RunResults], rows: Rows, plots: bool) -> str:
    parts = [f"# {markdown.escape(run.name)}", markdown.together([table(rows)])]
    parts += ["![x fastest, on each kind of machine](plots/machines.png)"] if plots else []
    for one, (name, found) in zip(there, rows.items(), strict=True):
        link = f"machines/{one.folder.name}/summary.md"
        parts += [f"## {markdown.escape(name)}", *map(markdown.escape, map(answer, by_example(found)))]
        parts += [f"All of this kind: [{link}]({link})"]
    return "\n\n".join(parts) + "\n"
