"""`list runs`: prints the runs of the results folder, the newest first."""

from __future__ import annotations

from pathlib import Path

from kbench import hooks, store
from kbench.errors import UserError
from kbench.machine.provenance import kind
from kbench.screen import terminal
from kbench.tables import grid, runs
from kbench.tables.grid import Grid
from kbench.words.text import plain


def print_runs(results: Path, form: str) -> None:
    """Print a row for each run. Raises UserError if there is none."""
    found = store.by_time(results, packed=True)
    found += [run for run in map(results.joinpath, store.names(results)) if run not in found]  # damaged ones
    if not found:
        raise UserError(f"There are no runs in {results}; start one with --backends.")
    whole = form in ("csv", "json")  # which have room for all names
    rows = [row for run in found for row in _rows(run, whole)]
    terminal.print_text(grid.printed({"runs": Grid(runs.HEADS, rows)}, form, terminal.width()))


def _rows(run: Path, whole: bool) -> list[list[str]]:
    """The row of a run, or those of each kind of machine of a run on a cluster."""
    if store.is_cluster(run):
        return [_row(one, f"{run.name}/machines/{one.name}", whole) for one in store.machines(run)]
    return [_row(run, run.name, whole)]


def _row(run: Path, name: str, whole: bool) -> list[str]:
    try:
        record = store.read_record(run)
    except UserError as error:
        return [plain(name), "", "", "", "", plain(str(error))]
    backends = list(dict.fromkeys(cell.backend for cell in record.cells))
    examples = list(dict.fromkeys(cell.example for cell in record.cells))
    name_of_kind = record.plan.get("kind")
    if name_of_kind is not None and name_of_kind not in hooks.run_kinds():
        came = f"{plain(str(name_of_kind))}: of a feature that is not here"
    elif store.is_packed(run):  # to analyse all that come with kbench takes ten seconds
        came = f"{name_of_kind or ''} packed".strip()
    elif name_of_kind is not None:
        came = f"{name_of_kind}: {hooks.run_kinds()[str(name_of_kind)].counted(store.read(run))}"
    else:
        from kbench.analysis.rows import summarised

        came = runs.verdicts(summarised(store.measured_of(record)))
    when = record.created[:16].replace("T", " " if whole else "\xa0")  # which no line is broken at
    names = [", ".join(one) if whole else runs.first_names(one) for one in (backends, examples)]
    return [
        plain(name),
        when,
        plain(kind(record.provenance)),
        *map(plain, names),
        came,
    ]
