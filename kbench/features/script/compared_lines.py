"""Which of several lines of a program is faster, and whether they return the same, backend by backend: for `script
--compare-lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from kbench.analysis.rows import Analysis, priors
from kbench.analysis.summaries import summarise
from kbench.features.script import compared_outputs, events
from kbench.features.script.lines import asked_lines
from kbench.features.script.lines.units import EPOCH, STEP
from kbench.records.axes import ARGUMENTS, EXAMPLE
from kbench.records.epochs import Epoch
from kbench.records.values import AS_FAST, FASTEST, NO_DIFFERENCE, PRECISION, SLOWER, Measured
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.answers import load, why_not
from kbench.tables.content import by_example
from kbench.words.text import format_bound, significant

ONE_STEP = "train_on_batch"  # a call that is a training step


def sentences(run: Analysis) -> list[str]:
    """One for each backend and line but the fastest; empty where no lines were to be compared."""
    wanted = asked_lines.wanted(run.run.request)
    if not wanted:
        return []
    of_line = {one.cell.site: asked_lines.numbers(one.cell.site) for one in run.row_cells}
    parts = [one for one in run.row_cells if of_line[one.cell.site] & {*wanted}]
    found = compared_outputs.sentences(parts)
    units = {one.facts.unit: one.cell.site for one in parts if one.epochs}
    if len(units) > 1:  # an epoch has many steps
        if not all(map(_takes_steps, parts)):
            first, *others = (f"{site} by the {unit}" for unit, site in units.items())
            return [*found, f"The lines' times cannot be compared: they are of {first}, of {', of '.join(others)}."]
        parts = [_by_step(one) for one in parts]
    compared = summarise([_of_line(one) for one in parts], precision=PRECISION, priors=priors(run.run))
    missing = [line for line in wanted if not any(line in of_line[one.cell.site] for one in parts)]
    for rows in by_example(compared) if len(wanted) - len(missing) > 1 else ():
        found += _of_backend(rows)
    if missing:
        sites = {*of_line, *(site for one in run.run.measured for site in events.sites(one.facts))}
        there = sorted(set[int]().union(*map(asked_lines.numbers, sites)))
        but = f", but in {asked_lines.named(there)}" if there else ""
        found += [f"No call of a model was measured in {asked_lines.named(missing)}{but}."]
    return found


def _takes_steps(one: Measured) -> bool:
    """Whether its times can be told by the training step: of a fit whose steps were timed, or of steps themselves."""
    if one.facts.unit == EPOCH:
        return all(epoch.step_seconds for epoch in one.epochs)
    return one.facts.unit == STEP or one.cell.site.startswith(ONE_STEP)


def _by_step(one: Measured) -> Measured:
    """The same with the times of a step in the place of an epoch's."""
    if one.facts.unit == EPOCH:
        one = replace(one, epochs=tuple(map(_mean_step, one.epochs)))
    return replace(one, facts=msgspec.structs.replace(one.facts, unit=STEP))


def _mean_step(epoch: Epoch) -> Epoch:
    """All its times over the number of its steps, so that they stay in proportion."""
    steps = len(epoch.step_seconds)
    of_each = tuple(seconds / steps for seconds in epoch.step_seconds)
    return msgspec.structs.replace(epoch, seconds=epoch.seconds / steps, step_seconds=of_each)


def _of_line(one: Measured) -> Measured:
    """The line's measurement with line and backend exchanged; what the lines do need not be the same."""
    site = one.cell.site
    example = f"{one.cell.values[EXAMPLE]} on {one.cell.backend}"
    return replace(one, cell=one.cell.at(example=example, site="", backend=site, **{ARGUMENTS: site}))


def _of_backend(rows: Sequence[Summary]) -> list[str]:
    where = rows[0].example.rpartition(" on ")[2]
    fastest = next((row for row in rows if row.relative_to_fastest == 1), None)
    others = [row for row in rows if row is not fastest and TO_FASTEST in row.ratios]
    if fastest is None or not others:
        return [f"On {where} the lines could not be compared: one of them has no steady time."]
    return [f"On {where}, {_compared(row, fastest)}." for row in others]


def _compared(row: Summary, fastest: Summary) -> str:
    ratio = row.ratios[TO_FASTEST]
    ends = f"{format_bound(ratio.interval.low)} to {format_bound(ratio.interval.high)}" if ratio.interval else ""
    times = f"{significant(row.epoch_seconds)} instead of {significant(fastest.epoch_seconds)} s{row.work.each}"
    if ratio.rough and ratio.verdict == SLOWER:
        why = why_not([row, fastest])
        return f"{row.backend} is slower than {fastest.backend}, but by how much is not known: {why}"
    if ratio.verdict == SLOWER:
        how = f" ({ends})" if ends else ""
        return f"{row.backend} takes {format_bound(ratio.value)} times as long as {fastest.backend}{how}: {times}"
    if ratio.verdict in (AS_FAST, FASTEST):
        return f"{row.backend} is as fast as {fastest.backend}" + (f" ({ends} times)" if ends else "")
    if ratio.verdict == NO_DIFFERENCE:
        return f"no difference is shown between {row.backend} and {fastest.backend} ({ends} times)"
    known = "" if load([row, fastest]) else f" ({times})"
    return f"{row.backend} and {fastest.backend} could not be compared{known}: {why_not([row, fastest])}"
