"""Which rows did not learn like the others of their example, and what is known of why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from kbench import axes
from kbench.analysis.declared import can_show
from kbench.reported import Facts
from kbench.summary import Summary
from kbench.text import significant
from kbench.values import OK, Measured, is_among

OWN_START = 0.1  # of an accuracy: what a program's own initial weights and order of samples may make of one training
STANDARD_ERRORS = 3.0  # of the difference of two rows; chance goes beyond that in 3 of 1,000 comparisons
_ENOUGH_LOSSES = 4  # of the other rows, to know how much losses vary
_SMALL = 0.01  # of a loss: a smaller difference does not count, however alike the others are
_TRAINING = ("1 step", "10 steps")  # the quantities of parity that a training has


def compared(rows: Sequence[Summary]) -> list[list[Summary]]:
    """The validated rows that do the same work, where there are three to compare."""
    groups = []
    for group in axes.beside(rows, lambda row: row.key.work, ()).values():
        trained = [row for row in group if row.work.trains and row.status == OK and not row.differs]
        # Chance depends on the number of validation samples, which a script may not report.
        scored = [row for row in trained if row.final_val_accuracy is not None]
        known = [row for row in scored if row.validation_samples or not row.work.of_program]
        groups += [known] if len(known) >= 3 else []
    return groups


def how(row: Summary, rows: Sequence[Summary]) -> str:
    """How the row's final scores are unlike those of the others in `rows`; empty where chance explains it."""
    others = [other for other in rows if other is not row]
    return "; ".join(text for text in (_by_accuracy(row, others), _by_loss(row, others)) if text)


_UNLIKE = "does not learn like the others"


def is_unlike(note: str) -> bool:
    """Whether a row's note says that."""
    return note.startswith(_UNLIKE)


def advice(row: Summary) -> str:
    """A known difference of its backend, or else what would show whether it is chance; empty if that is known."""
    if row.learning_cause:
        return f" A known difference may be why (docs/parity.md): {row.learning_cause}"
    if not single(row):
        return ""
    trainings = "One training" if row.repeats < 2 else f"{row.repeats} identical trainings"
    option = "another --seed" if row.work.of_program else "`--repeats 3 --seeds different`"
    return f" {trainings}: {option} shows whether it is chance."


def noted(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with a note on those that do not learn like the others, and the known cause if there is one."""
    facts = {one.cell.key: one.facts for one in measured}
    unlike: dict[int, Summary] = {}
    for group in compared(rows):
        for row in group:
            if text := how(row, group):
                others = [other.backend for other in group if other is not row]
                made = replace(row, learning_cause=_cause(facts.get(row.key, Facts()), others))
                note = f"{_UNLIKE}: {text}.{advice(made)}".rstrip(".")
                unlike[id(row)] = replace(made, notes=(*row.notes, note))
    return [unlike.get(id(row), row) for row in rows]


def _cause(facts: Facts, others: Sequence[str]) -> str:
    """The reason of the first known difference that the model and most of the others have."""
    for known in facts.explained:
        ships = known.as_shipped or known.fault  # which kbench corrects, or which another check tells
        fits = not ships and can_show(known, facts)
        against = [other for other in others if is_among(other, known.unlike)]
        if fits and {*known.what} & {*_TRAINING} and 2 * len(against) > len(others):
            return known.reason
    return ""


def single(row: Summary) -> bool:
    """Whether the row is one training: one repeat, or several that are the same to the last bit."""
    return row.repeats < 2 or (row.seeds < 2 and row.deterministic is True)


def _by_accuracy(row: Summary, others: Sequence[Summary]) -> str:
    """How far its final validation accuracy is from the others' median, if by more than three standard errors of a
    difference: binomial, or of its repeats if they vary more.
    """
    own, usual = _number(row.final_val_accuracy), median(_number(other.final_val_accuracy) for other in others)
    allowed = STANDARD_ERRORS * math.sqrt(2) * _standard_error(row, usual)
    allowed += OWN_START if row.work.of_program and single(row) else 0.0
    if abs(own - usual) <= allowed:
        return ""
    chance = "the choice of validation samples" if single(row) and not row.work.of_program else "chance"
    return (
        f"validation accuracy {own:.4f}, median of the others {usual:.4f}; "
        f"{chance} alone explains up to {significant(allowed, 2)}"
    )


def _by_loss(row: Summary, others: Sequence[Summary]) -> str:
    """How far its final validation loss is from all the others', if by more than three times their range. Without
    enough others that range says nothing.
    """
    own = _number(row.final_val_loss)
    reported = [_number(other.final_val_loss) for other in others]
    if len(reported) < _ENOUGH_LOSSES or not all(map(math.isfinite, reported)):
        return ""
    low, high = min(reported), max(reported)
    if max(low - own, own - high) <= max(STANDARD_ERRORS * (high - low), _SMALL * abs(high)):
        return ""
    return f"validation loss {own:.4g}, the others {low:.4g} to {high:.4g}"


def _standard_error(row: Summary, expected: float) -> float:
    """Of the row's mean accuracy, if it should be `expected`."""
    middle = min(1.0, max(0.0, expected))
    # Repeats are scored on the same samples, so more of them do not reduce this error.
    counting = math.sqrt(middle * (1 - middle) / row.validation_samples) if row.validation_samples else 0.0
    spread = (row.final_val_accuracy_sd or 0.0) / math.sqrt(max(1, row.repeats))
    return max(counting, spread)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
