"""Which backend takes the least time over all examples of a run: geometric means of ratios, with intervals."""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kbench.analysis.times import intervals, ratios
from kbench.axes import Point
from kbench.summary import Summary
from kbench.values import PRECISION, Interval

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


def overall(summaries: Sequence[Summary], confidence: float = intervals.CONFIDENCE) -> list[Overall]:
    """For each device, and each task if an example has both, with enough examples that have a fastest row.

    It is of these examples, not of others: an interval has the errors of their ratios, each taken as normal in the
    logarithm. Two ratios to a third share its error, so it is rather too wide. Those of all pairs hold together at
    `confidence`, by Bonferroni's inequality, since the fastest is chosen by the same data. A backend that is not
    compared in some example has its place by the others. Of a backend's rows that are ranked together, such as one
    per image_data_format, the fastest counts; of rankings, such as one per batch size, the geometric mean.
    """
    found = (_of_group(*group, examples, confidence) for group, examples in _times(summaries).items())
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
    """How long a backend takes in an example: times the fastest, and the standard error of its logarithm."""

    ratio: float
    error: float


_NONE = _Level(math.inf, 0.0)
_Examples = dict[str, dict[str, _Level]]  # example -> backend -> its level


def _times(summaries: Sequence[Summary]) -> dict[tuple[str, str], _Examples]:
    """(Device, task) in order -> the levels in each example."""
    unknown = ratios.without_fastest(summaries)
    both = len({(row.example, row.task) for row in summaries}) > len({row.example for row in summaries})
    times: dict[tuple[str, str], dict[str, dict[str, dict[Point, _Level]]]] = {}
    for row in summaries:
        if 0 < (row.relative_to_fastest or 0.0) < math.inf and row.ranking not in unknown and not row.work.of_program:
            group = times.setdefault((row.device, row.task if both else ""), {})
            found = group.setdefault(row.example, {}).setdefault(row.backend, {})
            level = _level(row)
            found[row.ranking] = min(level, found.get(row.ranking, level), key=lambda one: one.ratio)
    order = sorted(times, key=lambda group: (group[0], group[1] == "infer"))
    return {group: {name: _of_example(one) for name, one in times[group].items()} for group in order}


def _level(row: Summary) -> _Level:
    ratio, ends = row.relative_to_fastest or 1.0, row.relative_interval
    if ratio == 1.0:
        return _Level(1.0, 0.0)
    known = ends is not None and ends.low > 0 and ends.high < math.inf
    error = math.log(ends.high / ends.low) / 2 / intervals.normal(0.975) if ends and known else math.inf
    return _Level(ratio, error)


def _of_example(backends: Mapping[str, Mapping[Point, _Level]]) -> dict[str, _Level]:
    """The level of each backend over all rankings, relative to the fastest; infinite if it lacks one."""
    rankings = {ranking for found in backends.values() for ranking in found}
    means = {name: _mean(found.values()) if len(found) == len(rankings) else None for name, found in backends.items()}
    best = min((one.ratio for one in means.values() if one), default=1.0)
    return {name: _Level(one.ratio / best, one.error) if one else _NONE for name, one in means.items()}


def _mean(levels: Collection[_Level]) -> _Level:
    error = math.sqrt(sum(one.error**2 for one in levels)) / len(levels)
    return _Level(math.prod(one.ratio for one in levels) ** (1 / len(levels)), error)


def _of_group(device: str, task: str, examples: _Examples, confidence: float) -> Overall | None:
    names = list(dict.fromkeys(name for example in examples.values() for name in example))
    common = {name: [one for one in examples if _is_compared(examples[one].get(name, _NONE))] for name in names}
    compared = [one for one in examples if sum(one in found for found in common.values()) > 1]
    if len(compared) < FEWEST:  # perhaps since times vary too much
        compared = [one for one, found in examples.items() if sum(level != _NONE for level in found.values()) > 1]
    everywhere = [name for name in names if set(compared) <= {*common[name]}]
    if len(compared) < FEWEST or not everywhere:
        return None
    first = min(everywhere, key=lambda name: fmean(math.log(examples[one][name].ratio) for one in compared))
    reach = intervals.normal(1 - (1 - confidence) / len(names) / (len(names) - 1))
    others, partly = list[Other](), list[Other]()
    faster, maybe_faster = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for name in (one for one in names if one != first):
        shared = [one for one in compared if one in common[name]]
        if name in everywhere or len(shared) >= FEWEST:
            mean = _mean_ratio([(examples[one][name], examples[one][first]) for one in shared], reach)
            (others if name in everywhere else partly).append((name, *mean))
        apart = {one: _apart(examples[one][name], examples[one][first]) for one in shared}
        faster[name] = tuple(one for one, (log, error) in apart.items() if log + reach * error < 0)
        maybe_faster[name] = tuple(
            one
            for one, (log, _) in apart.items()
            if one not in faster[name] and examples[one][name].ratio == 1 and log < -math.log1p(PRECISION)
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
    )


def _is_compared(level: _Level) -> bool:
    return level != _NONE and level.error < math.inf


def _apart(level: _Level, first: _Level) -> tuple[float, float]:
    """The logarithm of a backend's ratio to the fastest in an example, and its error."""
    return math.log(level.ratio) - math.log(first.ratio), math.hypot(level.error, first.error)


def _mean_ratio(pairs: Sequence[tuple[_Level, _Level]], reach: float) -> tuple[float, Interval]:
    """The geometric mean over some examples, and its interval."""
    logs, errors = zip(*(_apart(*pair) for pair in pairs), strict=True)
    middle, half = fmean(logs), min(reach * math.hypot(*errors) / len(errors), 700.0)
    return math.exp(middle), Interval(math.exp(middle - half), math.exp(middle + half))
