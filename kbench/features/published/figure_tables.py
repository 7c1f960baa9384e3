"""Published figures, alone and beside a run's own, as people and programs read them."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

from kbench.features.published.figures import FigureBesideRow, PublishedFigure, workers_of
from kbench.tables import markdown as as_markdown
from kbench.tables import text as as_text
from kbench.tables.content import Table
from kbench.tables.entries import marked
from kbench.words.text import MISSING, plain, significant

OWN = "this run"  # as a source
WHERE = "Sources: results/published/README.md. None of the published figures was measured by kbench."


def text(found: Sequence[FigureBesideRow], machine: str, width: int) -> str:
    """For the terminal: a table an example."""
    body = as_text.together(tables(found), width, "in --format csv and json")
    here = textwrap.fill(f"here: {machine}", width, subsequent_indent="  ")
    return "\n\n".join([here, body, textwrap.fill(WHERE, width)])


def markdown(found: Sequence[FigureBesideRow], machine: str) -> str:
    """The same as Markdown."""
    parts = [f"here: {machine}", as_markdown.together(tables(found)), WHERE]
    return "\n\n".join(part if place == 1 else as_markdown.escape(part) for place, part in enumerate(parts))


def records(found: Sequence[FigureBesideRow]) -> list[dict[str, Any]]:
    """One object for each row of the run and figure."""
    return [
        {
            "example": beside.row.example,
            "backend": beside.row.backend,
            "image_data_format": beside.row.image_data_format,
            "device": beside.row.device,
            "workers": workers_of(beside.row),
            "measure": "seconds per 1,000 samples" if beside.figure.per_1000 else "seconds per epoch",
            "seconds": beside.seconds,
            "framework": beside.figure.framework,
            "same_backend": beside.same_backend,
            "hardware": beside.figure.hardware,
            "published_seconds": beside.published,
            "ratio": beside.ratio,
            "differs": "; ".join(beside.differs),
            "source": beside.figure.source,
            "note": beside.figure.note,
        }
        for beside in found
    ]


def figure_rows(figures: Sequence[PublishedFigure]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of figures."""
    heads = ["framework", "hardware", "batch", "what", "value", "source"]
    rows = [
        [
            plain(figure.framework),
            plain(hardware(figure)) or MISSING,
            MISSING if figure.batch_size is None else str(figure.batch_size),
            figure.metric.replace("_", " "),
            f"{figure.value:g}{'' if figure.spread is None else f' ± {figure.spread:g}'} {figure.unit}",
            figure.source,
        ]
        for figure in figures
    ]
    return heads, rows


def workload_rows(figures: Sequence[PublishedFigure], examples: Collection[str]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table with one row a workload; kbench has `examples`."""
    heads = ["workload", "example", "figures", "frameworks", "sources"]
    rows = []
    for name in dict.fromkeys(figure.workload for figure in figures):
        of_workload = [figure for figure in figures if figure.workload == name]
        frameworks = len({figure.framework for figure in of_workload})
        sources = ", ".join(dict.fromkeys(figure.source for figure in of_workload))
        rows.append([name, "yes" if name in examples else "no", str(len(of_workload)), str(frameworks), sources])
    return heads, rows


def covered(figures: Sequence[PublishedFigure], examples: Collection[str]) -> str:
    """A sentence: how many figures can be measured again here, with one of `examples`."""
    of_networks = [figure for figure in figures if figure.of_network]
    having = sum(figure.workload in examples for figure in of_networks)
    counts = len(figures) - len(of_networks)
    rest = f" {counts} count what an API offers, of no network." if counts else ""
    return f"{having} of {len(of_networks)} figures of networks have an example.{rest}"


def tables(found: Sequence[FigureBesideRow]) -> list[Table]:
    """One table per example: this run's rows and the published figures, fastest first."""
    return [_table(list(group)) for _, group in groupby(found, key=lambda beside: beside.row.example)]


def _table(found: Sequence[FigureBesideRow]) -> Table:
    footnotes: list[str] = []
    shared = set.intersection(*({*beside.differs, *_note(beside)} for beside in found))
    per_1000 = found[0].figure.per_1000
    unit = "s/1,000 samples" if per_1000 else "s/epoch"
    own = {(beside.row.backend, beside.row.image_data_format, _here(beside)): beside.seconds for beside in found}
    printed = {id(beside.figure): beside for beside in found}
    lines: list[tuple[float, tuple[str, ...]]] = [
        (seconds, (plain(backend), f"here ({plain(where)})", significant(seconds), MISSING, OWN))
        for (backend, _, where), seconds in own.items()
    ]
    lines += [(beside.published, _printed(beside, found, footnotes, shared)) for beside in printed.values()]
    lines = sorted(lines, key=lambda pair: pair[0])
    row, same = found[0].row, any(beside.same_backend for beside in found)
    of_all = "" if per_1000 else f" of {row.epoch_samples:,} samples"
    return Table(
        heading=plain(f"{row.example} ({unit}{of_all}, here and published)"),
        columns=("framework", "hardware", unit, "x published", "source"),
        rows=tuple(line for _, line in lines),
        own=frozenset(number for number, (_, line) in enumerate(lines) if line[-1] == OWN),
        text_columns=frozenset({"framework", "hardware", "x published", "source"}),
        footnotes=tuple(footnotes),
        remarks=(
            *([_RATIO] if same else []),
            *(f"All: {note}." for note in sorted(shared)),
        ),
        about={_RATIO: ("x published",)},
    )


_RATIO = "x published: the time here over the published time of the same backend."


def _here(beside: FigureBesideRow) -> str:
    """The device of the row, and how many workers were on it."""
    return f"{beside.row.device}{_of_workers(beside)}"


def _of_workers(beside: FigureBesideRow) -> str:
    """How many workers the row has, if several."""
    workers = workers_of(beside.row)
    return f", {workers} workers" if workers > 1 else ""


def _note(beside: FigureBesideRow) -> tuple[str, ...]:
    return (beside.figure.note,) if beside.figure.note else ()


def _printed(
    beside: FigureBesideRow, found: Sequence[FigureBesideRow], footnotes: list[str], shared: Collection[str]
) -> tuple[str, ...]:
    ratios = [
        f"{significant(other.ratio)} ({other.row.backend.partition('/')[0]}{_of_workers(other)})"
        for other in found
        if other.figure is beside.figure and other.same_backend
    ]
    return (
        plain(beside.figure.framework),
        plain(hardware(beside.figure)),
        significant(beside.published),
        ", ".join(ratios) or MISSING,
        marked(
            beside.figure.source,
            [note for note in (*beside.differs, *_note(beside)) if note not in shared],
            footnotes,
        ),
    )


def hardware(figure: PublishedFigure) -> str:
    """What a figure was measured on, with the number of GPUs or threads."""
    threads = f", {figure.threads} {'thread' if figure.threads == 1 else 'threads'}" if figure.threads else ""
    gpus = f"{figure.gpus} x " if figure.gpus and figure.gpus > 1 else ""
    return f"{gpus}{figure.hardware}{threads}"
