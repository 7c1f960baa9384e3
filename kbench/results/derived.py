"""Derive tables, plots and pages from a run's raw files; deleted ones come back byte for byte."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from kbench import published, steadiness
from kbench.errors import UserError
from kbench.plots.bars import bars
from kbench.plots.convergence import convergence
from kbench.plots.look import key, looks
from kbench.plots.overview import overview
from kbench.provenance import describe
from kbench.report.page import Run, html
from kbench.results import logs
from kbench.results.files import cannot, replace
from kbench.results.reading import RunResults
from kbench.stats import summarise
from kbench.tables.configuration import configuration
from kbench.tables.csv import epochs_csv_pieces, summary_csv
from kbench.tables.latex import latex
from kbench.tables.page import page
from kbench.values import FAILED, TIMEOUT, Measured, Summary


def rebuild_all(results: RunResults, baseline: str = "", rows: Sequence[Summary] | None = None) -> list[Path]:
    """Write all derived files of the run and return their paths. Raises UserError."""
    run = results.folder
    if rows is None:
        rows = summarise(results.measured, baseline or results.baseline, results.limits)
    pictures = _pictures(results, rows)
    files: dict[str, bytes | Iterator[bytes]] = {
        "summary.csv": summary_csv(rows).encode(),
        "epochs.csv": (piece.encode() for piece in epochs_csv_pieces(results.measured)),
        "summary.md": _page(results, rows, pictures).encode(),
        "summary.tex": latex(rows).encode(),
        "report.html": report([(results, rows)]),
    }
    for of_example in pictures.values():
        files |= of_example
    try:
        (run / "plots").mkdir(exist_ok=True)
    except OSError as error:
        raise cannot("make", run / "plots", error) from error
    for name, content in files.items():
        # Not durable: what a power cut takes can be derived again, and waiting for the disk is slow.
        replace(run / name, content, durable=False)
    return [run / name for name in files]


def page_of_several(path: Path, runs: Sequence[RunResults], baseline: str = "") -> None:
    """Write the runs' report.html to `path`. Raises UserError."""
    content = report([(run, summarise(run.measured, baseline or run.baseline, run.limits)) for run in runs])
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file with --output.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", path.parent, error) from error
    replace(path, content, durable=False)


def report(runs: Sequence[tuple[RunResults, Sequence[Summary]]]) -> bytes:
    """report.html of the runs, each with its rows."""
    addresses = published.addresses()
    try:
        figures = published.read()
    except UserError:  # a page is more than its last section, and `list published` says what is wrong
        figures = []
    return html(
        [
            Run(
                name=results.name,
                created=results.created,
                machine=describe(results.provenance),
                provenance=results.provenance,
                plan=results.plan,
                backends=_objects(results.plan.get("backends")),
                examples=_objects(results.plan.get("examples")),
                summaries=summaries,
                measured=results.measured,
                remarks=steadiness.remarks(results.measured, results.provenance),
                logs=logs.of_failed(results),
                published=published.held(summaries, figures),
                addresses=addresses,
            )
            for results, summaries in runs
        ]
    ).encode(errors="replace")


def _pictures(results: RunResults, summaries: Sequence[Summary]) -> dict[str, dict[str, bytes]]:
    """Per example, and under "" for the whole run: the bytes of its pictures by their path below the run."""
    backends = _objects(results.plan.get("backends"))
    colors = {name: str(about.get("color", "")) for name, about in backends.items()}
    chosen = looks(summaries, colors)
    cells: dict[str, list[Measured]] = {}
    for one in results.measured:
        cells.setdefault(one.cell.example, []).append(one)
    pictures = {"": _named("overview", overview(summaries, chosen))}
    for example, group in groupby(summaries, key=lambda row: row.example):
        rows = list(group)
        differing = {key(row) for row in rows if row.differs}
        curves = convergence(cells[example], chosen, differing) if rows[0].task == "train" else {}
        stem = _file_name(example)
        pictures[example] = _named(f"{stem}-convergence", curves) | _named(f"{stem}-seconds", bars(rows, chosen))
    return pictures


def _page(results: RunResults, summaries: Sequence[Summary], pictures: Mapping[str, Mapping[str, bytes]]) -> str:
    return page(
        name=results.name,
        machine=describe(results.provenance),
        command=str(results.provenance.get("command_line", "")),
        summaries=summaries,
        plots={example: [path for path in found if path.endswith(".png")] for example, found in pictures.items()},
        backends=_objects(results.plan.get("backends")),
        remarks=[*steadiness.remarks(results.measured, results.provenance), *_sittings(results)],
        configuration=configuration(
            results.provenance, _objects(results.plan.get("examples")), results.measured, summaries
        ),
        failures=[one for one in results.measured if one.outcome.status in (FAILED, TIMEOUT)],
    )


def _sittings(results: RunResults) -> list[str]:
    """That the run was gone on with, when, and what was not as it was."""
    said = []
    if results.resumed:
        count = len(results.resumed)
        last = results.resumed[-1].get("started", "")
        said.append(f"This run was resumed {count} {'time' if count == 1 else 'times'}, last at {last}.")
    for one in results.resumed:
        differences = one.get("differences")
        said += [f"When it was resumed, not as it was: {', '.join(map(str, differences))}."] if differences else []
    return list(dict.fromkeys(said))


def _named(stem: str, formats: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"plots/{stem}.{suffix}": content for suffix, content in formats.items()}


def _file_name(example: str) -> str:
    """A name fit for a file and a link: the example's own where it is, or else told apart by a hash."""
    fit = re.sub(r"[^A-Za-z0-9._-]+", "_", example)[:60]
    if fit == example and not fit.startswith((".", "-")):
        return fit
    return f"{fit.lstrip('.-') or 'example'}-{hashlib.sha256(example.encode(errors='replace')).hexdigest()[:8]}"


def _objects(value: object) -> dict[str, dict[str, object]]:
    """The entries of `value` that are objects themselves."""
    if not isinstance(value, dict):
        return {}
    return {str(key): entry for key, entry in value.items() if isinstance(entry, dict)}
