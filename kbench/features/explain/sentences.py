"""Sentences on why the rows of a script differ: known causes of lost time, and whether backends compute the same."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

from kbench import store
from kbench.analysis.rows import Analysis, program
from kbench.analysis.times.ratios import between_samples
from kbench.analysis.times.step_times import steady
from kbench.features.explain import import_times
from kbench.features.explain import layers as of_layers
from kbench.features.explain.layer_costs import TELLING, Costs
from kbench.features.explain.measuring import INSIDE
from kbench.features.explain.whole_program import reconciled
from kbench.features.parity import agreement
from kbench.features.parity.values import Agreement
from kbench.features.script.lines.call_sites import by_line, is_fit
from kbench.planning.request import OTHER_JIT, SAME_BATCH
from kbench.records.axes import RowKey
from kbench.records.fallbacks import Fallback
from kbench.records.values import NOT_COMPARED, OK, Interval, Measured
from kbench.summary import TO_FASTEST, Summary
from kbench.words.text import significant

_LAYERS_NAMED = 3
IMPORT_SHARE, _PACKAGES_NAMED = 0.05, 4  # of the import of Keras: packages that take less are not named

CAUSES = ("input data", "copies to the device", "jit_compile", "recompilation")


@dataclass(frozen=True)
class _Change:
    """What a change does to a row: seconds of a step before and after it."""

    row: Summary
    changed: Summary
    before: float
    after: float
    ratio: Interval  # of after / before


def sentences(run: Analysis, trained: Sequence[Summary], costs: Mapping[RowKey, Costs]) -> list[str]:
    """What was found, row by row. Empty where nothing was looked for and nothing is known without looking.

    trained, costs: see `inside`.
    """
    rows, parts = run.rows, run.explained_by
    fits = [row for row in rows if is_fit(row.site) and row.status == OK]
    slow = [row for row in fits if _is_slow(row, fits)]
    compiled = _compiled(run, fits)
    found = [*_fallbacks(run, slow, fits), *(compiled or [])]
    tested = {"recompilation": compiled is not None}
    sample = _step_seconds(run, fits)
    if SAME_BATCH in parts:
        fed = [row for row in fits if _facts(run, "feeds").get(row.key)]  # arrays are arrays in both runs
        changes = _changes(fed, sample, parts[SAME_BATCH])
        copies = _facts(parts[SAME_BATCH], "transfer_seconds")
        found += [*_data(changes), *_transfers(slow, sample, copies)]
        tested |= {"input data": bool(changes), "copies to the device": bool(copies.keys() & sample.keys())}
    if OTHER_JIT in parts:
        changes = _changes(fits, sample, parts[OTHER_JIT])
        found += _jit(changes, _facts(run, "run_eagerly"), parts[OTHER_JIT])
        tested["jit_compile"] = bool(changes)
    named = [cause for cause in CAUSES if tested.get(cause)]
    named_rows, layers = _layers(run, trained, costs) if INSIDE in parts else ({}, [])
    changed = parts.keys() - {INSIDE}
    if changed and named and not found:
        found.append(f"None of the usual causes was found ({', '.join(named)}).")
    if changed and (unsure := [_name(row) for row in fits if row.key not in sample and row.key not in named_rows]):
        found.append(f"Not explained (too few steps, not steady, or disturbed): {', '.join(unsure)}.")
    of_program = any(row.work.once for row in rows)
    looked = (run.run.raw_folder / store.EXPLAIN).is_dir()
    if looked and of_program and not fits and any(row.status == OK for row in rows):
        found.append(f"Not checked, because the program does not call fit: {', '.join(CAUSES)}.")
    if "parity" in parts:
        from kbench.features.parity import reading  # which needs numpy

        compared = parts["parity"].run
        found += same(reading.rows(compared), f"{program(run.run)} report {shlex.quote(str(compared.folder))}")
    return [*reconciled(rows), *found, *layers, *_imports(run)]


def _imports(run: Analysis) -> list[str]:
    """Which packages importing Keras takes time for."""
    found = []
    for backend, packages in import_times.read(run.run.raw_folder).items():
        total = sum(packages.values())
        largest = sorted(packages.items(), key=lambda one: -one[1])
        most = [f"{name} {significant(own)} s" for name, own in largest if own > IMPORT_SHARE * total]
        found.append(
            f"Importing Keras on {backend} takes {significant(total)} s: {', '.join(most[:_PACKAGES_NAMED])}."
        )
    return found


def _layers(
    run: Analysis, trained: Sequence[Summary], costs: Mapping[RowKey, Costs]
) -> tuple[Mapping[RowKey, str], list[str]]:
    """Which layers and other parts of a step make rows slower: of each row, and with what is said besides."""
    steps = {row.key: seconds for row in trained if (seconds := _step(row))}
    slow = [row for row in trained if row.key in costs and _is_slow(row, trained)]
    unsure = [row for row in slow if not _is_compared(row)]
    surely = [row for row in slow if row not in unsure]
    of_rows = of_layers.sentences(trained, costs, steps, surely)
    found = [*of_rows.values()]
    if unsure:
        found.append(f"No layer is named where times could not be compared: {', '.join(map(_name, unsure))}.")
    return of_rows, [*found, *of_layers.missing(run)]


def inside(run: Analysis) -> tuple[list[Summary], dict[RowKey, Costs]]:
    """(the rows that train, what the steps of those are made of whose parts were timed)."""
    trained = [row for row in run.rows if row.status == OK and (is_fit(row.site) or row.task == "train")]
    sample = _step_seconds(run, trained if INSIDE in run.explained_by else ())
    whole = {row.key: [seconds] for row in trained if (seconds := _step(row))}
    return trained, of_layers.costs(run, trained, whole | sample)


def _name(row: Summary) -> str:
    return f"{row.example} on {row.backend}"


@lru_cache(maxsize=4)
def _by_epoch(run: Analysis) -> Sequence[Measured]:
    """Its cells as rows have them; a line that fits often is timed by its epochs instead of its calls."""
    return by_line(run.run.measured, by_call=False)


def _step_seconds(run: Analysis, rows: Sequence[Summary]) -> dict[RowKey, list[float]]:
    """Seconds of a step in each steady epoch that nothing disturbed, as a part of it: some frameworks return from a
    step before it is done. Only of `rows` that are steady, with two such epochs and most turns undisturbed.
    """
    found: dict[RowKey, list[float]] = {}
    turns: dict[RowKey, list[bool]] = {}
    wanted = {row.key for row in rows if not row.has("not steady")}
    for one in _by_epoch(run) if wanted else ():
        for epoch in steady(one.epochs):
            disturbed = [one.outcome.disturbed(turn.round, turn.again) for turn in epoch.rounds]
            turns.setdefault(one.cell.key, []).extend(disturbed)
            if epoch.step_seconds and not any(disturbed):
                found.setdefault(one.cell.key, []).append(epoch.seconds / len(epoch.step_seconds))
    return {
        row: seconds
        for row, seconds in found.items()
        if row in wanted and len(seconds) > 1 and 2 * sum(turns[row]) <= len(turns[row])
    }


def _changes(rows: Sequence[Summary], own: Mapping[RowKey, Sequence[float]], changed: Analysis) -> list[_Change]:
    """What the change does to each of `rows`, where both runs can tell; its interval includes that of processes."""
    others = {row.key: row for row in changed.rows if row.status == OK}
    after = _step_seconds(changed, list(others.values()))
    found = []
    for row in rows:
        before, other = own.get(row.key), after.get(row.key)
        if before and other:
            times = median(other), median(before)
            if interval := between_samples(*times, other, before, math.log1p(TELLING))[1]:
                found.append(_Change(row, others[row.key], times[1], times[0], interval))
    return found


def _facts(run: Analysis, name: str) -> dict[RowKey, Any]:
    """What each row's cells reported by this name."""
    return {one.cell.key: known for one in _by_epoch(run) if (known := getattr(one.facts, name))}


