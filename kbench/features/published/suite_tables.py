"""A suite's results laid out as its original's tables are, with the published figures beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from kbench.comparison.scaling import carried
from kbench.features.published.figure_tables import hardware
from kbench.features.published.figures import PublishedFigure, same_backend
from kbench.features.published.suites import Layout, Suite
from kbench.records import axes
from kbench.records.values import OK, base
from kbench.summary import Summary
from kbench.tables.content import Table, remarks_once
from kbench.tables.entries import accuracy, marked
from kbench.words.text import MISSING, plain, significant

HERE, ON_GPU = "here", "GPU"
HARDWARE = "hardware"  # as columns
_ACCURACY = "accuracy"  # as a unit
_SCORES = ("test_accuracy", "mean_auc")
_KNOWN, _NONE, _SOME = "known difference", "none", "yes"
_FEWEST = 4  # columns of a table with one of values


def heading(suite: Suite) -> str:
    """What the tables are of, in a line."""
    return f"Suite {suite.name}: {suite.title}"


def source(suite: Suite) -> str:
    """Where the original is."""
    return ". ".join(filter(None, (suite.citation.rstrip("."), suite.source))) + "."


def tables(
    suite: Suite, rows: Sequence[Summary], figures: Sequence[PublishedFigure], *, measured_only: bool = False
) -> list[Table]:
    """A table for each layout and example with rows. `measured_only`: published figures only of measured backends
    and, against a number, on such a device.

    One with a single column is left out, unless it is all that there is of an example: others say the same.
    """
    found: list[tuple[tuple[str, str], Table]] = []
    for layout in suite.tables:
        for example in layout.examples or suite.settings:
            own = [row for row in rows if row.example == example and row.task == layout.task]
            settings = suite.settings.get(example)
            if settings and settings.epoch_samples:
                own = [replace(row, available_samples=settings.epoch_samples) for row in own]
            if own:
                printed = [one for one in figures if _is_of(one, layout, example, suite)]
                if layout.columns == axes.WORKERS:
                    scaled = {_setting(one) for one in printed if one.workers > 1}
                    printed = [one for one in printed if _setting(one) in scaled]
                found.append(((example, layout.task), _table(suite, layout, own, printed, measured_only)))
    shown = {of for of, table in found if len(table.columns) > _FEWEST}
    kept = []
    for of, table in found:
        if len(table.columns) > _FEWEST or of not in shown:
            kept.append(table)
            shown.add(of)
    return remarks_once(kept)


def _setting(figure: PublishedFigure) -> tuple[str, int | None]:
    """What figures on one and on several GPUs have in common."""
    return figure.source, figure.batch_size


def _is_of(figure: PublishedFigure, layout: Layout, example: str, suite: Suite) -> bool:
    infers = figure.metric == "time_per_1000_images"
    is_score = figure.metric in _SCORES
    return (
        figure.workload == example
        and figure.source in suite.published
        and is_score == (layout.unit == _ACCURACY)
        and (is_score or infers == (layout.task == "infer"))
    )


@dataclass
class _Line:
    """A line of a table: its first entries, its values by column, and what it is of."""

    name: str
    beside: str  # where it was measured, or as what it was published
    rows: list[Summary] = field(default_factory=list)
    figures: list[PublishedFigure] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)

    def add(self, column: str, value: str) -> None:
        """One more value in a column; the same one again is left out."""
        there = self.values.setdefault(column, [])
        if value not in there:
            there.append(value)


def _table(
    suite: Suite, layout: Layout, rows: Sequence[Summary], printed: Sequence[PublishedFigure], measured_only: bool
) -> Table:
    """The table of one layout and example."""
    footnotes: list[str] = []
    printed = [one for one in printed if _printed(one, layout, rows[0]) is not None]
    lines = _of_hardware(layout, rows, printed) if layout.columns == HARDWARE else _of_axis(layout, rows, printed)
    kept = [one for one in lines if one.rows or not measured_only or _measured(layout, one, rows)]
    columns = _in_order(column for line in kept for column in line.values)
    first = "published as" if layout.columns == HARDWARE else HARDWARE
    unit = "" if layout.unit == layout.title else f" ({layout.unit})"
    return Table(
        heading=plain(f"{rows[0].example}: {layout.title}{unit}"),
        columns=("backend or framework", first, *(_titled(layout, column) for column in columns), _KNOWN),
        rows=tuple(
            (
                plain(one.name),
                plain(one.beside),
                *(" / ".join(one.values.get(column, ())) or MISSING for column in columns),
                _difference(suite, one, footnotes),
            )
            for one in kept
        ),
        own=frozenset(number for number, one in enumerate(kept) if one.rows),
        text_columns=frozenset({"backend or framework", first, _KNOWN}),
        footnotes=tuple(footnotes),
        remarks=_remarks(layout, rows, kept, bool(printed), len(lines) - len(kept)),
    )


def _of_axis(layout: Layout, rows: Sequence[Summary], printed: Sequence[PublishedFigure]) -> list[_Line]:
    """Lines with a column for each number: below those of a backend the figures that were published of it."""
    ours: dict[str, _Line] = {}
    for row in rows:
        name = _name(row, rows, layout.columns)
        line = ours.setdefault(name, _Line(name, HERE))
        line.rows.append(row)
        line.add(_column(layout, row.key[layout.columns] or None, row.device != "cpu"), _value(row, layout))
    theirs: dict[tuple[str, str], _Line] = {}
    batches = {row.batch_size for row in rows}
    for figure in printed:
        where = _where(figure, layout, batches)
        line = theirs.setdefault((figure.framework, where), _Line(figure.framework, where))
        line.figures.append(figure)
        line.add(_column(layout, getattr(figure, layout.columns), _on_gpu(figure)), _shown(figure, layout, rows[0]))
    below: dict[str, list[_Line]] = {}
    others = []
    for line in theirs.values():
        published = line.figures[0].backend
        own = [name for name, one in ours.items() if same_backend(published, one.rows[0].backend)]
        own = own or [name for name, one in ours.items() if _framework(published) == _framework(one.rows[0].backend)]
        below.setdefault(own[-1], []).append(line) if own else others.append(line)
    return [*(each for name, line in ours.items() for each in (line, *below.get(name, ()))), *others]


def _framework(backend: str) -> str:
    """A backend's name without generation and settings, or the 1 of a framework's first generation."""
    return base(backend).rpartition("/")[2].removesuffix("1")


def _measured(layout: Layout, line: _Line, rows: Sequence[Summary]) -> bool:
    """Whether published figures are of a framework in the rows, and in a column of numbers on such a device."""
    devices = {_on_gpu(one) for one in line.figures}
    if layout.columns != HARDWARE and devices.isdisjoint(row.device != "cpu" for row in rows):
        return False
    return any(_framework(one.backend) in {_framework(row.backend) for row in rows} for one in line.figures)


def _on_gpu(figure: PublishedFigure) -> bool:
    return bool(figure.gpus) and figure.threads is None


def _of_hardware(layout: Layout, rows: Sequence[Summary], printed: Sequence[PublishedFigure]) -> list[_Line]:
    """Lines of a backend with a column for each machine: this one, and those of the figures."""
    found: dict[str, _Line] = {}
    for row in rows:
        name = _name(row, rows, "")
        line = found.setdefault(name, _Line(name, MISSING))
        line.rows.append(row)
        line.add(HERE, _value(row, layout))
    others: dict[str, _Line] = {}
    exact = {row.backend for row in rows}
    for figure in printed:
        own = [
            line
            for line in found.values()
            for row in line.rows[:1]
            if (
                figure.backend == row.backend
                if figure.backend in exact
                else same_backend(figure.backend, row.backend)
            )
        ]
        for line in own:
            line.beside = figure.framework
        for line in own or [others.setdefault(figure.framework, _Line(figure.framework, MISSING))]:
            line.figures.append(figure)
            line.add(hardware(figure) or "published", _shown(figure, layout, rows[0]))
    return [*found.values(), *others.values()]


def _name(row: Summary, rows: Iterable[Summary], column: str) -> str:
    """The row's backend, and what else varies between the rows, but for the axis of the columns."""
    rows = list(rows)
    left = (*axes.TITLE, axes.TASK, column, *axes.of_backends(), *carried(axes.by_name(column), rows))
    others = [axis for axis in axes.within_backends(one.key for one in rows) if axis.name not in left]
    shown = [text for axis in others if (text := axes.shown(axis, row.key[axis.name]))]
    return ", ".join([row.backend, *shown])


