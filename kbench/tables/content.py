"""What an example's table says, before it is laid out: heading, columns, cells, footnotes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby

from kbench import hooks
from kbench.analysis.times.machine_stability import disturbs
from kbench.records import axes
from kbench.records.axes import Axis
from kbench.records.values import FAILED, NO_DIFFERENCE, NOT_COMPARED, OK, TIMEOUT, Cell, base, beside_others
from kbench.summary import TO_BASELINE, TO_DEFAULT, TO_FASTEST, Figure, Summary, figures
from kbench.tables import data, notes
from kbench.tables.answers import THEN, answer
from kbench.tables.columns import chosen, texts
from kbench.tables.entries import accuracy, marked, of_ratio, short_target, shows_spread, timed, with_half
from kbench.words.text import MISSING, plain, significant

_MARKS = {
    NO_DIFFERENCE: "~: open: no difference shown, as the interval of the ratio includes 1.",
    NOT_COMPARED: "?: could not be compared{why}.",
}
_FEW = "there are too few values"
_WIDE = "the interval of the ratio is wider than a factor of 3 each way"
_KERNELS = (
    "kernel: how time steps were computed: fused (one kernel for all), scan (a compiled loop), loop (one by one), "
    "unrolled (all in one graph)."
)


@dataclass(frozen=True)
class Table:
    """One example's table, as plain text without control characters."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: frozenset[str]  # aligned to the left; the others are numbers
    footnotes: tuple[str, ...] = ()  # the first is [1]
    remarks: tuple[str, ...] = ()  # on the whole table
    optional: tuple[str, ...] = ()  # columns that a narrow page leaves out, in this order
    answer: str = ""  # the result in sentences
    first: int = 1  # the number of the first footnote
    about: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # remark -> the columns that it explains
    own: frozenset[int] = frozenset()  # which rows are of the run itself, where others are not

    def without(self, columns: Collection[str]) -> list[str]:
        """The remarks where these columns are not shown."""
        return [one for one in self.remarks if not {*self.about.get(one, ("",))} <= {*columns}]

    @property
    def numbered(self) -> list[str]:
        """The footnotes with their marks."""
        return [f"[{number}] {note}" for number, note in enumerate(self.footnotes, self.first)]


def tables(
    summaries: Iterable[Summary], repeat_command: str = "", shown: Sequence[str] = (), brief: bool = False
) -> list[Table]:
    """One table per example, in reading order: a note stands below the first table that it is about.

    `repeat_command` repeats what could not be compared. `brief`: of an example's row only its chief note, and
    of observed work not why it failed, which stands above, nor tables that say nothing.
    """
    footnotes: list[str] = []
    several = [*summaries]
    groups = by_example(several)
    if brief:
        groups = [rows for rows in groups if not (kind := rows[0].work.told_by) or kind.on_screen(rows, several)]
    return remarks_once([table(rows, footnotes, repeat_command, shown, brief) for rows in groups])


def by_example(summaries: Iterable[Summary]) -> list[list[Summary]]:
    """The rows of each example and task, which stand together, in the order given."""
    return [list(rows) for _, rows in groupby(summaries, key=of_table)]


def of_table(one: Summary | Cell) -> tuple[str, object]:
    """What the rows of one table have in common: the example and, where that varies, what is done with it."""
    return one.example, one.key.named[axes.TASK]


def remarks_once(found: Iterable[Table]) -> list[Table]:
    """Without the remarks, and the command that measures again, that an earlier table also has."""
    made: set[str] = set()
    once = []
    for one in found:
        before, then, after = re.split(f"({THEN.format('.*?')}|$)", one.answer, maxsplit=1)
        answer = f"{before}{'' if then in made else then}{after.replace(then, '')}"
        once.append(replace(one, answer=answer, remarks=tuple(each for each in one.remarks if each not in made)))
        made |= {*one.remarks, then}
    return once


def table(
    rows: Sequence[Summary],
    footnotes: list[str] | None = None,
    repeat_command: str = "",
    shown: Sequence[str] = (),
    brief: bool = False,
) -> Table:
    """The table of one example. `rows` is not empty; new footnotes are added to those of the tables above."""
    footnotes = [] if footnotes is None else footnotes
    above = len(footnotes)
    entries = {name: partial(timed, name, column) for name, column in _columns(rows).items()}
    columns = chosen({**entries, "status": lambda row: _status(row, footnotes, brief)}, rows, shown)
    about = _remarks(rows)
    usual = {"backend", "channels", "device", "recurrent", "kernel", "verdict", "status"}
    return Table(
        heading=heading(rows),
        columns=tuple(columns),
        rows=tuple(tuple(cell(row) for cell in columns.values()) for row in rows),
        text_columns=frozenset(usual | texts(rows, shown)),
        footnotes=tuple(footnotes[above:]),
        first=above + 1,
        remarks=tuple(one for one, its in about.items() if its == _WHOLE or {*its} & {*columns}),
        about={one: tuple(name for name in its if name in columns) for one, its in about.items() if its != _WHOLE},
        answer=answer(rows, repeat_command),
        optional=()
        if shown
        else tuple(name for name in (*_unneeded(rows), *_optional(), *_less_asked(rows)) if name in columns),
    )


