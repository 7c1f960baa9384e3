"""Whether a row's final score is worse than the best one's, over trainings with several seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from kbench.analysis.times import intervals
from kbench.records import axes
from kbench.records.axes import RowKey
from kbench.records.values import OK, BesideBest, Interval, Measured
from kbench.summary import Summary

FEWEST = 3  # seeds
NAMES = ("val_accuracy", "accuracy", "val_loss", "loss")  # the first that all rows have is compared


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with their final score beside the best one of their kind, where they have that of enough seeds."""
    found: dict[RowKey, dict[int, Measured]] = {}
    for one in measured:
        if one.outcome.status == OK and one.epochs:
            found.setdefault(one.cell.key, {}).setdefault(one.cell.seed, one)
    known: dict[RowKey, BesideBest] = {}
    for group in axes.group_by_point(
        [row for row in rows if row.status == OK], lambda row: row.key.ranking, ()
    ).values():
        known |= _of_group(
            {row.key: found.get(row.key, {}) for row in group}, {row.key: row.backend for row in group}
        )
    return [replace(row, score=known[row.key]) if row.key in known else row for row in rows]


def _of_group(
    group: Mapping[RowKey, Mapping[int, Measured]], backends: Mapping[RowKey, str]
) -> dict[RowKey, BesideBest]:
    for name in NAMES:
        scores = {row: _scores(its, name) for row, its in group.items()}
        seeds = set.intersection(*({*its} for its in scores.values())) if scores else set()
        if len(scores) > 1 and len(seeds) >= FEWEST:
            return _beside(scores, sorted(seeds), name, backends)
    return {}


def _scores(its: Mapping[int, Measured], name: str) -> dict[int, float]:
    """{seed: the score of the last epoch}."""
    known = {seed: getattr(one.epochs[-1], name) for seed, one in its.items()}
    return {seed: value for seed, value in known.items() if value is not None and math.isfinite(value)}


def _beside(
    scores: Mapping[RowKey, Mapping[int, float]], seeds: Sequence[int], name: str, backends: Mapping[RowKey, str]
) -> dict[RowKey, BesideBest]:
    means = {row: fmean(its[seed] for seed in seeds) for row, its in scores.items()}
    best = (min if name.endswith("loss") else max)(means, key=lambda row: means[row])
    error = (1 - intervals.CONFIDENCE) / (len(scores) - 1)
    return {
        row: BesideBest(name, means[row], backends[best], len(seeds), _difference(its, scores[best], seeds, error))
        for row, its in scores.items()
    }


def _difference(own: Mapping[int, float], best: Mapping[int, float], seeds: Sequence[int], error: float) -> Interval:
    """Student's interval of the mean difference, seed by seed."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    differences = [own[seed] - best[seed] for seed in seeds]
    half = float(stdtrit(len(seeds) - 1, 1 - error / 2)) * stdev(differences) / math.sqrt(len(seeds))
    return Interval(fmean(differences) - half, fmean(differences) + half)