def _is_slow(row: Summary, fits: Sequence[Summary]) -> bool:
    """Whether it is slower than another row that it is compared with, or the only one."""
    times, interval = _times_the_fastest(row, fits), _interval(row)
    return times == math.inf or (times > 1 + TELLING and (interval is None or interval.low > 1))


def _is_compared(row: Summary) -> bool:
    """Whether it is not marked as one that could not be compared."""
    ratio = row.ratios.get(TO_FASTEST)
    return ratio is None or ratio.verdict != NOT_COMPARED


def _times_the_fastest(row: Summary, fits: Sequence[Summary]) -> float:
    """Its step over that of the fastest row that it is compared with: infinite if there is no other."""
    steps = [seconds for other in fits if other.ranking == row.ranking and (seconds := _step(other))]
    own = _step(row)
    return 0.0 if own is None else math.inf if len(steps) == 1 else own / min(steps)


def _interval(row: Summary) -> Interval | None:
    """Of its ratio to the fastest: what is explained is this process."""
    return row.process_interval or row.relative_interval


def _fallbacks(run: Analysis, slow: Sequence[Summary], fits: Sequence[Summary]) -> list[str]:
    """One sentence for layers and lines alike, on all rows of which it is so: not on the slow one alone."""
    known = _facts(run, "fallbacks")
    where: dict[str, list[str]] = {}
    for row in slow:
        beside = [one for one in fits if one.ranking == row.ranking]
        for text in _together(known.get(row.key, ())):
            alike = [one for one in beside if text in _together(known.get(one.key, ()))]
            where.setdefault(text, []).extend(
                name for one in alike if (name := _name(one)) not in where.get(text, ())
            )
    return [f"{', '.join(names)}: {text}." for text, names in where.items()]