def _optional() -> list[str]:
    """What a narrow page leaves out first. A verdict is never left out."""
    found = sorted((one for one in figures().values() if one.left_out), key=lambda one: one.left_out)
    return [heading for one in found for heading in one.headings]


def _unneeded(rows: Sequence[Summary]) -> list[str]:
    """The layout, where each backend has one."""
    return (
        ["channels"]
        if len({(row.backend, row.image_data_format) for row in rows}) == len({row.backend for row in rows})
        else []
    )


def heading(rows: Sequence[Summary]) -> str:
    """What the rows of one example have in common, such as
    `mnist_cnn (quick: 10,000 of 60,000 samples, 3 epochs, batch 128, real data, cpu)`.
    """
    row = rows[0]
    if kind := row.work.told_by:
        return plain(kind.heading(rows))
    varying = {axis.name for axis in axes.varying(row.key for row in rows)}
    of_all = f" of {row.available_samples:,}" if row.samples < (row.available_samples or 0) else ""
    facts = [
        *(["inference"] if row.key.named[axes.TASK] == "infer" else []),
        *([] if axes.SAMPLES in varying else [f"{row.samples:,}{of_all} samples"]),
        f"{row.epochs:,} {row.work.unit if row.epochs == 1 else row.work.units}",
        *([] if axes.BATCH_SIZE in varying else [f"batch {row.key[axes.BATCH_SIZE]:,}{_of_each(row)}"]),
        *(
            axes.shown(axis, value)
            for axis in axes.numbers()
            if axis.default and axis.name not in varying and (value := row.key[axis.name]) not in (None, axis.default)
        ),
    ]
    facts += [said] if (said := data.in_short(row)) and axes.DATA not in varying else []
    facts += [] if axes.DEVICE in varying else [row.device]
    facts += [row.image_data_format] if row.input == "image" and axes.LAYOUT not in varying else []
    return plain(f"{row.example} ({row.profile}: {', '.join(facts)})")


def _of_each(row: Summary) -> str:
    """What is said behind a batch size that each of several has."""
    return "".join(f" of each {axis.title.removesuffix('s')}" for axis in axes.multipliers(row.key))