def _value(row: Summary, layout: Layout) -> str:
    """What the row shows; its status, if that is not ok."""
    if row.status != OK or row.unranked:
        return row.unranked or row.status
    if layout.unit == _ACCURACY:
        return accuracy(row)
    per_1000 = row.seconds_per_1000_samples
    found = _in_unit(per_1000, layout, row.batch_size, row.epoch_samples) if per_1000 else None
    return significant(found)


def _printed(figure: PublishedFigure, layout: Layout, row: Summary) -> float | None:
    """A published value in the table's unit; `row` is one of the example."""
    if layout.unit == _ACCURACY:
        return figure.value
    seconds = figure.seconds
    if not seconds:
        return None
    per_1000 = seconds if figure.per_1000 else 1000 * seconds / row.epoch_samples
    return _in_unit(per_1000, layout, figure.batch_size, row.epoch_samples)


def _shown(figure: PublishedFigure, layout: Layout, row: Summary) -> str:
    return significant(_printed(figure, layout, row))


def _in_unit(per_1000: float, layout: Layout, batch_size: int | None, samples: int) -> float | None:
    match layout.unit:
        case "s/mini-batch":
            return per_1000 * batch_size / 1000 if batch_size else None
        case "samples/s":
            return 1000 / per_1000
        case "s/epoch":
            return per_1000 * samples / 1000
        case _:
            return per_1000


