"""Derive tables, plots and pages from a run's raw files; deleted ones come back byte for byte."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kbench import hooks, store
from kbench.analysis.rows import Analysis, command_to_repeat, tuned
from kbench.comparison.scaling import within
from kbench.machine.provenance import describe
from kbench.outputs.findings import findings_json
from kbench.outputs.told import ToldRun
from kbench.plots.bars import bars
from kbench.plots.convergence import convergence
from kbench.plots.memory import memory
from kbench.plots.overview import overview
from kbench.plots.performance_profile import performance_profile
from kbench.plots.scaling import scaling
from kbench.plots.styles import OWN, Style, caption, key, row_styles, same_learning
from kbench.records import axes
from kbench.records.values import FAILED, TIMEOUT, Measured
from kbench.report.page import html
from kbench.store.files import remove_others, replace
from kbench.store.reading import RunResults
from kbench.summary import Summary
from kbench.tables import data
from kbench.tables.content import by_example, of_table
from kbench.tables.csv import epochs_csv, memory_csv, summary_csv
from kbench.tables.latex import latex
from kbench.tables.page import Run, page

_OF_RUN = ("overview", "performance-profile")  # and those of features
_OF_EXAMPLE = ("convergence", "memory", "seconds")


def rebuild(analysis: ToldRun, style: Style = OWN, plots: bool = True) -> list[Path]:
    """Write what is derived from a run's raw files: tables, plots and pages; return their paths.

    The same raw files give the same bytes. Without `plots` none are drawn, and earlier ones are kept. Raises
    UserError where the run cannot be written, or a plot cannot be drawn; nothing is written then.
    """
    results, rows = analysis.run, analysis.rows
    run = results.folder
    shown = of_report(analysis)
    drawings = _plots(analysis, style) if plots else {}
    pngs = {example: [path for path in found if path.endswith(".png")] for example, found in drawings.items()}
    pngs = pngs if plots else _kept(run, rows)
    files: dict[str, str | bytes] = {
        "summary.csv": summary_csv(rows),
        "epochs.csv": epochs_csv(analysis.row_cells, results.short),
        "findings.json": findings_json(rows),
        "summary.md": page(shown, pngs, _resumed(results)),
        "summary.tex": latex(rows),
        "report.html": html([shown]),
    }
    if any(one.outcome.memory for one in results.measured):
        files["memory.csv"] = memory_csv(results.measured)
    for of_example in drawings.values():
        files |= of_example
    store.make_folder(run)
    if plots:
        store.make_own_folder(run / "plots")
    for name, content in files.items():
        # Not durable: files lost in a power cut can be derived again, and waiting for the disk is slow.
        replace(run / name, content, durable=False)
    if plots:
        remove_others(run / "plots", _pictures(), {Path(name).name for name in files})
    return [run / name for name in files]


def report(runs: Iterable[ToldRun]) -> bytes:
    """report.html of the runs."""
    return html(list(map(of_report, runs))).encode(errors="backslashreplace")


def of_report(analysis: ToldRun) -> Run:
    """The run as report.html shows it."""
    results, summaries = analysis.run, analysis.rows
    return Run(
        name=results.name,
        created=results.created,
        machine=describe(results.provenance),
        provenance=results.provenance,
        backends=results.backends,
        examples=results.examples,
        summaries=summaries,
        measured=analysis.row_cells,
        remarks=analysis.notes,
        failures=[one for one in results.measured if one.outcome.status in (FAILED, TIMEOUT)],
        repeat_command=command_to_repeat(results),
        tuned=tuned(results),
        further=analysis.tables,
        sections=analysis.sections,
        references=analysis.references,
    )


Drawings = dict[str, dict[str, bytes]]  # per example, and under "" for the whole run: bytes by path below the run


def _plots(analysis: ToldRun, style: Style) -> Drawings:
    """The run's plots. Raises UserError where the user's style cannot be drawn."""
    results, style = analysis.run, signed(style, [analysis])
    summaries = [row for row in analysis.rows if row.work.compared]
    chosen = row_styles(summaries, colors([results]))
    cells: dict[tuple[str, object], list[Measured]] = {}
    for one in analysis.row_cells:
        cells.setdefault(of_table(one.cell), []).append(one)
    whole = _named("overview", overview({"": summaries}, chosen, style))
    whole |= _named("performance-profile", performance_profile(summaries, chosen, style))
    for plot in hooks.plots():
        whole |= _named(plot.stem, plot.draw(summaries, chosen, style))
    drawn = {"": whole}
    for rows in by_example(summaries):
        example = rows[0].title
        differing = {key(row) for row in rows if row.differs}
        learning = {row.key for row in same_learning(rows)}
        trained = [one for one in cells[of_table(rows[0])] if one.cell.key in learning]
        reference = analysis.references.get(rows[0].example)
        curves = convergence(trained, chosen, differing, style, reference) if rows[0].work.trains else {}
        stem = file_name(example)
        drawn[example] = _named(f"{stem}-convergence", curves) | _named(f"{stem}-seconds", bars(rows, chosen, style))
        if any(row.memory_growth_mib for row in rows):
            of_rows = rows[0].program, rows[0].key.named[axes.TASK]
            shown = [one for one in results.measured if (one.cell.example, one.cell.key.named[axes.TASK]) == of_rows]
            drawn[example] |= _named(f"{stem}-memory", memory(shown, chosen, style))
    for sweep in within(summaries):
        stem = f"{file_name(sweep.title)}-by-{sweep.axis.title.replace(' ', '-')}"
        drawn[sweep.title] |= _named(stem, scaling(sweep, chosen, style))
    return drawn


def _of_run() -> tuple[str, ...]:
    """The names of the plots of a whole run."""
    return (*_OF_RUN, *(one.stem for one in hooks.plots()))


def _pictures() -> tuple[str, ...]:
    """Files in plots/ with these names are kbench's; all others are the user's."""
    stems = (*_of_run(), *(f"*-{kind}" for kind in (*_OF_EXAMPLE, "by-*")))
    return tuple(f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg", "pdf"))


def _kept(run: Path, rows: Sequence[Summary]) -> dict[str, list[str]]:
    """The plots of before, which stay if none are drawn."""
    kinds = (*_OF_EXAMPLE, *(f"by-{axis.title.replace(' ', '-')}" for axis in axes.numbers()))
    stems: dict[str, tuple[str, ...]] = {"": _of_run()}
    stems |= {name: tuple(f"{file_name(name)}-{what}" for what in kinds) for name in (row.title for row in rows)}
    return {
        example: [f"plots/{stem}.png" for stem in names if (run / "plots" / f"{stem}.png").is_file()]
        for example, names in stems.items()
    }


def signed(style: Style, runs: Sequence[Analysis]) -> Style:
    """The style whose plots name machine, profile, device and date of the runs, and what has synthetic data."""
    rows = [row for one in runs for row in one.rows]
    machines = [describe(one.run.provenance) for one in runs]
    synthetic = frozenset(row.example for row in rows if data.is_synthetic(row))
    below = caption(machines, rows, [one.run.created for one in runs], synthetic)
    return dataclasses.replace(style, caption=below, synthetic=synthetic)


def _resumed(results: RunResults) -> list[str]:
    """How often the run was resumed, when, and what had changed."""
    if not results.resumed:
        return []
    count, last = len(results.resumed), results.resumed[-1].get("started", "")
    changes = [", ".join(map(str, changed)) for one in results.resumed if (changed := one.get("differences"))]
    return [
        f"This run was resumed {count} {'time' if count == 1 else 'times'}, last at {last}.",
        *(f"When it was resumed, this had changed: {one}." for one in dict.fromkeys(changes)),
    ]


def _named(stem: str, formats: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"plots/{stem}.{suffix}": content for suffix, content in formats.items()}


def file_name(example: str) -> str:
    """A name that is safe for a file and a link: the example's own if it is, else one with a hash."""
    fit = re.sub(r"[^A-Za-z0-9._-]+", "_", example)[:60]
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]* \((train|infer)\)", example):  # an example and its task
        return re.sub(r" \((.+)\)", r"-\1", example)
    if fit == example and not fit.startswith((".", "-")):
        return fit
    return f"{fit.lstrip('.-') or 'example'}-{hashlib.sha256(example.encode(errors='replace')).hexdigest()[:8]}"


def colors(runs: Sequence[RunResults]) -> dict[str, str]:
    """The colour of each backend of the runs; empty for one that has none."""
    return {name: str(about.get("color", "")) for run in runs for name, about in run.backends.items()}
