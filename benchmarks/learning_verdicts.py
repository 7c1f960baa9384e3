"""How often "does not learn like the others" is said of honest rows, and how often it finds a row that learns worse.

    python benchmarks/learning_verdicts.py [--tables N] [--only TABLE] [--seed N]

Three tables are printed, with the rule of before in brackets: more than three standard errors of counting from two
others, or three times the range of four others' losses. The promise is at most 1 % in the first two.

- simulated: scores are drawn around those of a work in kbench/analysis/learning/trainings.csv, with its spread and
  tails of three kinds, and then compared by kbench's own code, which is told nothing of how. "unknown" is the same
  work under another name, which is not in that file.
- real: the trainings in that file, seed by seed: all pairs, all triples, and all. How much trainings spread is fitted
  without those of the same work and seed.
- found: how often the last of three rows is named that is worse by so much in validation.

All have one epoch here, so that no difference is left out because the epoch before does not show it.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench.analysis import summaries
from kbench.analysis.learning import training_spreads, unlike_others
from kbench.analysis.learning.training_spreads import (
    LAYERS,
    LONG_ROUNDING,
    ROUNDING,
    SCORES,
    START,
    STEPS,
    Priors,
    Training,
    Work,
    scaled,
)
from kbench.analysis.learning.training_tables import Table
from kbench.records import axes
from kbench.records.epochs import Epoch
from kbench.records.values import OK, Cell, Measured, Outcome
from kbench.summary import Summary

KINDS = (ROUNDING, LONG_ROUNDING, STEPS, LAYERS, START)
ROWS = (2, 3, 8)
NAMES = "abcdefgh"
MEASURED = "as measured"  # tails as those of the trainings that kbench comes with
TAILS = (MEASURED, "normal", "t with 4")
WORSE = (0.01, 0.02, 0.05, 0.2)  # of the validation accuracy, and its loss by so much relative to the error

CELL = Cell(
    values=axes.complete(
        {
            "example": "simulated",
            "backend": "keras9/a",
            "image_data_format": "channels_last",
            "device": "cpu",
            "task": "train",
            "batch_size": 10,
            "samples": 1000,
        }
    ),
    profile="quick",
    repeat=1,
    validation_samples=0,
    epochs=1,
    seed=0,
)
ROW = summaries.summarise([Measured(CELL, Outcome(OK))])[0]
Scores = Mapping[str, float]


def table(kind: str, work: Work, rows: Sequence[Scores]) -> Table:
    """Rows of that work with these final scores, of one training each."""
    made: list[Summary] = []
    trainings = []
    for name, scores in zip(NAMES, rows, strict=False):
        backend = f"keras9/{name}"
        final: dict[str, Any] = {f"final_{score}": value for score, value in scores.items()}
        row = replace(ROW, example=work.example, backend=backend, repeats=1, seeds=1, **final)
        row = replace(row, samples=work.samples, epochs=work.epochs, batch_size=work.batch_size)
        made.append(replace(row, validation_samples=work.validation_samples))
        known: dict[str, Any] = {**scores}
        epoch = Epoch(work.epochs, 1.0, work.samples, **known)
        trainings.append([[Measured(CELL.at(backend=backend), Outcome(OK), (epoch,))]])
    return Table(made, trainings, *as_compared(kind, len(made)))


def as_compared(kind: str, rows: int) -> tuple[str, list[int]]:
    """The kind of a table whose rows differ so, and which of them are alike."""
    return (STEPS, [0] * rows) if kind in (ROUNDING, LONG_ROUNDING) else (kind, list(range(rows)))


def now(rows: Table, priors: Mapping[str, Priors]) -> set[str]:
    """The backends that are said not to learn like the others."""
    return {row.backend for row, found in unlike_others.unlike_rows(rows, priors) if found.kind == "learning"}


def before(rows: Table) -> set[str]:
    """Those of which the rule of before said it."""
    found = set()
    for row in rows.rows if len(rows.rows) > 2 else ():
        others = [other for other in rows.rows if other is not row]
        accuracies = [other.final_val_accuracy for other in others if other.final_val_accuracy is not None]
        losses = [other.final_val_loss for other in others if other.final_val_loss is not None]
        if row.final_val_accuracy is not None and len(accuracies) == len(others) and row.validation_samples:
            usual = median(accuracies)
            error = math.sqrt(usual * (1 - usual) / row.validation_samples)
            if abs(row.final_val_accuracy - usual) > 3 * math.sqrt(2) * error:
                found.add(row.backend)
        if row.final_val_loss is not None and len(losses) >= 4:
            low, high = min(losses), max(losses)
            if max(low - row.final_val_loss, row.final_val_loss - high) > max(3 * (high - low), 0.01 * high):
                found.add(row.backend)
    return found


@dataclass(frozen=True)
class Model:
    """How the scores of a work's trainings are drawn: around these, with these spreads on the axis of spreads."""

    kind: str
    work: Work
    middle: Scores
    spreads: Scores

    def drawn(self, random: np.random.Generator, tails: str = "normal", measured: Sequence[float] = ()) -> Scores:
        """Those of a training."""
        found = {}
        for score, usual in self.middle.items():
            if tails == MEASURED:
                noise = float(random.choice(measured))
            else:
                noise = random.standard_normal()
                noise *= math.sqrt(2 / random.chisquare(4)) if tails != "normal" else 1.0  # the deviation stays
            found[score] = unscaled(score, usual + self.spreads[score] * noise, self.work.samples_of(score))
        return found


