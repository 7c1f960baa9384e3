"""Which backend to take, over all examples of a run, in a few sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kbench.analysis.times.overall import Overall, overall, scope
from kbench.analysis.times.ratios import verdict
from kbench.summary import Summary
from kbench.text import format_bound, listed, plain
from kbench.values import AS_FAST, NO_DIFFERENCE, NOT_COMPARED, SLOWER, UNSUPPORTED, Interval

Other = tuple[str, float, Interval]

_NAMED = 3  # examples in which another backend is faster; of more, the number is said


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """Which backend to take: for each device and task with two examples or more in which two backends have a time."""
    several = len({row.device for row in summaries}) > 1
    unable = {row.backend for row in summaries if row.status == UNSUPPORTED}  # which is known before
    return [_answer(one, scope(one, several), unable) for one in overall(summaries)]


def _answer(one: Overall, where: str, unable: Collection[str]) -> str:
    verdicts = {name: verdict(ends) for name, _, ends in one.others}
    of = {kind: [other for other in one.others if verdicts[other[0]] == kind] for kind in verdicts.values()}
    slower, equal, near = of.get(SLOWER, []), of.get(AS_FAST, []), of.get(NO_DIFFERENCE, [])
    unsure = [name for name, _, _ in of.get(NOT_COMPARED, [])]
    over = f"over these {one.examples} examples{where}"
    if not slower and not equal and not near:
        return plain(f"No backend can be named: {over} times vary too much.")
    as_fast = [f"{other[0]} is as fast ({_bounds(other)})" for other in equal]
    as_fast += [f"{other[0]} may be as fast ({_bounds(other)})" for other in near]
    parts = [
        "; ".join([f"Take {one.fastest}: {over} it takes the least time (geometric means, 95 % intervals)", *as_fast])
        + "."
    ]
    if slower:
        last = f"; the slowest, {_ratio(slower[-1])}" if len(slower) > 2 else ""
        shown = slower[:1] if len(slower) > 2 else slower
        listed_ones = ", ".join(_ratio(other, " as long" * (place == 0)) for place, other in enumerate(shown))
        parts.append(f"{listed_ones}{last}.")
    parts += [f"{name} is faster in {_examples(found)}." for name, found in one.faster.items() if found]
    if unsure:
        parts.append(f"Not compared, as times vary too much: {', '.join(unsure)}.")
    if missing := [name for name in one.missing if name not in unable]:
        parts.append(f"Without a time in some example: {', '.join(missing)}.")
    return plain(" ".join(parts))


def _examples(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _NAMED else f"{len(names)} of them"


def _bounds(other: Other) -> str:
    _, ratio, ends = other
    return f"{format_bound(ratio)} times, {format_bound(ends.low)} to {format_bound(ends.high)}"


def _ratio(other: Other, more: str = "") -> str:
    name, ratio, ends = other
    verb = "takes " if more else ""
    return f"{name} {verb}{format_bound(ratio)} times{more} ({format_bound(ends.low)} to {format_bound(ends.high)})"
