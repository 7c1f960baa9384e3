"""How much trainings of the same work differ: the prior of `unlike_others`, from what was measured.

trainings.csv has the final scores of many trainings, which benchmarks/training_spreads.py collects. Backends that
train from the same weights in the same order differ in their own random numbers (dropout) and in rounding: these are
the trainings of a seed. Trainings of one backend with several seeds differ in weights and order, too.

A score's deviation from those of the other trainings is Student's t, as a process's time is from its row's
(`levels`), so an odd training moves what is usual by little, and a rare one accuses nobody. Its scale is unknown:
each of SPREADS has a prior weight, fitted by empirical Bayes to the trainings of this very work, to those of its kind
and to all (`spreads`).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kbench.analysis.times import spreads
from kbench.analysis.times.levels import Numbers

SHIPPED = Path(__file__).with_name("trainings.csv")
SCORES = ("val_accuracy", "val_loss", "accuracy", "loss")
# What trainings differ in: rounding, of few or of many steps; or also in steps, as is declared; or in random numbers
# of layers; or in weights and order. Names without blanks, which part the names of configurations.
ROUNDING, LONG_ROUNDING, STEPS, LAYERS, START = "rounding", "long-rounding", "steps", "random-layers", "start"
MANY = 500  # steps, in which rounding may grow until trainings have nothing in common
# Possible scales of a score's deviation, scaled as `scaled` does it.
SPREADS: Numbers = np.geomspace(0.001, 10, 32)
COUNTED = 500  # samples
FREEDOM = 6.0  # degrees of freedom of a deviation: those that were measured have fewer far ones than that
_POINTS = 151  # at which the likelihood of usual scores is computed, close together around the median
_FINEST, _FARTHEST = 0.0005, 8.0  # their distances from there

Priors = Mapping[tuple[str, str], Numbers]  # by kind and work, and "" for any: the weight of each of SPREADS


@dataclass(frozen=True)
class Work:
    """What is trained, and on how much: on what the spread of its scores depends."""

    example: str
    samples: int
    epochs: int
    batch_size: int
    validation_samples: int

    @property
    def steps(self) -> int:
        """Of all its epochs."""
        return self.epochs * -(-self.samples // max(1, self.batch_size))

    @property
    def key(self) -> str:
        """It as a text."""
        return f"{self.example} {self.samples} {self.epochs} {self.batch_size} {self.validation_samples}"

    def samples_of(self, score: str) -> int:
        """Of how many samples the score is a mean; 0 if unknown."""
        return self.validation_samples if score.startswith("val_") else self.samples


@dataclass(frozen=True)
class Training:
    """A training and its final scores."""

    source: str  # the run
    work: Work
    random: bool  # whether layers draw random numbers
    alike: int  # the same number have those of a seed that differ in rounding alone
    seed: int
    backend: str
    scores: Mapping[str, float]


def scaled(score: str, value: float | None, samples: int) -> float | None:
    """A score on the axis of SPREADS; None if it has no place there.

    An accuracy in standard errors of counting `samples`, by the arcsine that makes them equal (Anscombe 1948); of
    more than COUNTED these are not what trainings differ by. Of a loss the logarithm.
    """
    if value is None:
        return None
    if score.endswith("accuracy"):
        return (
            2 * math.asin(math.sqrt(value)) * math.sqrt(min(samples, COUNTED))
            if 0 <= value <= 1 and samples
            else None
        )
    return math.log(value) if 0 < value < math.inf else None


def prior(priors: Priors, kind: str, work: Work) -> Numbers:
    """The prior of trainings of this kind and work."""
    return next(priors[name] for name in ((kind, work.key), (kind, ""), ("", "")) if name in priors)


def read(path: Path = SHIPPED) -> list[Training]:
    """The trainings in a file; none if it is missing. Raises ValueError or KeyError if it is damaged."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Training(
                row["source"],
                Work(row["example"], *(int(row[name]) for name in _SIZES)),
                row["random"] == "1",
                int(row["alike"]),
                int(row["seed"]),
                row["backend"],
                {score: float(row[score]) for score in SCORES if row[score]},
            )
            for row in csv.DictReader(file)
        ]


