"""The answer in sentences: on which backend an example is fastest, by how much, and what is not known and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from kbench.analysis.times import ratios
from kbench.analysis.times.machine_stability import SHARE, disturbs
from kbench.analysis.times.shown_ratios import is_rough
from kbench.records import axes
from kbench.records.values import AS_FAST, NO_DIFFERENCE, NOT_COMPARED, OK
from kbench.summary import TO_FASTEST, Summary
from kbench.tables import data, lost, overall, scores, sweeps
from kbench.words.text import format_bound, listed, plain, significant

THEN = "; end them, then `{}`"  # what to do where other programs used the processor
EARLIER = 1.1  # times: a backend that is done so much earlier than the fastest is named


def answer(rows: Sequence[Summary], repeat_command: str = "") -> str:
    """The result of one example; empty where no row has a steady time. `repeat_command` repeats its rows."""
    if sweeps.varies(rows):
        return plain(" ".join(_of_sweep(rows, repeat_command)))
    several = len({row.device for row in rows}) > 1
    kind, groups = rows[0].work.told_by, _timed_by_device(rows)
    asked = [*(kind.before_answer(rows) if kind else ()), *scores.sentences(rows)]
    others = [*(kind.after_answer(rows) if kind else memory_growth(rows))]
    unknown = [*map(_is_unknown, groups)]
    what = "Its times" if others and any(unknown) and all(unknown) else rows[0].example
    times = [_of_device(one, f" on {one[0].device}" if several else "", repeat_command, what) for one in groups]
    sentences = [*asked, *(others + times if what != rows[0].example else times + others)]
    if sentences and data.is_synthetic(rows[0]):
        sentences.append("This is on synthetic data.")
    return plain(" ".join(sentences))


def _of_sweep(rows: Sequence[Summary], repeat_command: str) -> list[str]:
    """The sentences on rows that differ in a number: who is fastest where, what could not be compared, and trends."""
    timed = [row for row in rows if TO_FASTEST in row.ratios]
    if not timed:
        return []
    unknown = ratios.without_fastest(timed)
    missing = [row for row in timed if _verdict(row) == NOT_COMPARED]
    sentences = [sweeps.winners(timed, timed[0].work.does, unknown)]
    if missing:
        of = f"{len(missing)} of {len(timed)} rows" if sentences[0] else rows[0].example
        sentences.append(f"{of} could not be compared: {why_not(timed, repeat_command)}.")
    if not load(timed):
        sentences += sweeps.trends(timed)
    sentences += ["This is on synthetic data."] if data.is_synthetic(rows[0]) else []
    return [one for one in sentences if one]


def over_all(rows: Sequence[Summary], repeat_command: str = "") -> list[str]:
    """What a run of several examples comes to: what is lost, and which backend to take or else the headline."""
    named = overall.sentences(rows)
    return [*lost.sentences(rows), *named] if named else [headline(rows, repeat_command)]


def headline(summaries: Sequence[Summary], repeat_command: str = "") -> str:
    """Which rows predict otherwise, who is fastest where, how sure that is, and how the rows ended: a few sentences.
    `repeat_command` as in `answer`.
    """
    summaries = [row for row in summaries if row.work.compared]
    rankings = dict.fromkeys(row.ranking for row in summaries)
    unknown = ratios.without_fastest(summaries)
    fastest = {(row.backend, row.ranking) for row in summaries if row.relative_to_fastest == 1}
    wins = Counter(backend for backend, ranking in fastest if ranking not in unknown)
    of_examples = {ranking.only(axes.TITLE) for ranking in rankings}
    what = "examples" if len(of_examples) == len(rankings) else "comparisons"
    kind = next((row.work.told_by for row in summaries if row.work.observed), None)
    what = kind.parts if kind and what == "examples" else what
    ranked = sorted(wins.items(), key=lambda item: (-item[1], item[0]))
    if not fastest:
        first = "" if any(map(lost.is_lost, summaries)) else "No backend has a steady epoch to compare."
    elif not ranked:
        first = ""
    elif len(rankings) == 1:
        first = f"{' and '.join(name for name, _ in ranked)} {'was' if len(ranked) == 1 else 'were'} fastest."
    else:
        (best, count), *others = ranked
        first = f"{best} was fastest in {count} of {len(rankings)} {what}"
        first += "".join(f", {name} in {number}" for name, number in others) + "."
    for verdict, how in ((AS_FAST, "is"), (NO_DIFFERENCE, "may be")):
        near = [row for row in summaries if _verdict(row) == verdict]
        if near and len(rankings) == 1:
            how = "are" if how == "is" and len(near) > 1 else how
            first += f" {' and '.join(row.backend for row in near)} {how} as fast."
        elif near:
            first += f" In {len({row.ranking for row in near})} of these, another backend {how} as fast."
    ended = Counter(row.status for row in summaries).most_common()
    if [status for status, _ in ended] == [OK]:
        tail = f"All {len(summaries)} rows were measured." if len(summaries) > 1 else "The row was measured."
    else:
        tail = f"Rows: {', '.join(f'{number} {status}' for status, number in ended)}."
    unlike = sum(row.unranked == "differs" for row in summaries)
    if unlike:
        tail += f" {unlike} {'row' if unlike == 1 else 'rows'} did other work than the rest (differs)."
    synthetic = dict.fromkeys(row.example for row in summaries if data.is_synthetic(row))
    if synthetic:
        tail += f" On synthetic data: {', '.join(synthetic)}."
    there = _unclear(summaries)
    missing = _missing(there, f"of {len(rankings)} {what}" if len(rankings) > 1 else "", repeat_command)
    parts = (first, missing, tail)
    before = (*lost.sentences(summaries), *above_tables(summaries))
    return plain(" ".join([*before, *(part for part in parts if part)]))


def above_tables(rows: Sequence[Summary]) -> list[str]:
    """What is said above all tables, of rows whose work is observed."""
    by_kind: dict[str, list[Summary]] = {}
    for row in rows:
        by_kind.setdefault(row.work.kind, []).append(row)
    told = ((of_kind[0].work.told_by, of_kind) for of_kind in by_kind.values())
    return [plain(sentence) for kind, of_kind in told if kind for sentence in kind.above_tables(of_kind)]


def memory_growth(rows: Sequence[Summary]) -> list[str]:
    """On which backends memory grows from one epoch or call to the next."""
    grows = [row for row in rows if row.memory_growth_mib]
    each = (f"{row.backend} by {significant(row.memory_growth_mib, 2)} MiB" for row in grows)
    return [f"Memory grows with each {rows[0].work.unit} on {', '.join(each)}."] if grows else []


def not_compared(summaries: Sequence[Summary], repeat_command: str = "") -> str:
    """What could not be compared of several examples, and why; empty if all was. `repeat_command` as in `answer`."""
    examples = len({row.ranking for row in summaries})
    return _missing(_unclear(summaries), f"of {examples} examples", repeat_command)


def _unclear(summaries: Sequence[Summary]) -> list[Summary]:
    """The rows of the rankings in which some could not be compared."""
    rankings = {row.ranking for row in summaries if _verdict(row) == NOT_COMPARED}
    return [row for row in summaries if row.ranking in rankings]


def _missing(there: Sequence[Summary], of_all: str, repeat_command: str) -> str:
    """What could not be compared, and why; `there`: the rows of the examples where that is so, perhaps none.

    of_all: such as "of 7 examples", if the run has several.
    """
    rows = [row for row in there if _verdict(row) == NOT_COMPARED]
    if not rows:
        return ""
    unknown = ratios.without_fastest(there)
    if not of_all:
        what = rows[0].example if unknown else _names(rows)
        return f"{what} could not be compared: {why_not(there, repeat_command)}."
    if unknown:
        groups = [[row for row in there if row.ranking == ranking] for ranking in unknown]
        if all(map(load, groups)):
            groups = [[row for group in groups for row in group]]
        whys = Counter(why_not(group, repeat_command) for group in groups).most_common()
        if len(whys) == 1:
            return f"{len(unknown)} {of_all} could not be compared: {whys[0][0]}."
        return f"{len(unknown)} {of_all} could not be compared. " + " ".join(
            f"{number} of these: {why}." for why, number in whys
        )
    return (
        f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} could not be compared: {why_not(there, repeat_command)}."
    )


def _timed_by_device(rows: Sequence[Summary]) -> list[list[Summary]]:
    """The comparable rows of each device, fastest first."""
    timed = sorted((row for row in rows if row.relative_to_fastest is not None), key=lambda row: row.device)
    groups = [list(group) for _, group in groupby(timed, key=lambda row: row.device)]
    return [sorted(group, key=lambda row: row.relative_to_fastest or 0.0) for group in groups]


def _is_unknown(rows: Sequence[Summary]) -> bool:
    """Whether none of the comparable rows of a device could be compared with the fastest."""
    others = [row for row in rows if row.relative_to_fastest != 1]
    return bool(others) and all(_verdict(row) == NOT_COMPARED for row in others)


def _of_device(rows: Sequence[Summary], where: str, repeat_command: str, what: str) -> str:
    """`rows` are the comparable ones, fastest first; `what` could not be compared, if nothing could."""
    fastest = [row for row in rows if row.relative_to_fastest == 1]
    others = rows[len(fastest) :]
    work, does, names = rows[0].work, rows[0].work.does, _names(fastest)
    if not others and len(fastest) == 1:
        if disturbs(*rows):
            return f"{what}{where} could not be timed on {names}: {why_not(rows, repeat_command)}."
        time, there = _time(rows[0]), f"{where} on {names}"
        said = f"takes {time}{there}" if work.repeated else f"{does}{there} in {time}"
        return f"{rows[0].example} {said}; there is nothing to compare it with."
    missing = [row for row in others if _verdict(row) == NOT_COMPARED]
    why = why_not(rows, repeat_command) if missing else ""
    if _is_unknown(rows):
        return f"{what}{where} could not be compared: {why}."
    time = "" if disturbs(*fastest) else f": {_time(rows[0])}"
    sentences = [f"{rows[0].example} {does} fastest{where} on {names}{time}."]
    unsure = [row for row in others if _verdict(row) == NO_DIFFERENCE]
    equal = [row for row in others if _verdict(row) == AS_FAST]
    sure = [row for row in others if row not in unsure and row not in missing and row not in equal]
    if known := [row for row in sure if not is_rough(row)]:
        last = f"; the slowest, {known[-1].backend}, {_ratio(known[-1], ' times')}" if len(known) > 1 else ""
        sentences.append(f"{known[0].backend} takes {_ratio(known[0], ' times as long')}{last}.")
    if rough := [row for row in sure if is_rough(row)]:
        takes = f"{_names(rough)} {'takes' if len(rough) == 1 else 'take'} longer"
        sentences.append(f"{takes}, but how much longer is not known: {why_not(rows, repeat_command)}.")
    if equal:
        each = listed(f"{row.backend} (to within {_apart(row):.0%})" for row in equal)
        sentences.append(f"{each} {'is' if len(equal) == 1 else 'are'} as fast.")
    if unsure:
        each = listed(f"{row.backend} ({_ratio(row, ' times,', '{} to {}')})" for row in unsure)
        sentences.append(f"{each} may be as fast.")
    if missing:
        sentences.append(f"{_names(missing)} could not be compared: {why}.")
    return " ".join([*sentences, *(work.told_by.after_ranking(rows) if work.told_by else _done_first(rows))])


def _done_first(rows: Sequence[Summary]) -> list[str]:
    """Where an example's epochs, the first with its compilation included, are done earlier than on the fastest."""
    of_all = {row.backend: _all_epochs(row, rows[0].epoch_seconds) for row in reversed(rows)}
    totals = {name: total for name, total in of_all.items() if total is not None}
    fastest, first = rows[0].backend, min(totals, key=lambda name: totals[name], default="")
    if fastest not in totals or totals[fastest] < EARLIER * totals[first]:
        return []
    count = f"{rows[0].epochs:,} {rows[0].work.units}"
    times = f"{significant(totals[first])} s against {significant(totals[fastest])} s on {fastest}"
    return [f"Counting compilation, {first} finishes these {count} first: {times}."]


