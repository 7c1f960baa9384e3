"""Which backend takes the least time over all examples of a run: geometric means of ratios, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from kbench.analysis import intervals, ratios
from kbench.summary import Summary
from kbench.values import Interval

FEWEST = 3  # examples: of two, an interval would say nothing


@dataclass(frozen=True)
class Overall:
    """The backends that have a time in every example, on one device."""

    device: str
    examples: int
    fastest: str
    others: tuple[tuple[str, float, Interval], ...]  # name, geometric mean of the ratios to the fastest, its interval
    missing: tuple[str, ...]  # backends that have no time in some example


def overall(summaries: Sequence[Summary], confidence: float = intervals.CONFIDENCE) -> list[Overall]:
    """For each device with enough examples; examples of which no fastest row is known are left out.

    The examples are taken as a sample of programs: an interval is Student's, of the logarithms of an example's ratio,
    so it includes how much examples differ and how unsure each was. Those of all pairs hold together at
    `confidence`, by Bonferroni's inequality, since the fastest is chosen by the same data. Of several rows of a
    backend in an example, such as one per image_data_format, the fastest counts.
    """
    unknown = ratios.without_fastest(summaries)
    times: dict[str, dict[str, dict[str, float]]] = {}  # device -> example -> backend -> ratio to the fastest
    for row in summaries:
        if 0 < (row.relative_to_fastest or 0.0) < math.inf and row.ranking not in unknown and not row.work.of_program:
            of_example = times.setdefault(row.device, {}).setdefault(row.example, {})
            of_example[row.backend] = min(row.relative_to_fastest or math.inf, of_example.get(row.backend, math.inf))
    found = (_of_device(device, list(examples.values()), confidence) for device, examples in sorted(times.items()))
    return [one for one in found if one]


def _of_device(device: str, examples: Sequence[dict[str, float]], confidence: float) -> Overall | None:
    names = list(dict.fromkeys(name for example in examples for name in example))
    everywhere = [name for name in names if all(name in example for example in examples)]
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
    return Overall(device, len(examples), first, tuple(compared), tuple(n for n in names if n not in everywhere))