_SIZES = ("samples", "epochs", "batch_size", "validation_samples")


def write(path: Path, trainings: Iterable[Training]) -> None:
    """Write them for `read`."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["source", "example", *_SIZES, "random", "alike", "seed", "backend", *SCORES])
        for one in trainings:
            sizes = (getattr(one.work, name) for name in _SIZES)
            scores = (f"{one.scores[name]:.6g}" if name in one.scores else "" for name in SCORES)
            table.writerow(
                [one.source, one.work.example, *sizes, int(one.random), one.alike, one.seed, one.backend, *scores]
            )


def of_rounding(work: Work) -> str:
    """The kind of trainings that differ in nothing else."""
    return LONG_ROUNDING if work.steps >= MANY else ROUNDING


def groups(trainings: Iterable[Training]) -> dict[tuple[str, str], list[list[Training]]]:
    """By kind and work, the trainings that differ in what that kind says: those of a seed, and those of a backend."""
    by_seed: dict[tuple[object, ...], list[Training]] = {}
    by_backend: dict[tuple[object, ...], list[Training]] = {}
    for one in trainings:
        by_seed.setdefault((one.source, one.work, one.seed), []).append(one)
        by_backend.setdefault((one.source, one.work, one.backend), []).append(one)
    found: dict[tuple[str, str], list[list[Training]]] = {}
    for group in by_seed.values():
        alike: dict[int, list[Training]] = {}
        for one in group:
            alike.setdefault(one.alike, []).append(one)
        work = group[0].work
        found.setdefault((LAYERS if group[0].random else STEPS, work.key), []).append(
            [its[0] for its in alike.values()]
        )
        if not group[0].random:
            found.setdefault((of_rounding(work), work.key), []).extend(alike.values())
    for group in by_backend.values():
        found.setdefault((START, group[0].work.key), []).append(group)
    several = {name: [group for group in its if len(group) > 1] for name, its in found.items()}
    return {name: its for name, its in several.items() if its}


def fit(trainings: Iterable[Training], score: str) -> dict[tuple[str, str], Numbers]:
    """The priors of this score that these trainings show."""
    names, evidence = [], []
    for name, its in groups(trainings).items():
        for group in its:
            values = [
                scaled(score, one.scores[score], one.work.samples_of(score)) for one in group if score in one.scores
            ]
            known = [value for value in values if value is not None]
            if len(known) > 1:
                names.append(name)
                evidence.append(likelihood(known)[1].sum(axis=1))
    return spreads.by_name(names, evidence, len(SPREADS))


def likelihood(values: Sequence[float], shrunk: float = 1.0) -> tuple[Numbers, Numbers]:
    """(grid, likelihood): possible usual scores, and how likely each of SPREADS / `shrunk` (rows) and of these scores
    (columns) makes the values.

    The likelihood is scaled so that its largest value is 1, and each column is weighted by its part of the axis.
    """
    known = np.asarray(values, dtype=float)
    grid = np.median(known) + _FINEST * np.sinh(np.linspace(-1, 1, _POINTS) * math.asinh(_FARTHEST / _FINEST))
    of_all = log_density(known - grid[None, :, None], SPREADS[:, None, None] / shrunk).sum(axis=2)
    return grid, np.exp(of_all - of_all.max()) * np.gradient(grid)[None, :]


def log_density(deviations: Numbers, scales: Numbers) -> Numbers:
    """Of Student's t, up to a constant."""
    found: Numbers = -(FREEDOM + 1) / 2 * np.log1p((deviations / scales) ** 2 / FREEDOM) - np.log(scales)
    return found


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Priors]:
    """The priors of each score from the trainings that come with kbench."""
    trainings = read()
    return {score: fit(trainings, score) for score in SCORES}
