"""Which backend to take, over all examples of a run, in a few sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbench.analysis.times.overall import Other, Overall, overall, scope
from kbench.analysis.times.ratios import verdict
from kbench.analysis.times.shown_ratios import is_rough, words
from kbench.records import axes
from kbench.records.axes import Axis, Point
from kbench.records.values import AS_FAST, FASTER, NO_DIFFERENCE, NOT_COMPARED, OK, SLOWER, UNSUPPORTED
from kbench.summary import Summary
from kbench.words.text import format_bound, listed, plain

_NAMED = 3  # examples, or backends that are alike; of more, the number is said


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """Which backend to take: for each device and task with two examples or more in which two backends have a time."""
    several = len({row.device for row in summaries}) > 1
    varying = axes.varying(row.ranking.without([axes.EXAMPLE, axes.DEVICE, axes.TASK]) for row in summaries)
    found = []
    for one in overall(summaries):
        rows = [row for row in summaries if row.device == one.device and one.task in ("", row.task)]
        found.append(plain(" ".join([*_answer(one, scope(one, several), rows), *_left_out(one, varying)])))
    return found


def _answer(one: Overall, where: str, rows: Sequence[Summary]) -> list[str]:
    verdicts = {name: verdict(ends) for name, _, ends in (*one.others, *one.partly)}
    over = f"over these {one.examples} examples{where}"
    if set(verdicts.values()) <= {NOT_COMPARED}:
        return [f"There is no winner: {over} times vary too much."]
    of = {kind: [other for other in one.others if verdicts[other[0]] == kind] for kind in verdicts.values()}
    as_fast = [f"{other[0]} is as fast ({_bounds(other)})" for other in of.get(AS_FAST, [])]
    as_fast += [f"{other[0]} may be as fast ({_bounds(other)})" for other in of.get(NO_DIFFERENCE, [])]
    each = _one_each(one, rows)
    if each:
        least = f"{one.fastest} takes the least time (geometric means, 95 % intervals)"
        first = f"It depends: {each}; over both{where}, {least}"
    elif one.others:
        first = f"Take {one.fastest}: {over} it takes the least time (geometric means, 95 % intervals)"
    elif set(verdicts.values()) == {SLOWER}:
        first = f"Take {one.fastest}: it is the only one compared in all {one.examples} examples{where}"
    else:
        first = f"There is no winner: only {one.fastest} is compared in all {one.examples} examples{where}"
    answer, parts = "; ".join([first, *as_fast]) + ".", list[str]()
    if slower := of.get(SLOWER, []):
        last = f"; the slowest, {_ratio(slower[-1])}" if len(slower) > 2 else ""
        shown = slower[:1] if len(slower) > 2 else slower
        takes = ", ".join(_ratio(other, " as long" * (place == 0)) for place, other in enumerate(shown))
        parts.append(f"{takes}{last}.")
    if unsure := [name for name, _, _ in of.get(NOT_COMPARED, [])]:
        parts.append(f"Not compared, as times vary too much: {', '.join(unsure)}.")
    for sentence, kinds in _not_everywhere(one, verdicts, rows):
        matters = bool({FASTER, AS_FAST, NO_DIFFERENCE} & kinds)
        parts.insert(0 if matters else len(parts), sentence)
    return [answer, *parts, *([] if each else _faster_somewhere(one, verdicts))]


def _one_each(one: Overall, rows: Sequence[Summary]) -> str:
    """Of two examples of which another backend is faster in one: which is for which; else empty."""
    elsewhere = [(name, example) for name, examples in one.faster.items() for example in examples]
    if one.examples != 2 or len(elsewhere) != 1 or not one.others:
        return ""
    ((name, example),) = elsewhere
    rest = next(row.example for row in rows if row.example != example)
    return f"{one.fastest} for {rest}, {name} for {example}"


def _not_everywhere(one: Overall, verdicts: Mapping[str, str], rows: Sequence[Summary]) -> list[tuple[str, set[str]]]:
    """Who is not compared where, and why; and its place in the other examples: sentences, each with its verdicts. Not
    those whose backends do not support an example and have no place.
    """
    partly = {other[0]: other for other in one.partly}
    alike: dict[str, list[str]] = {}
    for name, examples in one.missing.items():
        whys = dict.fromkeys(_why_not(name, example, rows, one) for example in examples)
        if name in partly or [*whys] != [_UNSUPPORTED]:
            alike.setdefault(f"compared in {_examples(examples)} ({listed(whys)})", []).append(name)
    found = []
    for where, names in alike.items():
        kinds = {verdicts[name] for name in names if name in partly} - {NOT_COMPARED}
        ranked = [partly[name] for name in names if name in partly and verdicts[name] in kinds]
        places = [
            _ratio(other, " as long")
            if verdicts[other[0]] == SLOWER
            else f"{other[0]} {_PLACES[verdicts[other[0]]]} ({_bounds(other)})"
            for other in ranked
        ]
        if len(names) == len(places) == 1:
            places = [places[0].replace(names[0], "it", 1)]
        rest = f"; elsewhere {', '.join(places)}" if places else ""
        found.append((f"{listed(names)} {'is' if len(names) == 1 else 'are'} not {where}{rest}.", kinds))
    return found


_UNSUPPORTED = "not supported"
_PLACES = {FASTER: "is faster", AS_FAST: "is as fast", NO_DIFFERENCE: "may be as fast"}


def _why_not(backend: str, example: str, rows: Sequence[Summary], one: Overall) -> str:
    """Why a backend is not compared in an example."""
    its = [row for row in rows if (row.backend, row.example) == (backend, example)]
    apart = [row for row in its if row.differs or row.relative_to_fastest is None]
    if its and not apart:
        in_part = any(ranking[axes.EXAMPLE] == example for ranking in one.lacking.get(backend, ()))
        why = "other programs disturbed it" if any(map(is_rough, its)) else "times vary too much"
        return "measured in part" if in_part else why
    if not its:
        return "not measured"
    why = words(apart[0])
    return {UNSUPPORTED: _UNSUPPORTED, OK: "no steady time"}.get(why, why)


def _faster_somewhere(one: Overall, verdicts: Mapping[str, str]) -> list[str]:
    """Who is faster in which examples, or may be though it is slower over all: one sentence."""
    alike: dict[str, list[str]] = {}
    for name, examples in one.faster.items():
        slower = verdicts.get(name) not in (NO_DIFFERENCE, AS_FAST)  # else it is said that it may be
        maybe = one.maybe_faster[name] if slower else ()
        clauses = [f"faster in {_examples(examples)}"] if examples else []
        clauses += [f"may be {'' if examples else 'faster '}in {_examples(maybe)}"] if maybe else []
        if clauses:
            alike.setdefault(" and ".join(clauses), []).append(name)
    said: list[str] = []
    for what, names in sorted(alike.items(), key=lambda item: item[0].startswith("may")):
        who = listed(names) if len(names) <= _NAMED else f"{len(names)} others"
        verb = "" if what.startswith("may") else "is " if len(names) == 1 else "are "
        shorter = bool(verb and said) and " may be " not in what
        said.append(f"{who} {what.removeprefix('faster ') if shorter else verb + what}")
    return [f"{'; '.join(said)}."] if said else []


def _left_out(one: Overall, varying: Sequence[Axis]) -> list[str]:
    """What the answer does not count since one of its backends has no time there, such as a number of workers."""
    lacking: dict[Point, list[str]] = {}
    for name in (one.fastest, *(other[0] for other in one.others)):
        missing = one.missing.get(name, ())  # which is said already
        for ranking in (each for each in one.lacking.get(name, ()) if each[axes.EXAMPLE] not in missing):
            lacking.setdefault(ranking, []).append(name)
    where: dict[tuple[str, str], list[str]] = {}
    for ranking, names in lacking.items():
        at = ", ".join(filter(None, (axes.shown(axis, ranking[axis.name]) for axis in varying)))
        where.setdefault((at, listed(names)), []).append(str(ranking[axes.EXAMPLE]))
    said = [
        f"{at}{'' if len(examples) == one.examples else f' in {_examples(examples)}'} (no time of {names})"
        for (at, names), examples in where.items()
    ]
    return [f"Left out: {'; '.join(said)}."] if said else []


def _examples(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _NAMED else f"{len(names)} of them"


def _bounds(other: Other) -> str:
    _, ratio, ends = other
    return f"{format_bound(ratio)} times, {format_bound(ends.low)} to {format_bound(ends.high)}"


def _ratio(other: Other, more: str = "") -> str:
    name, ratio, ends = other
    verb = "takes " if more else ""
    return f"{name} {verb}{format_bound(ratio)} times{more} ({format_bound(ends.low)} to {format_bound(ends.high)})"
