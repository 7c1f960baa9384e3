"""Which backend takes the least time over all examples of a run: geometric means of ratios, with intervals."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from kbench.analysis.times import intervals, levels, ratios
from kbench.analysis.times.levels import Quantiles
from kbench.records.axes import Point
from kbench.records.values import NO_DIFFERENCE, PRECISION, Interval
from kbench.summary import TO_FASTEST, Summary

FEWEST = 2  # examples: of one, its own comparison is the answer
FEWEST_OF_PROFILE = 3


Other = tuple[str, float, Interval]  # a backend, the geometric mean of its ratios to the fastest, its interval


@dataclass(frozen=True)
class Overall:
    """How the backends compare over all examples, on one device."""

    device: str
    task: str  # "train" or "infer"; empty where no example has both
    examples: int  # in which two backends or more are compared
    fastest: str  # of those that are compared in all of them
    others: tuple[Other, ...]  # that are compared in all of them
    partly: tuple[Other, ...]  # that are not: over those that they have in common with the fastest, two or more
    faster: Mapping[str, tuple[str, ...]]  # by backend, the examples in which it is shown to take less time
    maybe_faster: Mapping[str, tuple[str, ...]]  # in which it is the fastest by far, and that is not shown
    missing: Mapping[str, tuple[str, ...]]  # by backend, the examples in which it is not compared
    # Of all backends: the rankings in which others have a time. Those that a compared one lacks count for nobody.
    lacking: Mapping[str, tuple[Point, ...]]


def overall(summaries: Sequence[Summary], confidence: float = intervals.CONFIDENCE) -> list[Overall]:
    """For each device, and each task if an example has both, with enough examples that have a fastest row.

    It is of these examples, not of others: an interval is that of a mean of differences of rows' levels, each with
    the distribution that its own intervals have, and independent of the others. The intervals of all pairs hold
    together at `confidence`, by Bonferroni's inequality, since the fastest is chosen by the same data. A backend that
    is not compared in some example has its place by the others. Of a backend's rows that are ranked together, such as
    one per image_data_format, the fastest counts; of rankings, such as one per batch size, the geometric mean over
    those that all compared backends have in common.
    """
    found = (_of_group(*group, its, confidence) for group, its in _by_ranking(summaries).items())
    return [one for one in found if one]


def scope(one: Overall | PerformanceProfile, several_devices: bool) -> str:
    """What it is of, to be said behind its examples; empty where a run has one task and device."""
    task = {"train": " in training", "infer": " in inference"}.get(one.task, "")
    return f"{task}{f' on {one.device}' if several_devices else ''}"


@dataclass(frozen=True)
class PerformanceProfile:
    """A performance profile (Dolan & More, 2002): in which share of examples a backend is within a factor of the
    fastest.
    """

    device: str
    task: str  # as above
    examples: int
    ratios: Mapping[str, tuple[float, ...]]  # of each backend to the fastest, ascending; less than `examples` if some
    # have no time: they count as never reached

    def share(self, backend: str, factor: float) -> float:
        """Of the examples in which the backend takes at most `factor` times as long as the fastest."""
        return bisect.bisect_right(self.ratios[backend], factor) / self.examples

    @property
    def largest(self) -> float:
        """Of all ratios."""
        return max(ratios[-1] for ratios in self.ratios.values())

    def steps(self, backend: str) -> list[tuple[float, float]]:
        """(factor, share) from 1 to the largest ratio, where the share changes."""
        factors = dict.fromkeys([1.0, *self.ratios[backend], self.largest])
        return [(factor, self.share(backend, factor)) for factor in factors]


def profiles(summaries: Sequence[Summary]) -> list[PerformanceProfile]:
    """As `overall`, of the same ratios, and of backends that lack some, too."""
    found = []
    for group, examples in _times(summaries).items():
        of_each: dict[str, tuple[float, ...]] = {}
        ratios_of = sorted((name, level.ratio) for example in examples.values() for name, level in example.items())
        for name, ratio in ratios_of:
            if ratio < math.inf:
                of_each[name] = (*of_each.get(name, ()), ratio)
        if len(examples) >= FEWEST_OF_PROFILE and len(of_each) > 1:
            found.append(PerformanceProfile(*group, len(examples), of_each))
    return found


def ranked(summaries: Sequence[Summary]) -> list[str]:
    """All backends: those with a time in most examples first, among them by the geometric mean of their ratios."""
    found: dict[str, list[float]] = {row.backend: [] for row in summaries}
    for examples in _times(summaries).values():
        for name, level in (pair for example in examples.values() for pair in example.items()):
            found[name] += [math.log(level.ratio)] if level != _NONE else []
    return sorted(found, key=lambda name: (-len(found[name]), fmean(found[name] or [0.0])))


@dataclass(frozen=True)
class _Level:
    """How long a backend takes in an example: times the fastest, and the quantiles of its time in each ranking."""

    ratio: float
    times: tuple[Quantiles, ...]
    is_open: bool = False  # whether the example's own table shows no difference from the fastest


_NONE = _Level(math.inf, ())
_FARTHEST = 700.0  # of a logarithm of which nothing is known
_Examples = dict[str, dict[str, _Level]]  # example -> backend -> its level
_Rankings = dict[str, dict[str, dict[Point, _Level]]]  # example -> backend -> its level in each ranking


def _times(summaries: Sequence[Summary]) -> dict[tuple[str, str], _Examples]:
    """(Device, task) in order -> the levels in each example."""
    return {group: _in_common(its) for group, its in _by_ranking(summaries).items()}


def _by_ranking(summaries: Sequence[Summary]) -> dict[tuple[str, str], _Rankings]:
    unknown = ratios.without_fastest(summaries)
    both = len({(row.example, row.task) for row in summaries}) > len({row.example for row in summaries})
    times: dict[tuple[str, str], _Rankings] = {}
    for row in summaries:
        ratio = row.ratios.get(TO_FASTEST)
        told = ratio is not None and 0 < ratio.value < math.inf and not ratio.rough
        if ratio and told and row.ranking not in unknown and not row.work.observed:
            group = times.setdefault((row.device, row.task if both else ""), {})
            found = group.setdefault(row.example, {}).setdefault(row.backend, {})
            level = _Level(ratio.value, (ratio.quantiles,), ratio.verdict == NO_DIFFERENCE)
            found[row.ranking] = min(level, found.get(row.ranking, level), key=lambda one: one.ratio)
    order = sorted(times, key=lambda group: (group[0], group[1] == "infer"))
    return {group: times[group] for group in order}


def _in_common(examples: _Rankings) -> _Examples:
    """The levels over the rankings that all backends have in common that have a time in every example.

    Where an example has no such ranking, the backends with the fewest are left out.
    """
    count = Counter(name for its in examples.values() for name, found in its.items() for _ in found)
    compared = [name for name in count if all(name in its for its in examples.values())]
    while True:
        common = {example: _shared(its, compared) for example, its in examples.items()}
        if all(common.values()):
            return {example: _of_example(its, common[example]) for example, its in examples.items()}
        compared.remove(min(reversed(compared), key=lambda name: count[name]))


def _shared(backends: Mapping[str, Mapping[Point, _Level]], compared: Sequence[str]) -> list[Point]:
    """The rankings in which all the compared backends have a time: in order, those of any if none is compared."""
    rankings = dict.fromkeys(ranking for found in backends.values() for ranking in found)
    return [ranking for ranking in rankings if all(ranking in backends[name] for name in compared)]


def _of_example(backends: Mapping[str, Mapping[Point, _Level]], rankings: Sequence[Point]) -> dict[str, _Level]:
    """The level of each backend over these rankings, relative to the fastest; infinite if it lacks one."""
    means = {
        name: _mean([found[one] for one in rankings]) if all(one in found for one in rankings) else None
        for name, found in backends.items()
    }
    best = min((one.ratio for one in means.values() if one), default=1.0)
    return {name: replace(one, ratio=one.ratio / best) if one else _NONE for name, one in means.items()}


def _mean(several: Sequence[_Level]) -> _Level:
    times = tuple(time for one in several for time in one.times)
    is_open = len(several) == 1 and several[0].is_open
    return _Level(math.prod(one.ratio for one in several) ** (1 / len(several)), times, is_open)


def _of_group(device: str, task: str, rankings: _Rankings, confidence: float) -> Overall | None:
    examples = _in_common(rankings)
    names = list(dict.fromkeys(name for example in examples.values() for name in example))
    common = {name: [one for one in examples if _is_compared(examples[one].get(name, _NONE))] for name in names}
    compared = [one for one in examples if sum(one in found for found in common.values()) > 1]
    if len(compared) < FEWEST:  # perhaps since times vary too much
        compared = [one for one, found in examples.items() if sum(level != _NONE for level in found.values()) > 1]
    everywhere = [name for name in names if set(compared) <= {*common[name]}]
    if len(compared) < FEWEST or not everywhere:
        return None
    first = min(everywhere, key=lambda name: fmean(math.log(examples[one][name].ratio) for one in compared))
    alpha = (1 - confidence) / math.comb(len(names), 2)
    others, partly = list[Other](), list[Other]()
    faster, maybe_faster = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for name in (one for one in names if one != first):
        shared = [one for one in compared if one in common[name]]
        pairs = {one: (examples[one][name], examples[one][first]) for one in shared}
        if name in everywhere or len(shared) >= FEWEST:
            mean = _mean_ratio([*pairs.values()], alpha)
            (others if name in everywhere else partly).append((name, *mean))
        less = {one: _mean_ratio([its], alpha) for one, its in pairs.items() if its[0].ratio < its[1].ratio}
        # What a table leaves open is no more certain here.
        at_odds = {one for one in less if examples[one][name].ratio == 1 and examples[one][first].is_open}
        faster[name] = tuple(one for one, (_, ends) in less.items() if ends.high < 1 and one not in at_odds)
        maybe_faster[name] = tuple(
            one
            for one, (ratio, ends) in less.items()
            if (ends.high >= 1 or one in at_odds) and examples[one][name].ratio == 1 and ratio * (1 + PRECISION) < 1
        )
    missing = {name: tuple(one for one in examples if one not in common[name]) for name in names}
    return Overall(
        device,
        task,
        len(compared),
        first,
        tuple(sorted(others, key=lambda one: one[1])),
        tuple(sorted(partly, key=lambda one: one[1])),
        faster,
        maybe_faster,
        {name: found for name, found in missing.items() if found},
        _lacking(rankings),
    )


def _is_compared(level: _Level) -> bool:
    return level != _NONE and all(level.times)


def _mean_ratio(pairs: Sequence[tuple[_Level, _Level]], alpha: float) -> tuple[float, Interval]:
    """The geometric mean of the ratios of these levels, and its interval."""
    middle = fmean(math.log(one.ratio / other.ratio) for one, other in pairs)
    parts = [
        (time, sign / len(level.times) / len(pairs))
        for one, other in pairs
        for level, sign in ((one, 1.0), (other, -1.0))
        for time in level.times
    ]
    if not all(time for time, _ in parts):
        return math.exp(middle), Interval(math.exp(-_FARTHEST), math.exp(_FARTHEST))
    ends = (middle + end for end in levels.of_sum(parts, alpha))
    return math.exp(middle), Interval(*(math.exp(max(-_FARTHEST, min(end, _FARTHEST))) for end in ends))


def _lacking(examples: _Rankings) -> dict[str, tuple[Point, ...]]:
    """The rankings in which each backend has no time, of those in which another has."""
    times = [(name, found) for its in examples.values() for name, found in its.items()]
    rankings = dict.fromkeys(ranking for _, found in times for ranking in found)
    having = {(name, ranking) for name, found in times for ranking in found}
    lacking = {
        name: tuple(one for one in rankings if (name, one) not in having) for name in dict.fromkeys(dict(times))
    }
    return {name: its for name, its in lacking.items() if its}
