"""Which backend takes the least time over all examples, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.analysis.overall import Overall, overall, scope
from kbench.analysis.ratios import verdict
from kbench.summary import Summary
from kbench.text import format_bound, plain
from kbench.values import AS_FAST, NO_DIFFERENCE, NOT_COMPARED, SLOWER, Interval


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """One for each device and task with three examples or more in which two backends have a time."""
    several = len({row.device for row in summaries}) > 1
    return [_sentence(one, scope(one, several)) for one in overall(summaries)]


def _sentence(one: Overall, where: str) -> str:
    verdicts = {name: verdict(ends) for name, _, ends in one.others}
    slower = [other for other in one.others if verdicts[other[0]] == SLOWER]
    near = [other for other in one.others if verdicts[other[0]] in (AS_FAST, NO_DIFFERENCE)]
    unsure = [name for name in verdicts if verdicts[name] == NOT_COMPARED]
    over = f"Over the {one.examples} examples{where}"
    if not slower and not near:
        return plain(f"{over} no backend can be called fastest: they differ too much from example to example.")
    parts = [f"{over}, {one.fastest} takes the least time by the geometric mean of ratios"]
    if slower:
        parts.append(", ".join(_ratio(other, " as long" * (place == 0)) for place, other in enumerate(slower)))
    if near:
        parts.append(f"no difference is shown for {', '.join(map(_near, near))}")
    if unsure:
        parts.append(f"differing too much from example to example: {', '.join(unsure)}")
    if one.missing:
        parts.append(f"not in all examples: {', '.join(one.missing)}")
    return plain(f"{'; '.join(parts)}.")


def _near(other: tuple[str, float, Interval]) -> str:
    name, ratio, ends = other
    return f"{name} ({format_bound(ratio)} times, {format_bound(ends.low)} to {format_bound(ends.high)})"


def _ratio(other: tuple[str, float, Interval], more: str = "") -> str:
    name, ratio, ends = other
    return f"{name} {format_bound(ratio)} times{more} ({format_bound(ends.low)} to {format_bound(ends.high)})"
