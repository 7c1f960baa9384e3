"""Which of several lines of a program is faster, backend by backend: for `script --compare-lines`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from kbench.analysis.rows import Analysis, priors
from kbench.analysis.summaries import summarise
from kbench.features.script.lines.units import EPOCH, STEP
from kbench.records.axes import ARGUMENTS, EXAMPLE
from kbench.records.epochs import Epoch
from kbench.records.values import AS_FAST, FASTEST, NO_DIFFERENCE, PRECISION, SLOWER, Measured
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.answers import why_not
from kbench.tables.content import by_example
from kbench.words.text import format_bound, significant

ONE_STEP = "train_on_batch"  # a call that is a training step
_LINES = re.compile(r"lines? ([\d, and]+)$")


def sentences(run: Analysis) -> list[str]:
    """One for each backend and line but the fastest; empty where no lines were to be compared."""
    wanted = _wanted(run.run.request)
    if not wanted:
        return []
    parts = [one for one in run.row_cells if _numbers(one) & {*wanted}]
    found: list[str] = []
    units = {one.facts.unit: one.cell.site for one in parts if one.epochs}
    if len(units) > 1:  # an epoch has many steps
        if not all(map(_takes_steps, parts)):
            first, *others = (f"{site} by the {unit}" for unit, site in units.items())
            return [f"The lines cannot be compared: times are of {first}, of {', of '.join(others)}."]
        parts = [_by_step(one) for one in parts]
    compared = summarise([_of_line(one) for one in parts], precision=PRECISION, priors=priors(run.run))
    for rows in by_example(compared):
        found += _of_backend(rows)
    missing = [str(line) for line in wanted if not any(line in _numbers(one) for one in parts)]
    if missing:
        found.append(f"No call of a model was measured in line {' and '.join(missing)}.")
    return found


def _wanted(request: Mapping[str, object]) -> Sequence[int]:
    script = request.get("script")
    lines = script.get("compare_lines") if isinstance(script, dict) else None
    return [one for one in lines if isinstance(one, int)] if isinstance(lines, list | tuple) else []


def _numbers(one: Measured) -> set[int]:
    """Of the lines that it is of: a loop may end in another on each backend."""
    lines = _LINES.search(one.cell.site)
    return {int(number) for number in re.findall(r"\d+", lines[1])} if lines else set()


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
        return f"{row.backend} is slower than {fastest.backend}, by how much cannot be said: {why}"
    if ratio.verdict == SLOWER:
        how = f" ({ends})" if ends else ""
        return f"{row.backend} takes {format_bound(ratio.value)} times as long as {fastest.backend}{how}: {times}"
    if ratio.verdict in (AS_FAST, FASTEST):
        return f"{row.backend} is as fast as {fastest.backend}" + (f" ({ends} times)" if ends else "")
    if ratio.verdict == NO_DIFFERENCE:
        return f"no difference is shown between {row.backend} and {fastest.backend} ({ends} times)"
    return f"{row.backend} and {fastest.backend} could not be compared ({times}): {why_not([row, fastest])}"
