"""Which rows did not learn like the others of their example, and what is known of why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from kbench import axes
from kbench.analysis.sameness.declared import explains
from kbench.findings import Finding
from kbench.reported import Facts
from kbench.summary import Summary
from kbench.values import OK, Measured

OWN_START = 0.1  # of an accuracy: what a program's own initial weights and order of samples may make of one training
STANDARD_ERRORS = 3.0  # of the difference of two rows; chance goes beyond that in 3 of 1,000 comparisons
_ENOUGH_LOSSES = 4  # of the other rows, to know how much losses vary
_SMALL = 0.01  # of a loss: a smaller difference does not count, however alike the others are
_TRAINING = ("1 step", "10 steps")  # the quantities of parity that a training has


def compared(rows: Sequence[Summary]) -> list[list[Summary]]:
    """The validated rows that do the same work, where there are three to compare."""
    groups = []
    for group in axes.group_by_point(rows, lambda row: row.key.work, ()).values():
        trained = [row for row in group if row.work.trains and row.status == OK and not row.differs]
        # Chance depends on the number of validation samples, which a script may not report.
        scored = [row for row in trained if row.final_val_accuracy is not None]
        known = [row for row in scored if row.validation_samples or not row.work.of_program]
        groups += [known] if len(known) >= 3 else []
    return groups


def how(row: Summary, rows: Sequence[Summary]) -> Finding | None:
    """How the row's final scores are unlike those of the others in `rows`; None where chance explains it."""
    others = [other for other in rows if other is not row]
    about = {"single": single(row), "of program": row.work.of_program, "repeats": row.repeats}
    accuracies, losses = _by_accuracy(row, others), _by_loss(row, others)
    if accuracies is None and losses is None:
        return None
    return Finding(
        kind="learning",
        own=({"val_accuracy": accuracies[0]} if accuracies else {}) | ({"val_loss": losses[0]} if losses else {}),
        other=({"val_accuracy": accuracies[1]} if accuracies else {}) | ({"val_loss": losses[1:]} if losses else {}),
        about=about | ({"allowed": accuracies[2]} if accuracies else {}),
        explanation=row.learning_cause,
    )


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows; those that do not learn like the others with that finding, and the known cause if there is one."""
    facts = {one.cell.key: one.facts for one in measured}
    unlike: dict[int, Summary] = {}
    for group in compared(rows):
        for row in group:
            if found := how(row, group):
                why = _cause(facts.get(row.key, Facts()), [other.backend for other in group if other is not row])
                found = replace(found, explanation=why)
                unlike[id(row)] = replace(row, learning_cause=why, findings=(*row.findings, found))
    return [unlike.get(id(row), row) for row in rows]


def _cause(facts: Facts, others: Sequence[str]) -> str:
    """The reason of the first known difference that the model and most of the others have."""
    for known in facts.explained:
        against = [other for other in others if explains(known, facts, _TRAINING, other, trained=False)]
        if not known.fault and 2 * len(against) > len(others):  # another check tells of faults
            return known.reason
    return ""


def single(row: Summary) -> bool:
    """Whether the row is one training: one repeat, or several that are the same to the last bit."""
    return row.repeats < 2 or (row.seeds < 2 and row.deterministic is True)


def _by_accuracy(row: Summary, others: Sequence[Summary]) -> tuple[float, float, float] | None:
    """(its final validation accuracy, the others' median, what chance explains), if they are apart by more than three
    standard errors of a difference: binomial, or of its repeats if they vary more.
    """
    own, usual = _number(row.final_val_accuracy), median(_number(other.final_val_accuracy) for other in others)
    allowed = STANDARD_ERRORS * math.sqrt(2) * _standard_error(row, usual)
    allowed += OWN_START if row.work.of_program and single(row) else 0.0
    return None if abs(own - usual) <= allowed else (own, usual, allowed)


def _by_loss(row: Summary, others: Sequence[Summary]) -> tuple[float, float, float] | None:
    """(its final validation loss, the others' lowest, their highest), if it is away by more than three times their
    range. Without enough others that range says nothing.
    """
    own = _number(row.final_val_loss)
    reported = [_number(other.final_val_loss) for other in others]
    if len(reported) < _ENOUGH_LOSSES or not all(map(math.isfinite, reported)):
        return None
    low, high = min(reported), max(reported)
    away = max(low - own, own - high)
    return None if away <= max(STANDARD_ERRORS * (high - low), _SMALL * abs(high)) else (own, low, high)


def _standard_error(row: Summary, expected: float) -> float:
    """Of the row's mean accuracy, if it should be `expected`."""
    middle = min(1.0, max(0.0, expected))
    # Repeats are scored on the same samples, so more of them do not reduce this error.
    counting = math.sqrt(middle * (1 - middle) / row.validation_samples) if row.validation_samples else 0.0
    spread = (row.final_val_accuracy_sd or 0.0) / math.sqrt(max(1, row.repeats))
    return max(counting, spread)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
