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
from kbench.values import Interval

FEWEST = 2  # examples: of one, its own comparison is the answer
FEWEST_OF_PROFILE = 3


@dataclass(frozen=True)
class Overall:
    """The backends that have a time in every example, on one device."""

    device: str
    task: str  # "train" or "infer"; empty where no example has both
    examples: int
    fastest: str
    others: tuple[tuple[str, float, Interval], ...]  # name, geometric mean of the ratios to the fastest, its interval
    faster: Mapping[str, tuple[str, ...]]  # of those, the examples in which it is shown to take less time
    missing: tuple[str, ...]  # backends that have no time in some example


def overall(summaries: Sequence[Summary], confidence: float = intervals.CONFIDENCE) -> list[Overall]:
    """For each device, and each task if an example has both, with enough examples that have a fastest row.

    It is of these examples, not of others: an interval has the errors of their ratios, each taken as normal in the
    logarithm. Two ratios to a third share its error, so it is rather too wide. Those of all pairs hold together at
    `confidence`, by Bonferroni's inequality, since the fastest is chosen by the same data. Of a backend's rows that
    are ranked together, such as one per image_data_format, the fastest counts; of rankings, such as one per batch
    size, the geometric mean.
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
    everywhere = [name for name in names if all(one.get(name, _NONE) != _NONE for one in examples.values())]
    if len(examples) < FEWEST or len(everywhere) < 2:
        return None
    logs = {name: [math.log(one[name].ratio) for one in examples.values()] for name in everywhere}
    first, *others = sorted(everywhere, key=lambda name: fmean(logs[name]))
    reach = intervals.normal(1 - (1 - confidence) / len(everywhere) / (len(everywhere) - 1))
    compared, faster = [], dict[str, tuple[str, ...]]()
    for name in others:
        errors = [math.hypot(one[name].error, one[first].error) for one in examples.values()]
        middle = fmean(logs[name]) - fmean(logs[first])
        half = min(reach * math.hypot(*errors) / len(errors), 700.0)
        compared.append((name, math.exp(middle), Interval(math.exp(middle - half), math.exp(middle + half))))
        apart = zip(examples, logs[name], logs[first], errors, strict=True)
        faster[name] = tuple(example for example, own, its, error in apart if own + reach * error < its)
    missing = tuple(name for name in names if name not in everywhere)
    return Overall(device, task, len(examples), first, tuple(compared), faster, missing)
