"""Which of several lines of a program is faster, backend by backend: for `script --compare-lines`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbench.analysis import rows as analysis
from kbench.analysis.call_sites import SEPARATOR, by_line, program_of
from kbench.analysis.summaries import summarise
from kbench.axes import ARGUMENTS
from kbench.store.reading import RunResults
from kbench.summary import TO_FASTEST, Summary
from kbench.tables.content import by_example
from kbench.text import format_bound, significant
from kbench.values import AS_FAST, FASTEST, NO_DIFFERENCE, PRECISION, SLOWER, Measured

_LINE = re.compile(r"line (\d+)$")


def sentences(run: RunResults) -> list[str]:
    """One for each backend and line but the fastest; empty where no lines were to be compared."""
    wanted = _wanted(run.request)
    if not wanted:
        return []
    parts = [one for one in by_line(run.measured) if _number(one) in wanted]
    found: list[str] = []
    compared = summarise([_of_line(one) for one in parts], precision=PRECISION, priors=analysis.priors(run))
    for rows in by_example(compared):
        found += _of_backend(rows)
    missing = [str(line) for line in wanted if line not in {_number(one) for one in parts}]
    if missing:
        found.append(f"No call of a model was measured in line {' and '.join(missing)}.")
    return found


def _wanted(request: Mapping[str, object]) -> Sequence[int]:
    script = request.get("script")
    lines = script.get("compare_lines") if isinstance(script, dict) else None
    return [one for one in lines if isinstance(one, int)] if isinstance(lines, list | tuple) else []


def _number(one: Measured) -> int | None:
    line = _LINE.search(one.cell.example)
    return int(line[1]) if line else None


def _of_line(one: Measured) -> Measured:
    """The line's measurement with line and backend exchanged; what the lines do need not be the same."""
    site = one.cell.example.partition(SEPARATOR)[2]
    example = f"{program_of(one.cell.example)} on {one.cell.backend}"
    return replace(
        one, cell=replace(one.cell, example=example, backend=site, axes={**one.cell.axes, ARGUMENTS: site})
    )


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
    if ratio.verdict == SLOWER:
        how = f" ({ends})" if ends else ""
        return f"{row.backend} takes {format_bound(ratio.value)} times as long as {fastest.backend}{how}: {times}"
    if ratio.verdict in (AS_FAST, FASTEST):
        return f"{row.backend} is as fast as {fastest.backend}" + (f" ({ends} times)" if ends else "")
    if ratio.verdict == NO_DIFFERENCE:
        return f"no difference is shown between {row.backend} and {fastest.backend} ({ends} times)"
    return f"{row.backend} and {fastest.backend} could not be compared"