def residuals(trainings: Sequence[Training], drawn: Sequence[Model]) -> list[float]:
    """How far trainings with random layers are from the others of their seed, in the spread of their work."""
    spreads = {model.work: model.spreads for model in drawn if model.kind == LAYERS}
    found = []
    for (kind, _), groups in training_spreads.groups(trainings).items():
        for group, score in itertools.product(groups if kind == LAYERS else (), SCORES):
            work = group[0].work
            values = [scaled(score, one.scores.get(score), work.samples_of(score)) for one in group]
            known = np.array([value for value in values if value is not None])
            if work in spreads and len(known) > 2 and spreads[work].get(score):
                found += (
                    (known - known.mean()) / spreads[work][score] * math.sqrt(len(known) / (len(known) - 1))
                ).tolist()
    return found


def unscaled(score: str, value: float, samples: int) -> float:
    """The inverse of `scaled`; an accuracy of whole samples."""
    if not score.endswith("accuracy"):
        return math.exp(value)
    angle = value / math.sqrt(min(samples, training_spreads.COUNTED)) / 2
    part = math.sin(min(math.pi / 2, max(0.0, angle))) ** 2
    return round(part * samples) / samples


def models(trainings: Sequence[Training]) -> list[Model]:
    """Of each kind and work with validation, by its groups."""
    found = []
    for (kind, _), groups in training_spreads.groups(trainings).items():
        work = groups[0][0].work
        middle, spreads = {}, {}
        for score in SCORES:
            known = [
                [
                    value
                    for one in group
                    if (value := scaled(score, one.scores.get(score), work.samples_of(score))) is not None
                ]
                for group in groups
            ]
            known = [values for values in known if len(values) > 1]
            if known:
                middle[score] = float(np.median(np.concatenate(known)))
                squares = sum(float(np.var(values)) * len(values) for values in known)
                spreads[score] = math.sqrt(squares / sum(len(values) - 1 for values in known))
        if "val_loss" in middle:
            found.append(Model(kind, work, middle, spreads))
    return found


def simulated(
    asked: argparse.Namespace, drawn: Sequence[Model], priors: Mapping[str, Priors], measured: Sequence[float]
) -> None:
    """Print how often honest tables accuse a row; measured: `residuals`."""
    random = np.random.default_rng(asked.seed)
    for kind in KINDS:
        its = [model for model in drawn if model.kind == kind]
        for tails in TAILS:
            for name in ("known", "unknown"):
                shares = []
                for rows in ROWS:
                    counts = np.zeros(2)
                    for number in range(asked.tables):
                        model = its[number % len(its)]
                        work = model.work if name == "known" else replace(model.work, example="unknown")
                        made = table(kind, work, [model.drawn(random, tails, measured) for _ in range(rows)])
                        counts += bool(now(made, priors)), bool(before(made))
                    shares.append(counts / asked.tables)
                print_line(f"{kind}, {tails}, {name} work", shares)