def _together(fallbacks: Sequence[Fallback]) -> list[str]:
    """What is said of each layer, such as "lstm (LSTM) starts each step", once for all layers of a class."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in fallbacks:
        found.setdefault((one.kind, one.text), []).append(one.layer)
    return [f"{_named(names)} ({kind}) {text}" if kind else text for (kind, text), names in found.items()]


def _named(layers: Sequence[str]) -> str:
    if len(layers) == 1:
        return layers[0]
    return f"each of {', '.join([*layers[:_LAYERS_NAMED], *['...'][: len(layers) - _LAYERS_NAMED]])}"


def _compiled(run: Analysis, fits: Sequence[Summary]) -> list[str] | None:
    """None where no framework counts."""
    counts: dict[RowKey, list[int]] = {}
    for one in _by_epoch(run):
        counted = [epoch.compilations for epoch in steady(one.epochs) if epoch.compilations is not None]
        if counted:
            counts.setdefault(one.cell.key, []).extend(counted)
    if not counts:
        return None
    again = [(row, sum(found), len(found)) for row in fits if any(found := counts.get(row.key, []))]
    return [
        f"{_name(row)}: compiled again {'once' if times == 1 else f'{times} times'} in its {epochs} epochs after the "
        "first."
        for row, times, epochs in again
    ]


def _data(changes: Sequence[_Change]) -> list[str]:
    return [
        f"{_name(one.row)}: {1 - one.after / one.before:.0%} of a step is spent on its data "
        f"({max(0.0, 1 - one.ratio.high):.0%} to {1 - one.ratio.low:.0%}): it takes {_ms(one.before)}, and "
        f"{_ms(one.after)} with the same batch every time."
        for one in changes
        if one.ratio.high < 1
    ]


def _transfers(
    slow: Sequence[Summary], sample: Mapping[RowKey, Sequence[float]], copies: Mapping[RowKey, float]
) -> list[str]:
    return [
        f"{_name(row)}: copying a batch to the device and a number back takes {_ms(copy)}, "
        f"{copy / median(seconds):.0%} of a step."
        for row in slow
        if (seconds := sample.get(row.key)) and (copy := copies.get(row.key, 0.0)) > TELLING * max(seconds)
    ]


def _jit(changes: Sequence[_Change], eager: Mapping[RowKey, Any], run: Analysis) -> list[str]:
    on = _facts(run, "jit_compile")  # of the changed programs
    found = []
    for one in changes:
        if one.ratio.low <= 1 <= one.ratio.high:
            continue
        with_it = on.get(one.row.key, False)
        how = "without run_eagerly" if one.row.key in eager else f"{'with' if with_it else 'without'} jit_compile"
        text = f"{_name(one.row)}: {how} a step takes {_ms(one.after)} instead of {_ms(one.before)}"
        first, before = one.changed.first_epoch_seconds, one.row.first_epoch_seconds
        if with_it and first and before:
            text += f", and the first {one.row.work.unit} {significant(first)} s instead of {significant(before)} s"
        found.append(f"{text}.")
    return found


def _step(row: Summary | None) -> float | None:
    """Seconds of a step, as a part of its epoch: some frameworks return from a step before it is done. Of a call, if
    that is what the row is of.
    """
    if row is None or not row.epoch_seconds:
        return None
    return row.epoch_seconds if row.work.by_call else row.epoch_seconds / row.steps if row.steps else None


def same(rows: Sequence[Agreement], command: str) -> list[str]:
    """Whether the first trained model computes the same everywhere, on the same batches and from the same weights."""
    compared = [row for row in rows if row.verdict in (agreement.SAME, agreement.EXPLAINED, agreement.DIFFERS)]
    if len(compared) < 2:
        return []
    if any(row.verdict != agreement.SAME for row in compared):
        there = {row.backend for row in compared}
        told = [row for row in compared if not row.by_others or not row.by_others <= there]
        return [*map(_verdict, told), f"`{command}` shows where backends differ."]
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