def _all_epochs(row: Summary, fastest: float | None) -> float | None:
    """Seconds of all epochs of a row, by those of the fastest's epoch."""
    if row.first_epoch_seconds is None or fastest is None:
        return None
    return row.first_epoch_seconds + (row.epochs - 1) * fastest * (row.relative_to_fastest or math.inf)


def _apart(row: Summary) -> float:
    """How far a row that is as fast may be off the fastest: a share of its time, in whole per cent."""
    interval = row.relative_interval
    assert interval is not None
    return math.ceil(100 * (max(interval.high, 1 / interval.low) - 1) - 1e-6) / 100


def why_not(rows: Sequence[Summary], repeat_command: str = "") -> str:
    """Why some of the comparable `rows` could not be compared, and what to do about it."""
    if why := load(rows):
        return why + (THEN.format(repeat_command) if repeat_command else "; end them and measure again")
    missing = [row for row in rows if _verdict(row) == NOT_COMPARED]
    smoke = any(row.profile == "smoke" and not row.work.observed for row in missing)
    repeat = "run without --profile smoke, or with --repeats 3" if smoke else "use --repeats 3"
    if all(row.resampled_values is None for row in missing):
        return f"one {missing[0].work.unit} each is too few; {repeat}"
    if any(row.relative_interval is None for row in missing):
        return f"there are too few values; {repeat}"
    return f"times vary too much; measure again{f' with `{repeat_command}`' if repeat_command else ''}"


