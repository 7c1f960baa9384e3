"""Which backend takes the least time over all examples of a run: geometric means of ratios, with intervals."""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from kbench.analysis import intervals, ratios
from kbench.axes import Point
from kbench.summary import Summary
from kbench.values import Interval

FEWEST = 3  # examples: of two, an interval would say nothing


@dataclass(frozen=True)
class Overall:
    """The backends that have a time in every example, on one device."""

    device: str
    task: str  # "train" or "infer"; empty where no example has both
    examples: int
    fastest: str
    others: tuple[tuple[str, float, Interval], ...]  # name, geometric mean of the ratios to the fastest, its interval
    missing: tuple[str, ...]  # backends that have no time in some example


def overall(summaries: Sequence[Summary], confidence: float = intervals.CONFIDENCE) -> list[Overall]:
    """For each device, and each task if an example has both, with enough examples that have a fastest row.

    The examples are taken as a sample of programs: an interval is Student's, of the logarithms of an example's ratio,
    so it includes how much examples differ and how unsure each was. Those of all pairs hold together at
    `confidence`, by Bonferroni's inequality, since the fastest is chosen by the same data. Of a backend's rows that
    are ranked together, such as one per image_data_format, the fastest counts; of rankings, such as one per batch
    size, the geometric mean.
    """
    found = (_of_group(*group, examples, confidence) for group, examples in _times(summaries).items())
    return [one for one in found if one]


def scope(one: Overall | Profile, several_devices: bool) -> str:
    """What it is of, to be said behind its examples; empty where a run has one task and device."""
    task = {"train": " in training", "infer": " in inference"}.get(one.task, "")
    return f"{task}{f' on {one.device}' if several_devices else ''}"


@dataclass(frozen=True)
class Profile:
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


def profiles(summaries: Sequence[Summary]) -> list[Profile]:
    """As `overall`, of the same ratios, and of backends that lack some, too."""
    found = []
    for group, examples in _times(summaries).items():
        of_each: dict[str, tuple[float, ...]] = {}
        for name, ratio in sorted(pair for example in examples for pair in example.items()):
            if ratio < math.inf:
                of_each[name] = (*of_each.get(name, ()), ratio)
        if len(examples) >= FEWEST and len(of_each) > 1:
            found.append(Profile(*group, len(examples), of_each))
    return found


def _times(summaries: Sequence[Summary]) -> dict[tuple[str, str], list[dict[str, float]]]:
    """(Device, task) in order -> for each example the ratio of each backend to the fastest."""
    unknown = ratios.without_fastest(summaries)
    both = len({(row.example, row.task) for row in summaries}) > len({row.example for row in summaries})
    times: dict[tuple[str, str], dict[str, dict[str, dict[Point, float]]]] = {}
    for row in summaries:
        if 0 < (row.relative_to_fastest or 0.0) < math.inf and row.ranking not in unknown and not row.work.of_program:
            group = times.setdefault((row.device, row.task if both else ""), {})
            found = group.setdefault(row.example, {}).setdefault(row.backend, {})
            found[row.ranking] = min(row.relative_to_fastest or math.inf, found.get(row.ranking, math.inf))
    order = sorted(times, key=lambda group: (group[0], group[1] == "infer"))
    return {group: list(map(_of_example, times[group].values())) for group in order}


def _of_example(backends: Mapping[str, Mapping[Point, float]]) -> dict[str, float]:
    """The ratio of each backend to the fastest over all rankings of an example; infinite if it is not in all."""
    rankings = {ranking for found in backends.values() for ranking in found}
    means = {
        name: math.prod(found.values()) ** (1 / len(found)) if len(found) == len(rankings) else math.inf
        for name, found in backends.items()
    }
    return {name: mean / min(means.values()) if mean < math.inf else mean for name, mean in means.items()}


def _of_group(device: str, task: str, examples: Sequence[dict[str, float]], confidence: float) -> Overall | None:
    names = list(dict.fromkeys(name for example in examples for name in example))
    everywhere = [name for name in names if all(example.get(name, math.inf) < math.inf for example in examples)]
    if len(examples) < FEWEST or len(everywhere) < 2:
        return None
    logs = {name: np.log([example[name] for example in examples]) for name in everywhere}
    first, *others = sorted(everywhere, key=lambda name: float(logs[name].mean()))
    reach = float(stats.t.ppf(1 - (1 - confidence) / len(everywhere) / (len(everywhere) - 1), len(examples) - 1))
    compared = []
    for name in others:
        differences = logs[name] - logs[first]
        middle, half = float(differences.mean()), reach * float(stats.sem(differences))
        ends = Interval(math.exp(middle - half), math.exp(min(middle + half, 700.0)))
        compared.append((name, math.exp(middle), ends))
    return Overall(
        device, task, len(examples), first, tuple(compared), tuple(n for n in names if n not in everywhere)
    )
