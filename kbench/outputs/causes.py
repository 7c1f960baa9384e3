"""Sentences on why the rows of a script differ: known causes of lost time, and whether backends compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kbench import store
from kbench.analysis.call_sites import expanded
from kbench.analysis.rows import summarised
from kbench.analysis.step_times import steady
from kbench.analysis.summaries import Row, row_of
from kbench.parity import agreement
from kbench.parity.values import Agreement
from kbench.planning.request import OTHER_JIT, SAME_BATCH
from kbench.store.reading import RunResults
from kbench.text import significant
from kbench.values import OK, Summary

TELLING = 0.15  # of a step's time; less is not reported, since nothing says how sure it is


def sentences(run: RunResults, rows: Sequence[Summary]) -> list[str]:
    """What was found, row by row. Empty where nothing was looked for and nothing was compiled again."""
    parts = {folder.name: store.read(folder) for folder in store.parts(run.folder)}
    fits = [row for row in rows if row.unit == "epoch" and row.status == OK]
    found = _compiled(run, fits)
    if SAME_BATCH in parts:
        found += _data(fits, _by_row(parts[SAME_BATCH]))
    if OTHER_JIT in parts:
        found += _jit(fits, parts[OTHER_JIT])
    if parts and not found:
        found.append("No backend is slow here because of its data, jit_compile or repeated compilation.")
    if "parity" in parts:
        from kbench.parity import reading  # which needs numpy

        found += _same(reading.rows(parts["parity"]), parts["parity"].folder)
    return found


def _name(row: Summary) -> str:
    return f"{row.example} on {row.backend}"


def _by_row(run: RunResults) -> dict[Row, Summary]:
    return {row_of(row): row for row in summarised(run) if row.status == OK}


def _compiled(run: RunResults, fits: Sequence[Summary]) -> list[str]:
    counts: dict[Row, list[int]] = {}
    for one in expanded(run.measured):
        counts.setdefault(row_of(one.cell), []).extend(epoch.compilations or 0 for epoch in steady(one.epochs))
    return [
        f"{_name(row)}: compiled again {_times(sum(found))} in its {len(found)} epochs after the first."
        for row in fits
        if any(found := counts.get(row_of(row), []))
    ]


def _data(fits: Sequence[Summary], others: Mapping[Row, Summary]) -> list[str]:
    found = []
    for row in fits:
        own, same = _step(row), _step(others.get(row_of(row)))
        if own and same and 1 - same / own > TELLING:
            found.append(
                f"{_name(row)}: {1 - same / own:.0%} of a step is spent on its data: it takes {_ms(own)}, and "
                f"{_ms(same)} with the same batch every time."
            )
    return found


def _jit(fits: Sequence[Summary], run: RunResults) -> list[str]:
    others = _by_row(run)
    on = {row_of(one.cell): one.facts.get("jit_compile") for one in expanded(run.measured)}
    found = []
    for row in fits:
        own, other = _step(row), _step(others.get(row_of(row)))
        if not own or not other or abs(other / own - 1) < TELLING:
            continue
        with_it = on.get(row_of(row))
        how = "with" if with_it else "without"
        text = f"{_name(row)}: {how} jit_compile a step takes {_ms(other)} instead of {_ms(own)}"
        first, before = others[row_of(row)].first_epoch_seconds, row.first_epoch_seconds
        if with_it and first and before:
            text += f", and the first epoch {significant(first)} s instead of {significant(before)} s"
        found.append(f"{text}.")
    return found


def _step(row: Summary | None) -> float | None:
    """Seconds of a step, as a part of its epoch: some frameworks return from a step before it is done."""
    return row.epoch_seconds / row.steps if row and row.epoch_seconds and row.steps else None


def _same(rows: Sequence[Agreement], folder: Path) -> list[str]:
    """Whether the first trained model computes the same everywhere, on the same batches and from the same weights."""
    compared = [row for row in rows if row.verdict in (agreement.SAME, agreement.EXPLAINED, agreement.DIFFERS)]
    if len(compared) < 2:
        return []
    if any(row.verdict != agreement.SAME for row in compared):
        return [*map(_verdict, compared), f"`report {folder}` shows where backends differ."]
    who = "all backends" if len(compared) == len(rows) else ", ".join(row.backend for row in compared)
    return [
        f"From the same weights and on the same batches {who} compute the same. Scores differ only by initial "
        "weights, dropout, sample order and rounding."
    ]


def _verdict(row: Agreement) -> str:
    where = f"in {row.first.layer} ({row.first.class_name})" if row.first else "after some steps"
    words = {
        agreement.SAME: "computes the same",
        agreement.EXPLAINED: "differs for known reasons",
        agreement.DIFFERS: f"computes something else {where}",
    }
    causes = "; ".join(cause.rstrip(".") for cause in (row.reason, *row.notes) if cause)
    return f"{row.example} on {row.backend} {words[row.verdict]}{f': {causes}' if causes else ''}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ms(seconds: float) -> str:
    return f"{significant(1000 * seconds)} ms"