def load(rows: Sequence[Summary]) -> str:
    """That other programs used the processor, and in how many of the rows' turns; empty if in few."""
    disturbed, turns = sum(row.disturbed_turns for row in rows), sum(row.turns for row in rows)
    if disturbed > SHARE * turns:
        return f"other programs used the processor in {disturbed} of {turns} turns"
    return "other programs used the processor" if disturbs(*rows) else ""


def says_load(rows: Sequence[Summary]) -> bool:
    """Whether an answer on these rows says so, of those that it could not compare or time."""
    counts = Counter(row.ranking for row in rows if row.relative_to_fastest is not None)
    alone = [row for row in rows if counts[row.ranking] == 1 and disturbs(row)]
    return bool(load([*_unclear(rows), *filter(is_rough, rows), *alone]))


def _verdict(row: Summary) -> str:
    """Against the fastest; empty for the fastest itself, and for a row that has no ratio."""
    ratio = row.ratios.get(TO_FASTEST)
    return ratio.verdict if ratio and ratio.value != 1 else ""


def _names(rows: Sequence[Summary]) -> str:
    return listed(row.backend for row in rows)


def _time(row: Summary) -> str:
    return f"{significant(row.shown_seconds)} s{row.work.each}"


def _ratio(row: Summary, unit: str, ends: str = "({} to {})") -> str:
    """Such as `1.51 times as long (1.43 to 1.57)`; of an interval that says little more, its lower end."""
    interval = row.relative_interval
    if interval and 1 < interval.low < interval.high / ratios.WIDEST**2:
        return f"at least {format_bound(interval.low)}{unit}"
    shown = ends.format(format_bound(interval.low), format_bound(interval.high)) if interval else "(no interval)"
    return f"{format_bound(row.relative_to_fastest or 0.0)}{unit} {shown}"
