"""What a sweep shows in sentences: which backend is fastest where, and what a larger batch or more threads gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kbench import hooks
from kbench.comparison import scaling
from kbench.comparison.scaling import Line, Lines
from kbench.records import axes
from kbench.records.axes import Point
from kbench.records.values import FASTEST, SLOWER
from kbench.summary import TO_FASTEST, Summary
from kbench.words.text import format_bound

_MOST = 2  # sentences along one axis: beyond that the plots say more


def varies(rows: Sequence[Summary]) -> bool:
    """Whether the rows of an example differ in a number, such as the batch size."""
    return any(axis.number for axis in axes.varying(row.key for row in rows))


def winners(rows: Sequence[Summary], does: str, unknown: Sequence[Point]) -> str:
    """Which backend is fastest, and in how many of the rankings; empty where none is known or there is no other."""
    rankings = dict.fromkeys(row.ranking for row in rows if TO_FASTEST in row.ratios and row.ranking not in unknown)
    wins = Counter(row.backend for row in rows if row.ranking in rankings and row.ratios[TO_FASTEST].value == 1)
    if not wins or len({row.backend for row in rows}) == 1:
        return ""
    (first, count), *others = wins.most_common()
    where = f"all {len(rankings)}" if count == len(rankings) else f"{count} of {len(rankings)}"
    listed = "".join(f", on {name} in {number}" for name, number in others)
    return f"{rows[0].example} {does} fastest on {first} in {where} comparisons{listed}."


def trends(rows: Sequence[Summary]) -> list[str]:
    """What each backend gains along each axis, and from which value on another one is the fastest."""
    by_feature = of_features(rows)
    found = [sentence for sentences in by_feature.values() for sentence in sentences]
    for lines in scaling.within(rows):
        if lines.axis.name in by_feature:
            continue
        groups: dict[Point, list[Line]] = {}
        for line in lines.lines:
            if len(line.points) > 1:
                groups.setdefault(line.key.ranking, []).append(line)
        if len(groups) <= _MOST:
            found += [text for ranking, group in groups.items() if (text := _trend(lines, ranking, group))]
    return found


def of_features(rows: Sequence[Summary]) -> dict[str, Sequence[str]]:
    """What features say of their own ratios, by the axis along which these are."""
    found = {one.along[0]: one.in_words(rows) for one in hooks.comparisons().values() if one.along}
    return {axis: sentences for axis, sentences in found.items() if sentences}


def _trend(lines: Lines, ranking: Point, group: Sequence[Line]) -> str:
    """Such as `With 1 thread, from batch 32 to 128 ONE gets 2.10 times the samples/s, OTHER 1.20 times.`"""
    axis = lines.axis
    first, last = min(line.points[0].at for line in group), max(line.points[-1].at for line in group)
    whole = [line for line in group if (line.points[0].at, line.points[-1].at) == (first, last)]
    gains = {line.points[0].row.backend: line.points[-1].throughput / line.points[0].throughput for line in whole}
    ranked = sorted(gains.items(), key=lambda one: -one[1])
    if not ranked:
        return ""
    others = [text for other in lines.others if (text := axes.shown(other, ranking[other.name]))]
    (best, gain), *rest = ranked
    said = f"With {' and '.join(others)}, from" if others else "From"
    said += f" {axes.span(axis, first, last)} {best} gets {format_bound(gain)} times the samples/s"
    said += "".join(f", {name} {format_bound(times)} times" for name, times in rest)
    return said + "".join(f"; {text}" for text in _overtaking(lines, group)) + "."


def _overtaking(lines: Lines, group: Sequence[Line]) -> list[str]:
    """Where another backend is shown to be faster than the one that was the fastest before."""
    at: dict[int, dict[str, Summary]] = {}
    for line in group:
        for point in line.points:
            at.setdefault(point.at, {})[point.row.backend] = point.row
    found, before = [], ""
    for value, rows in sorted(at.items()):
        fastest = _shown_fastest(rows)
        behind = rows[before].ratios.get(TO_FASTEST) if before in rows else None
        if fastest not in ("", before) and behind and behind.verdict == SLOWER:
            found.append(f"{fastest} overtakes {before} at {axes.shown(lines.axis, value)}")
        before = fastest or before
    return found


def _shown_fastest(rows: Mapping[str, Summary]) -> str:
    """The backend that is the fastest, and no other may be as fast."""
    verdicts = {name: row.ratios[TO_FASTEST].verdict for name, row in rows.items() if TO_FASTEST in row.ratios}
    known = [name for name, verdict in verdicts.items() if verdict != SLOWER]
    return known[0] if len(known) == 1 and verdicts[known[0]] == FASTEST else ""
