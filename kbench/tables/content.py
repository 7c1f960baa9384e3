"""What an example's table says, before it is laid out: heading, columns, cells, footnotes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from kbench.values import OK, Summary
from kbench.wording import MISSING, plain, significant


@dataclass(frozen=True)
class Table:
    """One example's table, as plain text without control characters."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: frozenset[str]  # aligned to the left; the others are numbers
    footnotes: tuple[str, ...]  # the first is [1]
    remarks: tuple[str, ...]  # on the whole table


def tables(summaries: Iterable[Summary]) -> list[Table]:
    """One table per example, rows in the order given; the rows of an example stand together."""
    return [table(list(rows)) for _, rows in groupby(summaries, key=lambda row: row.example)]


def table(rows: Sequence[Summary]) -> Table:
    """The table of one example. `rows` is not empty."""
    footnotes: list[str] = []
    columns = _columns(rows)
    return Table(
        heading=heading(rows),
        columns=(*columns, "status"),
        rows=tuple((*(cell(row) for cell in columns.values()), _status(row, footnotes)) for row in rows),
        text_columns=frozenset({"backend", "channels", "device", "recurrent", "status"}),
        footnotes=tuple(footnotes),
        remarks=_remarks(rows),
    )


def heading(rows: Sequence[Summary]) -> str:
    """What the rows of one example have in common, such as
    `mnist_cnn (quick: 10,000 of 60,000 samples, 3 epochs, batch 128, real data, cpu)`.
    """
    row = rows[0]
    of_all = f" of {row.available_samples:,}" if _is_subset(row) else ""
    passes = ("pass", "passes") if row.task == "infer" else ("epoch", "epochs")
    facts = [
        f"{row.samples:,}{of_all} samples",
        f"{row.epochs:,} {passes[row.epochs != 1]}",
        f"batch {row.batch_size:,}",
    ]
    facts += [f"{row.data_source} data"] if row.data_source else []
    facts += [] if _varies(rows, "device") else [row.device]
    facts += [row.image_data_format] if row.input == "image" and not _varies(rows, "image_data_format") else []
    return plain(f"{row.example} ({row.profile}: {', '.join(facts)})")


def headline(summaries: Sequence[Summary]) -> str:
    """Who is fastest where, and how many rows did not end ok: one or two sentences."""
    places = dict.fromkeys((row.example, row.device) for row in summaries)
    wins: dict[str, int] = {}
    for row in summaries:
        if row.relative_to_fastest == 1.0:
            wins[row.backend] = wins.get(row.backend, 0) + 1
    several_devices = len({row.device for row in summaries}) > 1
    what = "comparisons" if several_devices else "examples"
    ranked = sorted(wins.items(), key=lambda item: (-item[1], item[0]))
    if not ranked:
        first = "No backend has a steady epoch to compare."
    elif len(places) == 1:
        first = f"{' and '.join(name for name, _ in ranked)} was fastest."
    else:
        (best, count), *others = ranked
        first = f"{best} was fastest in {count} of {len(places)} {what}"
        first += "".join(f", {name} in {number}" for name, number in others) + "."
    missed = [row for row in summaries if row.status != OK]
    rows = "row" if len(summaries) == 1 else "rows"
    tail = (
        f"{len(missed)} of {len(summaries)} {rows} did not end ok."
        if missed
        else f"All {len(summaries)} {rows} ended ok."
    )
    unlike = sum(bool(row.differs) for row in summaries)
    if unlike:
        tail += f" {unlike} {'row was' if unlike == 1 else 'rows were'} not measured like the others (differs)."
    return plain(f"{first} {tail}")


def _columns(rows: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    columns: dict[str, Callable[[Summary], str]] = {"backend": lambda row: plain(row.backend)}
    if _varies(rows, "image_data_format") and rows[0].input in ("image", ""):
        columns["channels"] = lambda row: plain(row.image_data_format.removeprefix("channels_"))
    if _varies(rows, "device"):
        columns["device"] = lambda row: plain(row.device)
    if any(row.form for row in rows):
        columns["recurrent"] = lambda row: plain(row.form) or ("default" if row.status == OK else MISSING)
    relative: dict[str, Callable[[Summary], str]] = {"x fastest": lambda row: significant(row.relative_to_fastest)}
    if rows[0].task == "infer":
        unit = "images" if rows[0].input in ("image", "") else "samples"
        return {
            **columns,
            f"s/1,000 {unit}": lambda row: significant(row.seconds_per_1000_samples),
            **relative,
            "cold pass (s)": lambda row: significant(row.first_epoch_seconds),
            f"{unit}/s": lambda row: significant(row.samples_per_second),
        }
    return {
        **columns,
        "s/epoch": lambda row: significant(row.epoch_seconds),
        **relative,
        "first epoch (s)": lambda row: significant(row.first_epoch_seconds),
        "samples/s": lambda row: significant(row.samples_per_second),
        "val. accuracy": lambda row: _accuracy(row.final_val_accuracy),
    }


def _accuracy(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4f}"


def _status(row: Summary, footnotes: list[str]) -> str:
    """The row's status and the marks of its footnotes, which are added to `footnotes` where they are new."""
    said = [row.reason] if row.reason and row.status != OK else []
    marks = []
    for text in map(plain, [*said, *row.differs, *row.notes]):
        if text not in footnotes:
            footnotes.append(text)
        marks.append(f"[{footnotes.index(text) + 1}]")
    return " ".join([f"{row.status}, differs" if row.differs else row.status, *dict.fromkeys(marks)])


def _remarks(rows: Sequence[Summary]) -> tuple[str, ...]:
    remarks = []
    if any(row.differs for row in rows):
        remarks.append("differs: this row was not measured like the others, so it is compared with none.")
    if any(row.weights == "backend" for row in rows):
        remarks.append("Initial weights are each backend's own, so that the curves do not begin alike.")
    if rows[0].epochs == 1:
        once = "One pass only" if rows[0].task == "infer" else "One epoch only"
        remarks.append(f"{once}: it holds compilation and warm-up, so no steady time and no ratio are given.")
    if any(row.form for row in rows):
        remarks.append(
            "recurrent: the form of the recurrent layers in which the backend computes the model described."
        )
    return tuple(remarks)


def _is_subset(row: Summary) -> bool:
    return row.available_samples is not None and row.samples < row.available_samples


def _varies(rows: Sequence[Summary], name: str) -> bool:
    return len({getattr(row, name) for row in rows}) > 1
