"""Published figures, alone and beside a run's own, as people and programs read them."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

from kbench.comparison.published import Figure, FigureBesideRow
from kbench.tables import markdown as as_markdown
from kbench.tables import text as as_text
from kbench.tables.content import Table, marked
from kbench.text import MISSING, plain, significant

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
            "example": one.row.example,
            "backend": one.row.backend,
            "image_data_format": one.row.image_data_format,
            "device": one.row.device,
            "measure": "seconds per 1,000 samples" if one.figure.per_1000 else "seconds per epoch",
            "seconds": one.seconds,
            "framework": one.figure.framework,
            "same_backend": one.same_backend,
            "hardware": one.figure.hardware,
            "published_seconds": one.published,
            "ratio": one.ratio,
            "differs": "; ".join(one.differs),
            "source": one.figure.source,
            "note": one.figure.note,
        }
        for one in found
    ]


def figure_rows(figures: Sequence[Figure]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of figures."""
    heads = ["framework", "hardware", "batch", "what", "value", "source"]
    rows = [
        [
            plain(one.framework),
            plain(hardware(one)) or MISSING,
            MISSING if one.batch_size is None else str(one.batch_size),
            one.metric.replace("_", " "),
            f"{one.value:g}{'' if one.spread is None else f' ± {one.spread:g}'} {one.unit}",
            one.source,
        ]
        for one in figures
    ]
    return heads, rows


def workload_rows(figures: Sequence[Figure], examples: Collection[str]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table with one row a workload; kbench has `examples`."""
    heads = ["workload", "example", "figures", "frameworks", "sources"]
    rows = []
    for name in dict.fromkeys(one.workload for one in figures):
        of_workload = [one for one in figures if one.workload == name]
        frameworks = len({one.framework for one in of_workload})
        sources = ", ".join(dict.fromkeys(one.source for one in of_workload))
        rows.append([name, "yes" if name in examples else "no", str(len(of_workload)), str(frameworks), sources])
    return heads, rows


def covered(figures: Sequence[Figure], examples: Collection[str]) -> str:
    """A sentence: how many figures can be measured again here, with one of `examples`."""
    of_networks = [one for one in figures if one.of_network]
    having = sum(one.workload in examples for one in of_networks)
    counts = len(figures) - len(of_networks)
    rest = f" {counts} count what an API offers, of no network." if counts else ""
    return f"{having} of {len(of_networks)} figures of networks have an example.{rest}"


def tables(found: Sequence[FigureBesideRow]) -> list[Table]:
    """One table per example: this run's rows and the published figures, fastest first."""
    return [_table(list(group)) for _, group in groupby(found, key=lambda one: one.row.example)]


def _table(found: Sequence[FigureBesideRow]) -> Table:
    footnotes: list[str] = []
    shared = set.intersection(*({*one.differs, *_note(one)} for one in found))
    per_1000 = found[0].figure.per_1000
    unit = "s/1,000 samples" if per_1000 else "s/epoch"
    own = {(one.row.backend, one.row.image_data_format, one.row.device): one.seconds for one in found}
    printed = {id(one.figure): one for one in found}
    lines: list[tuple[float, tuple[str, ...]]] = [
        (seconds, (plain(backend), f"here ({plain(device)})", significant(seconds), MISSING, OWN))
        for (backend, _, device), seconds in own.items()
    ]
    lines += [(one.published, _printed(one, found, footnotes, shared)) for one in printed.values()]
    row, same = found[0].row, any(one.same_backend for one in found)
    of_all = "" if per_1000 else f" of {row.available_samples or row.samples:,} samples"
    return Table(
        heading=plain(f"{row.example} ({unit}{of_all}, here and published)"),
        columns=("framework", "hardware", unit, "x published", "source"),
        rows=tuple(line for _, line in sorted(lines, key=lambda pair: pair[0])),
        text_columns=frozenset({"framework", "hardware", "x published", "source"}),
        footnotes=tuple(footnotes),
        remarks=(
            *(["x published: the time here over the published time of the same backend."] if same else []),
            *(f"All: {note}." for note in sorted(shared)),
        ),
    )


def _note(one: FigureBesideRow) -> tuple[str, ...]:
    return (one.figure.note,) if one.figure.note else ()


def _printed(
    one: FigureBesideRow, found: Sequence[FigureBesideRow], footnotes: list[str], shared: Collection[str]
) -> tuple[str, ...]:
    ratios = [
        f"{significant(other.ratio)} ({other.row.backend.partition('/')[0]})"
        for other in found
        if other.figure is one.figure and other.same_backend
    ]
    return (
        plain(one.figure.framework),
        plain(hardware(one.figure)),
        significant(one.published),
        ", ".join(ratios) or MISSING,
        marked(one.figure.source, [note for note in (*one.differs, *_note(one)) if note not in shared], footnotes),
    )


def hardware(figure: Figure) -> str:
    """What a figure was measured on, with the number of GPUs or threads."""
    threads = f", {figure.threads} threads" if figure.threads else ""
    gpus = f"{figure.gpus} x " if figure.gpus and figure.gpus > 1 else ""
    return f"{gpus}{figure.hardware}{threads}"