def _columns(rows: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    columns: dict[str, Callable[[Summary], str]] = {"backend": lambda row: plain(row.backend)}
    columns |= {axis.title: partial(_on_axis, axis) for axis in _varying(rows)}
    if any(row.form for row in rows):
        columns["recurrent"] = lambda row: plain(row.form) or ("default" if row.status == OK else MISSING)
    if any(row.recurrent_kernel for row in rows):
        columns["kernel"] = lambda row: plain(row.recurrent_kernel) or MISSING
    work = rows[0].work
    if work.told_by:
        return columns | dict(work.told_by.columns(rows))
    infers, unit = work.per_samples, "images" if rows[0].input in ("image", "") else "samples"
    columns[work.column.replace("samples", unit)] = lambda row: with_half(row.shown_seconds, row.shown_interval)
    columns |= comparison(rows) | _shown_figures(rows, "comparison")
    columns["cold pass (s)" if infers else "first epoch (s)"] = lambda row: significant(row.first_epoch_seconds)
    if all(row.tokens_per_second is None for row in rows):
        columns[f"{unit}/s" if infers else "samples/s"] = lambda row: significant(row.samples_per_second)
    columns |= _shown_figures(rows, "speed")
    if any(axis.number for axis in _varying(rows)) and any(row.memory_mib for row in rows):
        columns["memory (MiB)"] = lambda row: significant(row.memory_mib)
    if any(row.memory_growth_mib for row in rows):
        columns[f"MiB more each {work.unit}"] = lambda row: significant(row.memory_growth_mib, 2)
    columns |= _shown_figures(rows, "memory")
    if infers or data.is_synthetic(rows[0]):  # whose scores mean nothing
        return columns
    return columns | _scores(rows) | _target_columns(rows)


def _shown_figures(rows: Sequence[Summary], place: str) -> dict[str, Callable[[Summary], str]]:
    """The figures that say of themselves that they are shown there, where a row has them."""
    return {
        one.headings[0]: _entry(name, one)
        for name, one in figures().items()
        if one.shown == place and any(row.value(name) is not None for row in rows)
    }


def _entry(name: str, shown: Figure) -> Callable[[Summary], str]:
    column = hooks.columns().get(name)
    return column.entry if column and column.entry else partial(_figure, name, shown)


def _figure(name: str, shown: Figure, row: Summary) -> str:
    value = row.value(name)
    return MISSING if value is None else significant(value * (1000 if shown.unit == "ms" else 1), shown.digits)


def _varying(rows: Sequence[Summary]) -> list[Axis]:
    """The axes that get a column, beside that of the backend; layouts only where the model has images."""
    found = [axis for axis in axes.varying(row.key for row in rows) if not axis.of_backend]
    return [axis for axis in found if axis.name != axes.LAYOUT or rows[0].input in ("image", "")]


def _on_axis(axis: Axis, row: Summary) -> str:
    return plain(axes.value_shown(axis, row.key)) or MISSING


def _scores(rows: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    """The validation accuracy if there is one, else the loss; then the example's own metrics."""
    columns: dict[str, Callable[[Summary], str]] = {}
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    ended = any(row.status == OK for row in rows)
    if any(row.final_val_accuracy is not None for row in rows) or not ended:
        columns["val. accuracy"] = accuracy
    elif any(row.final_val_loss is not None for row in rows):
        columns["val. loss"] = lambda row: significant(row.final_val_loss)
    else:
        columns["loss"] = lambda row: significant(row.final_loss)
    validated = [name for name in metrics if name.startswith("val_")]
    return columns | {plain(name): partial(metric, name) for name in validated or metrics}


def _less_asked(rows: Sequence[Summary]) -> list[str]:
    """The columns that a narrow page leaves out next: of an example its targets and scores."""
    kind = rows[0].work.told_by
    return [*kind.optional(rows)] if kind else [*_target_columns(rows), *_scores(rows)]


def metric(name: str, row: Summary) -> str:
    """The column of a score."""
    return MISSING if name not in row.metrics else f"{row.metrics[name]:.4g}"


def comparison(rows: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    """The ratio to the baseline, or else to the fastest, how sure it is, and what that shows."""
    kind, name = (TO_BASELINE, "x baseline") if rows[0].baseline else (TO_FASTEST, "times slower")
    columns: dict[str, Callable[[Summary], str]] = {name: partial(of_ratio, kind)}
    if any(kind in row.ratios and row.ratios[kind].interval for row in rows):
        columns["verdict"] = lambda row: row.verdict or MISSING
    if _with_default(rows):
        columns["x default"] = partial(of_ratio, TO_DEFAULT)
    for kind, heading in _of_features().items():
        if rows[0].baseline != kind and any(kind in row.ratios for row in rows):
            columns[heading] = partial(of_ratio, kind)
    return columns


def _of_features() -> dict[str, str]:
    """The kinds of ratios of features that have a column, with its heading."""
    return {kind: one.heading for kind, one in hooks.comparisons().items() if one.heading}


_Remarks = dict[str, tuple[str, ...]]  # -> the columns that they explain, of which one is to be shown
_WHOLE = ("",)  # the table as a whole


def _on(columns: tuple[str, ...], remarks: Mapping[str, bool]) -> _Remarks:
    """Those that apply."""
    return {remark: columns for remark, applies in remarks.items() if applies}


def _on_figures(rows: Sequence[Summary], *shown: str) -> _Remarks:
    """What columns of features say of themselves that are shown there."""
    there = [one for one in hooks.columns().values() if one.figure.shown in shown]
    return {said: one.figure.headings or _WHOLE for one in there if (said := one.remark(rows))}


def _with_default(rows: Sequence[Summary]) -> bool:
    """Whether a variant stands beside its backend as it is, unless that is the baseline already."""
    return any(TO_DEFAULT in row.ratios and base(row.backend) != row.baseline for row in rows)


def _target_columns(rows: Sequence[Summary]) -> dict[str, Callable[[Summary], str]]:
    """Time to accuracy, where a row got there."""
    if not any(row.repeats_to_target for row in rows):
        return {}
    target = f"to {short_target(rows[0].target)}"
    return {
        f"epochs {target}": lambda row: MISSING if row.epochs_to_target is None else f"{row.epochs_to_target:g}",
        f"s {target}": lambda row: significant(row.seconds_to_target),
    }


def _status(row: Summary, footnotes: list[str], brief: bool) -> str:
    further = [row.unranked, *dict.fromkeys(finding.in_status for finding in row.findings)]
    status = ", ".join([row.status, *filter(None, further)])
    told = notes.chief(row) if brief and not row.work.observed else notes.of(row)
    above = brief and row.work.observed and row.reason and row.status in (FAILED, TIMEOUT)
    return marked(status, told[1:] if above else told, footnotes)


def _remarks(rows: Sequence[Summary]) -> _Remarks:
    """Notes on the table, a line each; without figures, so that `remarks_once` finds the same ones."""
    first = rows[0]
    above = {
        **dict.fromkeys(beside_others({row.backend: row.beside_newer for row in rows}), True),
        data.remark(first): data.is_synthetic(first),
        "?time: disturbed, so not to be relied on.": any(map(disturbs, rows)),
    }
    kind, unit = first.work.told_by, first.work.unit
    on_training = {
        f"One {unit} only: it includes compilation and warm-up, so there is no steady time and no ratio.": (
            not kind and first.epochs == 1
        ),
        "Initial weights are each backend's own, so the curves start apart.": (
            any(row.weights == "backend" for row in rows)
        ),
    }
    differs = {
        "differs: it did other work than the other rows, so it is not compared with them.": any(
            row.unranked == "differs" for row in rows
        )
    }
    recurrent = {"recurrent: how the backend computes the recurrent layers.": any(row.form for row in rows)}
    return {
        **_on(_WHOLE, above),
        **_on(("status",), differs),
        **{said: tuple(columns) for said, columns in (kind.remarks(rows) if kind else {}).items()},
        **_on(_WHOLE, on_training),
        **_on_figures(rows, "speed", "memory"),
        **_on_comparison(rows),
        **_on_figures(rows, "comparison"),
        **_on_figures(rows, ""),
        **_on_learning(rows),
        **_on(("recurrent",), recurrent),
        **_on(("kernel",), {_KERNELS: any(row.recurrent_kernel for row in rows)}),
    }


def _on_comparison(rows: Sequence[Summary]) -> _Remarks:
    baseline = rows[0].baseline
    timed = any(TO_BASELINE in row.ratios for row in rows)
    default = "x default: time of the variant / time of the same backend without settings."
    ratios = ("times slower", "x baseline", "x default", *_of_features().values())
    few = "One process each: how much processes differ is taken from earlier runs."
    return {
        **_on(("x baseline",), {f"x baseline: the ratio to {plain(baseline)}.": bool(baseline) and timed}),
        **_on(_WHOLE, {f"No x baseline: {plain(baseline)} has no steady time here.": bool(baseline) and not timed}),
        **_on(("x default",), {default: _with_default(rows)}),
        **dict.fromkeys(marks(_verdicts(rows), _why_unknown(rows)), ratios),
        **_on(_WHOLE, {few: any(row.relative_processes == 1 for row in rows)}),
    }


def _verdicts(rows: Sequence[Summary]) -> list[str]:
    """Of all ratios that the table shows."""
    kinds = (TO_DEFAULT, *_of_features())
    others = [row.ratios[kind].verdict for row in rows for kind in kinds if kind in row.ratios]
    return [*(row.verdict for row in rows), *others]


def _on_learning(rows: Sequence[Summary]) -> _Remarks:
    seeds = "different seeds" if max(row.seeds for row in rows) > 1 else "the same seed"
    target = short_target(rows[0].target)
    until = "the validation accuracy reaches it" if target != rows[0].target else "that holds"
    missed = "".join(
        f" {plain(row.backend)} reached it in {row.repeats_to_target} of {row.repeats} repeats."
        for row in rows
        if row.repeats_to_target and row.repeats_to_target < row.repeats
    )
    spread = {f"± of an accuracy: the standard deviation over repeats with {seeds}.": any(map(shows_spread, rows))}
    reached = {f"to {target}: time until {until}.{missed}": any(row.repeats_to_target for row in rows)}
    return {**_on(("val. accuracy",), spread), **_on(tuple(_target_columns(rows)), reached)}


def _why_unknown(rows: Sequence[Summary]) -> str:
    """Why some of the ratios could not be compared; that other programs used the processor stands in the answer."""
    unknown = [one for row in rows for one in row.ratios.values() if one.verdict == NOT_COMPARED]
    whys = {_WIDE if one.interval else _FEW for one in unknown if not one.rough}
    return ", as " * bool(whys) + " or ".join(why for why in (_FEW, _WIDE) if why in whys)


def marks(verdicts: Iterable[str], why: str = f", as {_FEW}, or {_WIDE}") -> list[str]:
    """What the marks before ratios with these verdicts mean. why: some could not be compared, if that is known."""
    found = set(verdicts)
    return [meaning.format(why=why) for verdict, meaning in _MARKS.items() if verdict in found]
