"""Which rows did not learn like the others of their example, and what is known of why.

A row is said not to if one of its scores lies farther from those of the others than trainings of the same work do,
both in the last epoch and in the one before: so far that another training would in CHANCE of tables of honest rows,
at most (Bonferroni over rows and scores). How much trainings differ is a distribution of possible spreads: as was
measured (`training_spreads`), updated by how the others differ in this run, by trainings with several seeds, and by
how much scores still jump in the last epochs, which no spread is below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Literal

import numpy as np

from kbench.analysis.learning import training_spreads
from kbench.analysis.learning.training_spreads import SCORES, SPREADS, START, Priors
from kbench.analysis.learning.training_tables import Table, by_row, tables
from kbench.analysis.sameness.declared import explains
from kbench.analysis.times.levels import Numbers
from kbench.records.findings import Finding
from kbench.records.reported import Facts
from kbench.records.values import Measured
from kbench.summary import Summary

CHANCE = 0.01  # how often a table of honest rows accuses one of them, at most
UNUSUAL = 0.05  # how often it has a difference that is worth more trainings, at most
POINT = 0.01  # of an accuracy, and of a loss relative, to that at first if it fell: less does not matter
OWN_START = 0.1  # the same of one training from weights of its own, of which few works were measured
_LATE = 2  # epochs in which a difference shows
_TRAINING = ("1 step", "10 steps")  # the quantities that a training has


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows; those that do not learn like the others with that finding, and the known cause if there is one."""
    cells = by_row(measured)
    unlike: dict[int, Summary] = {}
    for table in tables(rows, cells):
        for row, found in unlike_rows(table):
            others = [other.backend for other in table.rows if other is not row]
            why = _cause(cells[row.key][0].facts, others) if found.kind == "learning" else ""
            found = replace(found, explanation=why)
            unlike[id(row)] = replace(row, learning_cause=why, findings=(*row.findings, found))
    return [unlike.get(id(row), row) for row in rows]


def unlike_rows(table: Table, known: Mapping[str, Priors] | None = None) -> list[tuple[Summary, Finding]]:
    """Those that do not learn like the others, and those of which more trainings should tell, with that finding.

    known: how much each score spreads; None: as what comes with kbench shows.
    """
    having = {score: of_score for score in SCORES if len((of_score := table.having(score)).rows) > 1}
    if table.is_short:
        having = {score: of_score for score, of_score in having.items() if score.startswith("val_")}
    priors = training_spreads.shipped() if known is None else known
    found: dict[int, tuple[float, str]] = {}  # by the row's position: the chance, and the score
    for score, of_score in having.items():
        tests = len(having) * (len(of_score.rows) if len(of_score.rows) > 2 else 1)
        for place, row in enumerate(of_score.rows):
            if _matters(of_score, score, place):
                chance = tests * _chance_in_last_epochs(of_score, score, place, priors[score])
                position = table.rows.index(row)
                # Of what chance does not explain, validation comes first.
                if chance < found.get(position, (math.inf, ""))[0] and found.get(position, (1.0, ""))[0] > CHANCE:
                    found[position] = chance, score
    if len(table.rows) == 2 and len(found) == 2:
        del found[max(found, key=lambda position: found[position])]
    accused: list[tuple[Summary, Finding]] = []
    for position, (chance, score) in sorted(found.items()):
        row, once = table.rows[position], len(table.trainings[0]) == 1
        if chance <= CHANCE and not (once and _far_at_first(having[score], score, row)):
            accused.append((row, _finding("learning", having, row, score)))
        elif chance <= UNUSUAL and once:
            accused.append((row, _finding("score apart", having, row, score)))
    return accused


def _chance_in_last_epochs(table: Table, score: str, place: int, priors: Priors) -> float:
    """How likely a further training would be as far from the others as this row is, in each of the last epochs."""
    most = 0.0
    others, kind = table.others(place)
    prior = training_spreads.prior(priors, kind, table.work)
    prior = _at_least(prior, table.jumps(score))
    for late in range(_LATE):
        scores = table.scores(score, late)
        if not np.isfinite(scores).all():
            break
        # Without what the rows of a seed have in common.
        most = max(most, _chance(scores - np.median(scores, axis=0), place, others, prior))
        if most > UNUSUAL:
            break
    return most


def _at_least(prior: Numbers, least: float) -> Numbers:
    """The prior with the weight of smaller spreads at `least`."""
    first = min(int(np.searchsorted(SPREADS, least)), len(SPREADS) - 1)
    raised = np.where(np.arange(len(SPREADS)) < first, 0.0, prior)
    raised[first] += prior[:first].sum()
    return raised


