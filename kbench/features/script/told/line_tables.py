"""What is said of a line of a user's program, of the whole of it, and of what it does outside Keras."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from kbench.analysis.times.machine_stability import disturbs
from kbench.features.script.lines import call_costs
from kbench.features.script.lines.call_sites import is_fit
from kbench.features.script.lines.finding_kinds import NO_SUM
from kbench.features.script.lines.line_details import details
from kbench.features.script.lines.sums import WITHIN
from kbench.records.axes import SITE
from kbench.records.values import NOT_COMPARED, OK
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.content import comparison, metric
from kbench.tables.entries import is_time
from kbench.words.text import MISSING, listed, plain, significant

MUCH = 0.2  # of a program: if its own Python takes more, that has a table
SHOWN = 0.01  # of an epoch: callbacks that take more have a column
_SETTINGS = frozenset(("lr", "learning_rate"))  # which callbacks write beside scores
_WHOLE = ("",)  # the table as a whole
Columns = dict[str, Callable[[Summary], str]]


def heading(rows: Sequence[Summary]) -> str:
    """Such as `train.py: fit, line 12 (1,000 samples, 5 epochs, batch 32, cpu)`, as far as that is known."""
    row = max(rows, key=lambda row: row.epochs)
    fits, calls = is_fit(row.site), row.calls or 0
    facts = [_counted(row.samples, "sample")] if row.samples and fits else []
    facts += [_counted(row.epochs, "epoch")] if fits else []
    if calls > 1:
        facts = [*facts[:-1], f"{facts[-1]} in {calls:,} calls"] if fits else [_counted(calls, "call")]
    facts += [f"batch {row.batch_size:,}"] if row.batch_size else []
    facts += [] if len({one.device for one in rows}) > 1 else [row.device]
    return plain(f"{row.example} ({', '.join(facts)})")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def on_screen(rows: Sequence[Summary], of_run: Sequence[Summary]) -> bool:
    """Whether the table of these rows says something: beside lines, the whole of a program does where times of it
    could be compared, or of a single backend told, and what is outside where that is much; so does what ended
    otherwise or has notes.
    """
    program = [row for row in of_run if row.program == rows[0].program]
    if rows[0].work.repeated or not any(row.work.repeated for row in program):
        return True
    if any(row.status != OK or row.unranked or row.notes or row.metrics for row in rows):
        return True
    if rows[0].work.compared:
        ratios = [row.ratios[TO_FASTEST] for row in rows if TO_FASTEST in row.ratios]
        verdicts = [one.verdict for one in ratios if one.value != 1]
        return any(one != NOT_COMPARED for one in verdicts) if verdicts else not disturbs(*rows)
    wholes = {row.key.without([SITE]): row for row in program if row.work.once and row.work.compared}
    return any(_own_share(row, wholes.get(row.key.without([SITE]))) > MUCH for row in rows)


def _own_share(outside: Summary, whole: Summary | None) -> float:
    """What the program itself takes of its time, which is neither Keras's nor its import."""
    if whole is None or not whole.total_seconds or disturbs(whole):
        return 0.0
    return ((outside.total_seconds or 0.0) - outside.phases.get("import", 0.0)) / whole.total_seconds


def columns(rows: Sequence[Summary]) -> Columns:
    """Those of a line that calls a model, of a whole program, or of what is outside."""
    work = rows[0].work
    found: Columns = {
        work.column: lambda row: significant(row.epoch_seconds if row.work.compared else row.total_seconds)
    }
    if work.compared:
        found |= comparison(rows)
    found |= _others(rows)
    timed = {name: partial(_left_out, name, column) if is_time(name) else column for name, column in found.items()}
    return timed | {plain(name): partial(metric, name) for name in _scores(rows)}


def _left_out(heading: str, column: Callable[[Summary], str], row: Summary) -> str:
    """A time that was left out, as its sum fails, is told as such."""
    shown, fails = column(row), row.has(NO_SUM)
    missing = shown == MISSING and fails and (fails.aspect == WITHIN or not heading.endswith("(s)"))
    return "?" if missing else shown


def optional(rows: Sequence[Summary]) -> list[str]:
    """Those that a narrow page leaves out, in this order: further times, then scores, the main one last."""
    times = ("steps/s", "around (s)", "compile (s)", "batches (s)", "callbacks (s)", "validation (s)", "total (s)")
    names = _scores(rows)
    main = min(names, key=_less_asked_for, default="")
    return [*times, *(plain(name) for name in reversed(names) if name != main), *([plain(main)] if main else [])]


def _less_asked_for(name: str) -> tuple[bool, ...]:
    """In order: a metric that the program asks for, in validation; then its loss, in validation."""
    return name in _SETTINGS, name.endswith("loss"), not name.startswith("val_")


