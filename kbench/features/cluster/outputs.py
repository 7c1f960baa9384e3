"""What is derived from a run on a cluster: each kind of machine's own tables, and all kinds side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kbench import store
from kbench.features.cluster.tables import Rows, machines_csv, table
from kbench.machine.provenance import kind
from kbench.outputs.one_run import colors, rebuild, report, signed
from kbench.outputs.told import ToldRun
from kbench.plots.overview import overview
from kbench.plots.styles import OWN, row_styles
from kbench.store.files import replace
from kbench.store.reading import RunResults
from kbench.tables import markdown
from kbench.tables.answers import answer
from kbench.tables.content import by_example


def write(run: Path, kinds: Mapping[str, ToldRun], plots: bool = True) -> None:
    """Write summary.csv, summary.md, report.html and a plot of all kinds. Raises UserError."""
    for one in kinds.values():
        rebuild(one, plots=plots)
    if not kinds:
        return
    rows = rows_of(kinds)
    replace(run / "summary.csv", machines_csv(rows), durable=False)
    replace(run / "summary.md", _page(run, kinds, plots), durable=False)
    if plots:
        styles = row_styles(
            [row for found in rows.values() for row in found], colors([one.run for one in kinds.values()])
        )
        store.make_own_folder(run / "plots")
        for suffix, content in overview(rows, styles, signed(OWN, list(kinds.values()))).items():
            replace(run / "plots" / f"machines.{suffix}", content, durable=False)
    replace(run / "report.html", report(kinds.values()), durable=False)


def by_kind(there: Sequence[RunResults]) -> dict[str, ToldRun]:
    """The runs of each kind of machine, by its name; a worker may have told a name that is taken."""
    kinds = dict[str, ToldRun]()
    for one in there:
        name = kind(one.provenance)
        kinds[f"{name} ({one.folder.name})" if name in kinds else name] = ToldRun(one)
    return kinds


def rows_of(kinds: Mapping[str, ToldRun]) -> Rows:
    """The rows of each kind of machine."""
    return {name: one.rows for name, one in kinds.items()}


def _page(run: Path, kinds: Mapping[str, ToldRun], plots: bool) -> str:
    parts = [f"# {markdown.escape(run.name)}", markdown.together([table(rows_of(kinds))])]
    parts += ["![x fastest, on each kind of machine](plots/machines.png)"] if plots else []
    for name, one in kinds.items():
        link = f"machines/{one.folder.name}/summary.md"
        parts += [f"## {markdown.escape(name)}", *map(markdown.escape, map(answer, by_example(one.rows)))]
        parts += [f"All of this kind: [{link}]({link})"]
    return "\n\n".join(parts) + "\n"
