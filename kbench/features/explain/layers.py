"""Which parts of a training step make rows differ: sentences and a table, from what --explain timed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import msgspec

from kbench.analysis.rows import Analysis
from kbench.features.explain import layer_costs
from kbench.features.explain.events import Inside
from kbench.features.explain.events import inside as of_step
from kbench.features.explain.layer_costs import Costs
from kbench.features.explain.measuring import INSIDE
from kbench.records.axes import RowKey
from kbench.records.values import OK, Measured
from kbench.summary import Summary
from kbench.tables.content import Table, by_example
from kbench.words.text import MISSING, plain, significant

MOST_NAMED = 3
LEAST_ROUNDS = 5  # of parts, that other programs did not disturb

_REMARK = (
    "Each layer was timed alone, forward and backward. between the layers: the whole model minus its layers. Where a "
    "compiler fuses layers, their times are scaled to add up to the model's."
)


def costs(run: Analysis, rows: Sequence[Summary], steps: Mapping[RowKey, Sequence[float]]) -> dict[RowKey, Costs]:
    """What the steps of these rows are made of, as far as it was timed. steps: their seconds, as the run has them."""
    found = {}
    for one in looked_into(run):
        inside = of_step(one.facts)
        row = _row(one, rows)
        if inside and row and (known := layer_costs.of(_undisturbed(one, inside), steps.get(row.key, ()))):
            found[row.key] = known
    return found


def _undisturbed(one: Measured, inside: Inside) -> Inside:
    """What was timed while no other programs used the processor; no parts if that is too little."""
    good = [not one.outcome.disturbed(*turn) for turn in inside.turns]
    if not good or all(good):
        return inside
    parts = (
        msgspec.structs.replace(part, seconds=tuple(itertools.compress(part.seconds, good))) for part in inside.parts
    )
    return msgspec.structs.replace(inside, parts=tuple(parts) if sum(good) >= LEAST_ROUNDS else ())


def sentences(
    rows: Sequence[Summary], of_rows: Mapping[RowKey, Costs], steps: Mapping[RowKey, float], slow: Sequence[Summary]
) -> dict[RowKey, str]:
    """What makes each of the slow rows slower than the fastest of its example. steps: seconds of one."""
    found = {}
    for row in slow:
        beside = [one for one in rows if one.ranking == row.ranking and one.key in of_rows and one.key in steps]
        fastest = min(beside, key=lambda one: steps[one.key], default=row)
        if row.key not in of_rows or row.key not in steps or fastest.key == row.key:
            continue
        between = steps[row.key] - steps[fastest.key]
        parts = layer_costs.more(of_rows[row.key], of_rows[fastest.key], between)[:MOST_NAMED]
        if not parts:
            continue
        if unlike := [one for one in (row, fastest) if not of_rows[one.key].fits_into(steps[one.key], between)]:
            found[row.key] = (
                f"{row.example} on {row.backend}: could not be explained, because a step on {unlike[0].backend} took "
                f"{_ms(of_rows[unlike[0].key].timed)} ms while its parts were timed, and {_ms(steps[unlike[0].key])} "
                "ms before."
            )
            continue
        named = ", ".join(
            f"{one.part} +{_ms(one.seconds)} ms ({_ms(one.interval.low)} to {_ms(one.interval.high)})"
            for one in parts
        )
        found[row.key] = (
            f"{row.example} on {row.backend}: a step takes {_ms(between)} ms longer than on {fastest.backend}: "
            f"{plain(named)}."
        )
    return found


def missing(run: Analysis) -> list[str]:
    """What could not be timed, and why."""
    found: dict[str, list[str]] = {}
    for one in looked_into(run):
        inside = of_step(one.facts)
        texts = inside.missing if inside else ()
        texts = texts if one.outcome.status == OK else (one.outcome.reason or one.outcome.status,)
        if inside and inside.parts and not _undisturbed(one, inside).parts:
            texts = (*texts, "other programs used the processor while its layers were timed")
        for text in texts:
            found.setdefault(plain(text.rstrip(".")), []).append(one.cell.backend)
    return [f"Not timed on {', '.join(names)}: {text}." for text, names in found.items()]


def tables(rows: Sequence[Summary], of_rows: Mapping[RowKey, Costs]) -> list[Table]:
    """A table for each example: the milliseconds of each part of a step, backends side by side."""
    found: list[Table] = []
    for group in by_example(rows):
        shown = [row for row in group if row.key in of_rows]
        if not shown:
            continue
        several = [of_rows[row.key] for row in shown]
        lines = [
            (plain(part), *(MISSING if one is None else _ms(one) for one in values))
            for part, values in layer_costs.grouped(several)
        ]
        total = ("whole step", *(_ms(one.step) for one in several))
        heads = _heads(shown)
        found.append(
            Table(
                heading=f"{group[0].example}: parts of a step, in ms",
                columns=("part", *heads),
                rows=(*lines, total),
                text_columns=frozenset({"part"}),
                remarks=(_REMARK,) if not found else (),
            )
        )
    return found


def _heads(rows: Sequence[Summary]) -> list[str]:
    """Names of rows that differ from each other."""
    names = [row.backend for row in rows]
    if len({*names}) == len(names):
        return names
    return [f"{number}: {name}" for number, name in enumerate(names, 1)]


def looked_into(run: Analysis) -> Sequence[Measured]:
    """The cells of the part of a run that looks into steps; none where there is no such part."""
    part = run.explained_by.get(INSIDE)
    return part.run.measured if part else ()


def _row(one: Measured, rows: Sequence[Summary]) -> Summary | None:
    """The row that a cell looked into: of a program, that of its first line that trains."""
    inside = of_step(one.facts)
    site = inside.site if inside else ""
    return next((row for row in rows if row.key == one.cell.at(site=site).key), None)


def _ms(seconds: float) -> str:
    return significant(1000 * seconds)
