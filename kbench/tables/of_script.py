"""What is said of a line of a user's program, of the whole of it, and of what it does outside Keras."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kbench.analysis import call_costs
from kbench.analysis.call_sites import is_fit
from kbench.summary import Summary
from kbench.text import plain, significant
from kbench.values import CALL, EPOCH, OK, REST, RUN

Columns = dict[str, Callable[[Summary], str]]


def heading(rows: Sequence[Summary]) -> str:
    """Such as `train.py: fit, line 12 (1,000 samples, 5 epochs, batch 32, cpu)`, as far as that is known."""
    row = max(rows, key=lambda row: row.epochs)
    fits, calls = is_fit(row.example), row.calls or 0
    facts = [_counted(row.samples, "sample")] if row.samples and fits else []
    facts += [_counted(row.epochs, "epoch")] if fits else []
    if calls > 1:
        facts = [*facts[:-1], f"{facts[-1]} in {calls:,} calls"] if fits else [_counted(calls, "call")]
    facts += [f"batch {row.batch_size:,}"] if row.batch_size else []
    facts += [] if len({one.device for one in rows}) > 1 else [row.device]
    return plain(f"{row.example} ({', '.join(facts)})")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def times(row: Summary) -> Columns:
    """The columns of its time, that is compared."""
    if row.unit == REST:
        return {"seconds": lambda row: significant(row.total_seconds)}
    return {"seconds" if row.unit == RUN else f"s/{row.unit}": lambda row: significant(row.epoch_seconds)}


def others(rows: Sequence[Summary]) -> Columns:
    """The columns behind the comparison, without scores."""
    unit, fits = rows[0].unit, is_fit(rows[0].example)
    columns: Columns = {}
    if unit in (RUN, REST):
        columns["import (s)"] = lambda row: significant(row.phases.get("import"))
        columns |= {"memory (MiB)": lambda row: significant(row.peak_memory_mib)} if unit == RUN else {}
        return columns
    columns[f"first {unit} (s)"] = lambda row: significant(row.first_epoch_seconds)
    if unit == EPOCH:
        columns["steps/s"] = lambda row: significant(
            row.steps / row.epoch_seconds if row.epoch_seconds and row.steps else None
        )
    elif fits:
        if any(_each_compiles(row) for row in rows):
            columns["compile (s)"] = lambda row: significant(row.compile_seconds)
        columns["around (s)"] = lambda row: significant(row.around_seconds)
    if any(row.total_seconds is not None for row in rows):
        columns["total (s)"] = lambda row: significant(row.total_seconds)
    return columns


def _each_compiles(row: Summary) -> bool:
    return call_costs.each_compiles(row.calls or 0, row.first_calls or 0)


def on_first_times(rows: Sequence[Summary]) -> dict[str, bool]:
    """What is said of epochs and calls that include compilation."""
    first = rows[0]
    calls, unit = first.calls or 0, first.unit or ("pass" if first.task == "infer" else EPOCH)
    fits, timed = is_fit(first.example), any(row.epoch_seconds is not None for row in rows)
    each = "Each call compiles" if fits else "First calls only, one a model"
    only = f"One {unit} only: it includes" if calls < 2 else f"{each}: each includes"
    part = each if calls == first.first_calls else "Many calls compile" if fits else "Many are first calls of a model"
    return {
        f"{only} compilation and warm-up, so there is no steady time and no ratio.": (
            first.epochs == 1 if not first.unit else first.unit in (EPOCH, CALL) and not timed and _ended(rows)
        ),
        f"{part}: compilation is part of the time of a call.": (
            first.unit == CALL and timed and any(map(_each_compiles, rows))
        ),
        "around: of a call, outside its epochs and their validation.": fits and first.unit == CALL,
    }


def _ended(rows: Sequence[Summary]) -> bool:
    return any(row.status == OK and row.first_epoch_seconds is not None for row in rows)