def _column(layout: Layout, at: object, on_gpu: bool) -> str:
    return ON_GPU if layout.columns == axes.THREADS and on_gpu else MISSING if at is None else str(at)


def _in_order(columns: Iterable[str]) -> list[str]:
    """Each once: numbers by size, then others as they come."""
    found = list(dict.fromkeys(columns))
    return [
        *sorted((one for one in found if one.isdecimal()), key=int),
        *(one for one in found if not one.isdecimal()),
    ]


def _titled(layout: Layout, column: str) -> str:
    return axes.shown(axes.by_name(layout.columns), int(column)) if column.isdecimal() else column


def _where(figure: PublishedFigure, layout: Layout, batches: set[int]) -> str:
    """The hardware of a figure, and its batch size where no row has that."""
    other = figure.batch_size if figure.batch_size not in batches and layout.columns != axes.BATCH_SIZE else None
    columns = layout.columns
    gpus = None if columns == axes.WORKERS else figure.gpus
    where = hardware(replace(figure, gpus=gpus, threads=None if columns == axes.THREADS else figure.threads))
    return f"{where}{f', batch {other:,}' if other else ''}"


def _difference(suite: Suite, line: _Line, footnotes: list[str]) -> str:
    """Whether the published figures of a line are known to be of another network than the example's, or its row."""
    why = [how for row in line.rows for how in row.differs]
    printed = {(one.workload, one.framework) for one in line.figures}
    why += [f"{one.framework}: {one.why}" for one in suite.other_networks if (one.example, one.framework) in printed]
    if why:
        return marked(_SOME, why, footnotes)
    return _NONE if line.figures else MISSING


def _remarks(
    layout: Layout, rows: Sequence[Summary], lines: Sequence[_Line], printed: bool, left_out: int
) -> tuple[str, ...]:
    row, shown = rows[0], any(line.figures for line in lines)
    several = any(len(values) > 1 for line in lines for values in line.values.values())
    possible = {
        f"{_KNOWN}: {_SOME} if the published program is known to use another network. {_NONE.capitalize()} proves"
        " nothing: kbench did not run that program.": shown,
        "Published figures are of other hardware and versions; none was measured by kbench.": shown,
        f"a / b: published more than once; `list published {row.example}` shows the sources.": several,
        f"Measured here on {row.samples:,} of {row.epoch_samples:,} samples and scaled up.": (
            layout.unit == "s/epoch" and row.samples < row.epoch_samples
        ),
        "Measured on synthetic data.": row.task == "train" and any(one.data_source == "synthetic" for one in rows),
        f"{left_out} more {'line' if left_out == 1 else 'lines'} of published figures: in summary.md.": bool(
            left_out
        ),
        "No figures are published for this.": not printed,
    }
    return tuple(text for text, applies in possible.items() if applies)