def _scores(rows: Sequence[Summary]) -> list[str]:
    """Those that most programs have come first: a narrow page leaves out the last ones."""
    usual = ("loss", "accuracy", "val_loss", "val_accuracy")
    order = {name: number for number, name in enumerate(usual)}
    return sorted(
        {name for row in rows for name in row.metrics}, key=lambda name: (order.get(name, len(usual)), name)
    )


def _others(rows: Sequence[Summary]) -> Columns:
    """The columns behind the comparison, without scores."""
    work = rows[0].work
    columns: Columns = {}
    if work.once:
        columns["import (s)"] = lambda row: significant(row.phases.get("import"))
        columns |= {"memory (MiB)": lambda row: significant(row.peak_memory_mib)} if work.compared else {}
        return columns
    columns[f"{work.first} (s)"] = lambda row: significant(row.first_epoch_seconds)
    if not work.by_call:
        columns["steps/s"] = lambda row: significant(
            row.steps / row.epoch_seconds if row.epoch_seconds and row.steps else None
        )
    elif is_fit(rows[0].site):
        if any(_each_compiles(row) for row in rows):
            columns["compile (s)"] = lambda row: significant(row.compile_seconds if details(row).compiles else None)
        columns["around (s)"] = lambda row: significant(row.around_seconds)
    if any(row.evaluation_seconds for row in rows):
        columns["validation (s)"] = lambda row: significant(row.evaluation_seconds)
    if any((row.callback_seconds or 0.0) > SHOWN * (row.epoch_seconds or math.inf) for row in rows):
        columns["callbacks (s)"] = lambda row: significant(row.callback_seconds)
    if any(row.batch_making_seconds for row in rows):
        columns["batches (s)"] = lambda row: significant(row.batch_making_seconds)
    if any(row.total_seconds is not None for row in rows):
        columns["total (s)"] = lambda row: significant(row.total_seconds)
    return columns


def _each_compiles(row: Summary) -> bool:
    return details(row).compiles and call_costs.each_compiles(row.calls or 0, row.first_calls or 0)


def remarks(rows: Sequence[Summary]) -> dict[str, tuple[str, ...]]:
    """What is said below a table, and which columns it explains."""
    first = rows[0]
    weights = "Weights, sample order and dropout are the program's own; --init seeded gives all the same start."
    around = "around: of a call, outside its epochs and their validation."
    own_weights = is_fit(first.site) and any(row.weights == "its own" for row in rows)
    why = next(filter(None, (details(row).outputs_not_compared for row in rows)), "") if first.work.repeated else ""
    return {
        **({weights: _WHOLE} if own_weights else {}),
        **({f"Outputs are not compared: {why}.": _WHOLE} if why else {}),
        **dict.fromkeys((*_on_first_times(rows), *_on_epochs(rows)), _WHOLE),
        **({around: ("around (s)",)} if is_fit(first.site) and first.work.by_call else {}),
    }


def _on_first_times(rows: Sequence[Summary]) -> list[str]:
    """What is said of epochs and calls that include compilation."""
    first = rows[0]
    calls, work = first.calls or 0, first.work
    fits, timed = is_fit(first.site), any(row.epoch_seconds is not None for row in rows)
    eager = not any(details(row).compiles for row in rows)
    each = "Each call compiles" if fits and not eager else "First calls only, one a model"
    only = f"One {work.unit} only: it includes" if calls < 2 else f"{each}: each includes"
    part = each if calls == first.first_calls else "Many calls compile" if fits else "Many are first calls of a model"
    what = "warm-up" if eager else "compilation and warm-up"
    no_time = f"{only} {what}, so there is no steady time and no ratio."
    within = f"{part}: compilation is part of the time of a call."
    return [
        *([no_time] if work.repeated and not timed and _ended(rows) else []),
        *([within] if work.by_call and timed and any(map(_each_compiles, rows)) else []),
    ]


def _on_epochs(rows: Sequence[Summary]) -> list[str]:
    """What is said of fits that ended after other numbers of epochs, as by early stopping."""
    counts: dict[int, list[str]] = {}
    for row in rows:
        if row.status == OK and is_fit(row.site):
            counts.setdefault(row.epochs, []).append(row.backend)
    each = [f"{_counted(number, 'epoch')} on {listed(counts[number])}" for number in sorted(counts)]
    said = f"It trained {', '.join(each)}: losses and scores are of the last epoch of each."
    return [said] if len(counts) > 1 else []


def _ended(rows: Sequence[Summary]) -> bool:
    return any(row.status == OK and row.first_epoch_seconds is not None for row in rows)
