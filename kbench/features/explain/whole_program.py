"""A sentence where a line of a program and the whole program are fastest on different backends: what lies between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kbench.features.script.lines.call_sites import is_fit
from kbench.records import axes
from kbench.records.values import FASTEST, NO_DIFFERENCE, NOT_COMPARED, SLOWER
from kbench.summary import Summary
from kbench.tables.content import by_example
from kbench.words.text import significant

MATTERS = 0.05  # of the whole program's time; less is no contradiction
SHARE = 0.2  # of what lies between; less is not named
MOST_NAMED = 2


def reconciled(rows: Sequence[Summary]) -> list[str]:
    """A sentence for each program and device where that is so, on the line that takes most."""
    found = []
    for _, group in groupby(sorted(rows, key=_place), key=_place):
        found += _of_program(list(group))
    return found


def _place(row: Summary) -> tuple[str, str, str, str]:
    others = row.ranking.without(axes.TITLE)
    return row.program, row.device, row.image_data_format, str(others.values)


def _of_program(rows: Sequence[Summary]) -> list[str]:
    whole = {row.backend: row for row in rows if row.work.once and row.relative_to_fastest is not None}
    first = next((name for name, row in whole.items() if row.relative_to_fastest == 1), "")
    behind = {
        name
        for name, row in whole.items()
        if (row.relative_to_fastest or 0.0) > 1 + MATTERS and row.verdict not in (NOT_COMPARED, NO_DIFFERENCE)
    }
    best: list[Summary] = []
    for line in by_example(row for row in rows if row.work.repeated):
        fastest = [row for row in line if row.verdict == FASTEST and row.backend in behind]
        best += fastest if any(row.backend == first and row.verdict == SLOWER for row in line) else []
    if not best:
        return []
    shown = max(best, key=lambda row: row.total_seconds or 0.0)
    name, parts = shown.backend, _between(rows, shown.backend, first)
    total = sum(seconds for seconds, _ in parts)
    longer = [f"{significant(seconds)} s longer for {what}" for seconds, what in parts if seconds > SHARE * total]
    text = f"{shown.program} as a whole took least time on {first}, though {shown.site} is fastest on {name}"
    return [f"{text}: {name} takes {' and '.join(longer[:MOST_NAMED])}." if longer else f"{text}."]


def _between(rows: Sequence[Summary], one: str, other: str) -> list[tuple[float, str]]:
    """By how many seconds `one` takes longer than the `other` for what, most first."""
    found = []
    for group in by_example(rows):
        mine, its = (next((row for row in group if row.backend == name), None) for name in (one, other))
        if mine and its:
            own, theirs = dict(_parts(mine)), dict(_parts(its))
            found += [(own[what] - theirs[what], what) for what in own if own[what] > theirs.get(what, own[what])]
    return sorted(found, reverse=True)


def _parts(row: Summary) -> Iterator[tuple[str, float]]:
    """The parts of a row's time, and what each is for."""
    total = row.total_seconds or 0.0
    line = row.site
    if not row.work.compared:
        imports = min(total, row.phases.get("import", 0.0))
        yield "importing Keras", imports
        yield "what is outside Keras", total - imports
    elif row.work.repeated:
        count = (row.calls if row.work.by_call else row.epochs) or 0
        usual = min(total, count * (row.epoch_seconds or 0.0))
        first = "compilation and all else around the epochs of" if is_fit(line) else "the first calls of"
        yield line, usual
        yield f"{first} {line}", total - usual