def _chance(scores: Numbers, place: int, others: Sequence[Sequence[int]], prior: Numbers) -> float:
    """How likely a further training would be as far from the others.

    scores: of each row and seed, on the axis of spreads.
    """
    from scipy.special import stdtr  # scipy.stats takes a second to import

    seeds = scores.shape[1]
    usual = np.array([np.median(scores[rows], axis=0) for rows in others])
    grid, likely = training_spreads.likelihood(usual.mean(axis=1).tolist(), math.sqrt(seeds))
    if seeds > 1:
        likely = likely * _likely(_from_seed_to_seed(scores[place], usual))[:, None]
    joint = likely * prior[:, None]
    joint /= joint.sum()
    deviations = (scores[place].mean() - grid[None, :]) * math.sqrt(seeds) / SPREADS[:, None]
    above, below = (float((joint * stdtr(training_spreads.FREEDOM, sign * deviations)).sum()) for sign in (-1, 1))
    return 2 * min(above, below)


def _from_seed_to_seed(own: Numbers, usual: Numbers) -> Numbers:
    """How the others' distances from each other vary, as deviations of single trainings; of a single other that from
    the row itself.

    own: of each seed; usual: of each of the others (rows) and seed (columns).
    """
    each = usual if len(usual) > 1 else np.vstack([usual, own])
    distances = (each - each.mean(axis=0)) / math.sqrt(1 - 1 / len(each))
    varied: Numbers = (distances - distances.mean(axis=1, keepdims=True)) / math.sqrt(1 - 1 / each.shape[1])
    return varied[:-1].ravel()  # the last follows from the others


def _likely(deviations: Numbers) -> Numbers:
    """How likely each of SPREADS makes these deviations, up to a factor."""
    of_all = training_spreads.log_density(deviations[None, :], SPREADS[:, None]).sum(axis=1)
    found: Numbers = np.exp(of_all - of_all.max())
    return found


def _usual(table: Table, score: str, place: int) -> float:
    return median(table.final(score, other) for rows in table.others(place)[0] for other in rows)


def _matters(table: Table, score: str, place: int) -> bool:
    """Whether the score differs by enough to be worth a word; beside a single one, whether it is the worse."""
    own, usual = table.final(score, place), _usual(table, score, place)
    worse = own < usual if score.endswith("accuracy") else own > usual
    least = OWN_START if table.kind == START and len(table.trainings[0]) == 1 else POINT
    least *= 1.0 if score.endswith("accuracy") else max(abs(usual), table.start)
    return abs(own - usual) >= least and (worse or len(table.others(place)[0]) > 1)


def _far_at_first(table: Table, score: str, row: Summary) -> bool:
    """Whether half of how far a loss is off, as a logarithm, was there after the first epoch, of rows that began with
    weights of their own: then those may be all that differs.
    """
    if table.kind != START or not score.endswith("loss"):
        return False
    place = table.rows.index(row)
    first = [getattr(its[0][0].epochs[0], score) or math.nan for its in table.trainings]
    usual = median(first[other] for rows in table.others(place)[0] for other in rows)
    pairs = (first[place], usual), (table.final(score, place), _usual(table, score, place))
    begun, ended = (math.log(own / other) if own > 0 < other else math.nan for own, other in pairs)
    return 2 * begun * ended >= ended**2


def _finding(
    kind: Literal["learning", "score apart"], having: Mapping[str, Table], row: Summary, score: str
) -> Finding:
    """That its score is unlike the others'; its accuracy beside another score."""
    of_scores = {
        name: having[name] for name in (score, "val_accuracy") if name in having and row in having[name].rows
    }
    places = {name: of_score.rows.index(row) for name, of_score in of_scores.items()}
    table = having[score]
    return Finding(
        kind=kind,
        aspect=score,
        reference=table.rows[1 - places[score]].backend if len(table.rows) == 2 else "",
        own={name: table.final(name, places[name]) for name, table in of_scores.items()},
        other={name: _usual(table, name, places[name]) for name, table in of_scores.items()},
        about={"single": len(table.trainings[0]) == 1, "repeats": row.repeats},
    )


def _cause(facts: Facts, others: Sequence[str]) -> str:
    """The reason of the first known difference that the model and most of the others have."""
    for known in facts.explained:
        against = [other for other in others if explains(known, facts, _TRAINING, other, trained=False)]
        if not known.fault and 2 * len(against) > len(others):  # another check tells of faults
            return known.reason
    return ""
