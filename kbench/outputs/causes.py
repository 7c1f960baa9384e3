"""Sentences on why the rows of a script differ: known causes of lost time, and whether backends compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
    """What was found, row by row. Empty where nothing was looked for and nothing is known without looking."""
    parts = {folder.name: store.read(folder) for folder in store.parts(run.folder)}
    fits = [row for row in rows if row.unit == "epoch" and row.status == OK]
    slow = [row for row in fits if _is_slow(row, fits)]
    found = [*_fallbacks(run, slow), *_compiled(run, fits)]
    if SAME_BATCH in parts:
        found += [*_data(fits, _by_row(parts[SAME_BATCH])), *_transfers(slow, parts[SAME_BATCH])]
    if OTHER_JIT in parts:
        found += _jit(fits, _facts(run, "run_eagerly"), parts[OTHER_JIT])
    if parts and not found:
        found.append(
            "No backend is slow here because of its data, copies to the device, jit_compile or recompilation."
        )
    if "parity" in parts:
        from kbench.parity import reading  # which needs numpy

        found += _same(reading.rows(parts["parity"]), parts["parity"].folder)
    return found


def _name(row: Summary) -> str:
    return f"{row.example} on {row.backend}"


def _by_row(run: RunResults) -> dict[Row, Summary]:
    return {row_of(row): row for row in summarised(run) if row.status == OK}


def _facts(run: RunResults, name: str) -> dict[Row, Any]:
    """What each row's cells reported by this name."""
    return {row_of(one.cell): one.facts[name] for one in expanded(run.measured) if one.facts.get(name)}


def _is_slow(row: Summary, fits: Sequence[Summary]) -> bool:
    """Whether it is slower than another row of its fit, or the only one."""
    steps = [seconds for other in fits if other.example == row.example and (seconds := _step(other))]
    own = _step(row)
    return own is not None and (len(steps) == 1 or own > (1 + TELLING) * min(steps))


def _fallbacks(run: RunResults, slow: Sequence[Summary]) -> list[str]:
    known = _facts(run, "fallbacks")
    return [f"{_name(row)}: {text}." for row in slow for text in known.get(row_of(row), ())]


def _compiled(run: RunResults, fits: Sequence[Summary]) -> list[str]:
    counts: dict[Row, list[int]] = {}
    for one in expanded(run.measured):
        counts.setdefault(row_of(one.cell), []).extend(epoch.compilations or 0 for epoch in steady(one.epochs))
    again = [(row, sum(found), len(found)) for row in fits if any(found := counts.get(row_of(row), []))]
    return [
        f"{_name(row)}: compiled again {'once' if times == 1 else f'{times} times'} in its {epochs} epochs after the "
        "first."
        for row, times, epochs in again
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


def _transfers(slow: Sequence[Summary], run: RunResults) -> list[str]:
    copies = _facts(run, "transfer_seconds")
    return [
        f"{_name(row)}: copying a batch to the device and a number back takes {_ms(copy)}, {copy / own:.0%} of a "
        "step."
        for row in slow
        if (own := _step(row)) and (copy := copies.get(row_of(row), 0.0)) / own > TELLING
    ]


def _jit(fits: Sequence[Summary], eager: Mapping[Row, Any], run: RunResults) -> list[str]:
    others = _by_row(run)
    on = _facts(run, "jit_compile")  # of the changed programs
    found = []
    for row in fits:
        own, other = _step(row), _step(others.get(row_of(row)))
        if not own or not other or abs(other / own - 1) < TELLING:
            continue
        with_it = on.get(row_of(row), False)
        how = "without run_eagerly" if row_of(row) in eager else f"{'with' if with_it else 'without'} jit_compile"
        text = f"{_name(row)}: {how} a step takes {_ms(other)} instead of {_ms(own)}"
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


def _ms(seconds: float) -> str:
    return f"{significant(1000 * seconds)} ms"
