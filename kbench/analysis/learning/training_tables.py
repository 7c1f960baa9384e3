"""Defines Table: rows that do the same work, with the scores of the trainings that they have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median_low

import numpy as np

from kbench.analysis.learning import training_spreads
from kbench.analysis.learning.training_spreads import LAYERS, START, STEPS, Work
from kbench.analysis.sameness import first_steps
from kbench.analysis.times.levels import Numbers
from kbench.records import axes
from kbench.records.axes import RowKey
from kbench.records.values import OK, Measured, base
from kbench.summary import Summary

GREAT = 0.3  # of an update: a difference in steps that makes another training, not the same one perturbed
SYNTHETIC = "synthetic"  # where its data come from
_ENOUGH = 6  # epochs, to see how much the last half of them jump
_OF_OBSERVED = 3  # epochs that an observed training has, or the loss of the last one says little

Seed = tuple[int, int]  # a seed, and the repeat with it
Trainings = Sequence[Sequence[Measured]]  # of a row: by seed, the repeats that trained with it


@dataclass(frozen=True)
class Table:
    """Rows that do the same work, with the trainings that they have in common."""

    rows: Sequence[Summary]
    trainings: Sequence[Trainings]  # of each row
    kind: str  # in what they differ, as `training_spreads` has it
    alike: Sequence[int]  # of each row a number: those with the same differ in less than the others

    @property
    def work(self) -> Work:
        """What they train."""
        row = self.rows[0]
        example = f"{row.example} ({SYNTHETIC} data)" if row.data_source == SYNTHETIC else row.example
        return Work(example, row.samples, row.epochs, row.batch_size, row.validation_samples)

    @property
    def start(self) -> float:
        """The loss at first: of the first batch, or of the first epoch where that is not known."""
        cells = [its[0][0] for its in self.trainings]
        steps = [one.facts.first_step for one in cells]
        losses = [step.loss for step in steps if step is not None] + [one.epochs[0].loss for one in cells]
        return next((loss for loss in losses if loss is not None and math.isfinite(loss)), 0.0)

    @property
    def is_short(self) -> bool:
        """Whether it is of observed work that trains so little that losses in training say nothing."""
        return self.rows[0].work.observed and len(self.trainings[0][0][0].epochs) < _OF_OBSERVED

    def scores(self, score: str, late: int) -> Numbers:
        """On the axis of spreads, of each row (rows) and seed (columns): in the last epoch, or `late` ones before.

        nan where a training has none there.
        """
        samples = self.work.samples_of(score)
        return np.array(
            [
                [
                    _mean(training_spreads.scaled(score, value, samples) for value in _values(repeats, score, late))
                    for repeats in its
                ]
                for its in self.trainings
            ]
        )

    def having(self, score: str) -> Table:
        """Of those rows that have it at the end."""
        places = [place for place, its in enumerate(self.scores(score, 0)) if np.isfinite(its).all()]
        rows = [self.rows[place] for place in places]
        trainings = [self.trainings[place] for place in places]
        return replace(self, rows=rows, trainings=trainings, alike=[self.alike[place] for place in places])

    def others(self, place: int) -> tuple[list[list[int]], str]:
        """The rows beside which a row is looked at, those that are one training together, and in what they differ.

        Without random numbers in layers those whose steps are the same are alike but for rounding. Rows of one
        backend, in several versions or settings, may draw the same numbers, which is no evidence that others would.
        """
        by_number: dict[int, list[int]] = {}
        for other, number in enumerate(self.alike):
            if other != place:
                by_number.setdefault(number, []).append(other)
        mates = by_number.pop(self.alike[place], [])
        if self.kind == STEPS and mates:
            return [[mate] for mate in mates], training_spreads.of_rounding(self.work)
        return [*by_number.values()] or [mates], self.kind

    def final(self, score: str, place: int) -> float:
        """A row's final score, of all these trainings."""
        return fmean(_mean(_values(repeats, score, 0)) for repeats in self.trainings[place])

    def jumps(self, score: str) -> float:
        """How much the usual row's score jumps from epoch to epoch in the last half; 0 where too few show that.

        It is the standard deviation that second differences show: learning at a steady pace has none.
        """
        last = [self.scores(score, late) for late in range(len(self.trainings[0][0][0].epochs) // 2)]
        known = np.array([values for values in last if np.isfinite(values).all()])
        if len(known) < _ENOUGH // 2:
            return 0.0
        each = np.sqrt((np.diff(known, 2, axis=0) ** 2).mean(axis=(0, 2)) / 6)
        return float(median_low(each.tolist()))


def by_row(measured: Iterable[Measured]) -> dict[RowKey, list[Measured]]:
    """The cells that trained, by their row."""
    cells: dict[RowKey, list[Measured]] = {}
    for one in measured:
        if one.outcome.status == OK and one.epochs:
            cells.setdefault(one.cell.key, []).append(one)
    return cells


def compared(rows: Sequence[Summary]) -> list[list[Summary]]:
    """The rows with a score that do the same work, where there are two to compare."""
    groups = []
    for group in axes.group_by_point(rows, lambda row: row.key.work, ()).values():
        trained = [row for row in group if row.work.trains and row.status == OK and not row.differs]
        scored = [row for row in trained if _has_score(row)]
        groups += [scored] if len(scored) > 1 else []
    return groups


def tables(rows: Sequence[Summary], cells: Mapping[RowKey, Sequence[Measured]]) -> list[Table]:
    """The rows to compare, with those of their trainings that all of them have; none that stopped early on some."""
    found = []
    for group in compared(rows):
        group = [row for row in group if row.key in cells]
        by_seed = [_by_seed(cells[row.key], any(map(single, group))) for row in group]
        seeds = sorted(set.intersection(*({*its} for its in by_seed))) if len(group) > 1 else []
        if seeds:
            trainings = [[its[seed] for seed in seeds] for its in by_seed]
        if seeds and len({len(one.epochs) for its in trainings for each in its for one in each}) == 1:
            found.append(Table(group, trainings, *_kind(group, trainings)))
    return found


def single(row: Summary) -> bool:
    """Whether the row is one training: one repeat, or several from the same start, which only the random
    numbers of observed work may tell apart.
    """
    return row.repeats < 2 or (row.seeds < 2 and (row.deterministic is True or not row.work.observed))


def _has_score(row: Summary) -> bool:
    scores = (row.final_loss, row.final_accuracy, row.final_val_loss, row.final_val_accuracy)
    return any(score is not None and math.isfinite(score) for score in scores)


def _by_seed(cells: Sequence[Measured], one_of_each: bool) -> dict[Seed, list[Measured]]:
    found: dict[Seed, list[Measured]] = {}
    for one in cells:
        found.setdefault((one.cell.seed, 0 if one_of_each else one.cell.repeat), []).append(one)
    return found


def _kind(rows: Sequence[Summary], trainings: Sequence[Trainings]) -> tuple[str, list[int]]:
    """In what they differ, and which are alike."""
    backends = [base(row.backend) for row in rows]
    of_backends = [backends.index(name) for name in backends]
    if rows[0].work.observed or any(row.weights == "backend" for row in rows):
        return START, of_backends
    cells = [its[0][0] for its in trainings]
    if any(first_steps.uses_random_layers(one) is not False for one in cells):
        return LAYERS, of_backends
    return STEPS, [next(place for place, other in enumerate(cells) if _same_steps(one, other)) for one in cells]


def _same_steps(one: Measured, other: Measured) -> bool:
    """Whether nothing is declared of either that makes its steps a little other than those of the other.

    What is declared to make them other by as much as GREAT is no perturbation: whether it shows is the question.
    """
    of_one = first_steps.declared_reasons(one) ^ first_steps.declared_reasons(other)
    reasons = {*of_one, *first_steps.compare(one, other)[1]}
    explained = (*one.facts.explained, *other.facts.explained)
    return one is other or not any(known.reason in reasons and known.bound < GREAT for known in explained)


def _values(repeats: Sequence[Measured], score: str, late: int) -> list[float | None]:
    return [getattr(one.epochs[-1 - late], score) if late < len(one.epochs) else None for one in repeats]


def _mean(values: Iterable[float | None]) -> float:
    return fmean(math.nan if value is None else value for value in values)