def real(trainings: Sequence[Training]) -> None:
    """Print how often tables of real trainings accuse a row."""
    for kind in KINDS:
        counts = {rows: np.zeros(3) for rows in ("2 rows", "3 rows", "all")}
        number = 0
        for (of, _), groups in training_spreads.groups(trainings).items():
            for group in groups if of == kind else ():
                number += len(group)
                left = [
                    one
                    for one in trainings
                    if not (one.work == group[0].work and one.seed in {one.seed for one in group})
                ]
                priors = {score: training_spreads.fit(left, score) for score in SCORES}
                for size, rows in subsets(group):
                    made = table(kind, group[0].work, [one.scores for one in rows])
                    counts[size] += 1, bool(now(made, priors)), bool(before(made))
        print_line(f"{kind}, {number} trainings", [its[1:] / max(1, its[0]) for its in counts.values()])
        print(" " * 40 + "".join(f"{int(its[0]):>9} tables " for its in counts.values()))


def subsets(group: Sequence[Training]) -> Iterator[tuple[str, Sequence[Training]]]:
    """All pairs, all triples, and all of them but those beyond eight."""
    for size in (2, 3):
        for rows in itertools.combinations(group, size):
            yield f"{size} rows", rows
    if len(group) > 3:
        yield "all", group[: len(NAMES)]


def found(asked: argparse.Namespace, drawn: Sequence[Model], priors: Mapping[str, Priors]) -> None:
    """Print how often a worse row among three is named."""
    random = np.random.default_rng(asked.seed)
    for model in (
        one for one in drawn if one.kind in (ROUNDING, LONG_ROUNDING, LAYERS) and "val_accuracy" in one.middle
    ):
        shares = []
        for less in WORSE:
            counts = np.zeros(2)
            for _ in range(asked.tables // 4):
                rows = [dict(model.drawn(random)) for _ in range(3)]
                wrong = 1 - rows[-1]["val_accuracy"]
                rows[-1]["val_accuracy"] = max(0.0, rows[-1]["val_accuracy"] - less)
                rows[-1]["val_loss"] *= 1 + less / max(wrong, 0.01)
                made = table(model.kind, model.work, rows)
                counts += "keras9/c" in now(made, priors), "keras9/c" in before(made)
            shares.append(counts / (asked.tables // 4))
        print_line(f"{model.work.example}, {model.work.samples}, {model.work.epochs} epochs", shares)


def print_line(name: str, shares: Sequence[Sequence[float]]) -> None:
    """A line of a table: for each column the share now, and before."""
    print(f"{name:40}" + "".join(f"{one:8.1%} ({other:.1%})" for one, other in shares), flush=True)


def main() -> None:
    """Simulate, and print all three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--only", choices=("simulated", "real", "found"), help="one of the three tables")
    parser.add_argument("--seed", type=int, default=20261129)
    asked = parser.parse_args()
    trainings = training_spreads.read()
    drawn, priors = models(trainings), training_spreads.shipped()
    if asked.only in (None, "simulated"):
        print(f"{'honest, simulated':40}" + "".join(f"{rows:>8} rows   " for rows in ROWS))
        simulated(asked, drawn, priors, residuals(trainings, drawn))
    if asked.only in (None, "real"):
        print(f"{'honest, real':40}" + "".join(f"{rows:>15}" for rows in ("2 rows", "3 rows", "all rows")))
        real(trainings)
    if asked.only in (None, "found"):
        print(f"{'worse by, in accuracy':40}" + "".join(f"{less:>15.0%}" for less in WORSE))
        found(asked, drawn, priors)


if __name__ == "__main__":
    main()
