"""Which models did not learn like the others of their example, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from kbench.text import significant
from kbench.values import OK, Summary

STANDARD_ERRORS = 3.0  # of the difference of two rows; chance goes beyond that in 3 of 1,000 comparisons
_ENOUGH_LOSSES = 4  # of the other rows, to know how much losses vary
_SMALL = 0.01  # of a loss: a smaller difference does not count, however alike the others are
_NAMED = 4  # rows, in the sentence at the top of the page


def learning(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Whether the backends learnt alike, in a sentence; and one for each row whose final score is unlike the others'.

    Both are empty where no example has three validated rows to compare. Only several trainings can show that a row
    does not learn like the others: from one, nobody knows how much the next would vary.
    """
    unlike: list[str] = []
    perhaps: list[str] = []
    lines, examples = [], 0
    for example, group in groupby(summaries, key=lambda row: row.example):
        rows = [row for row in group if row.task == "train" and row.status == OK and not row.differs]
        # Chance depends on the number of validation samples, which a script may not report.
        known = [
            row for row in rows if row.final_val_accuracy is not None and (row.validation_samples or not row.unit)
        ]
        if len(known) < 3:
            continue
        examples += 1
        for row in known:
            others = [other for other in known if other is not row]
            if how := [text for text in (_by_accuracy(row, others), _by_loss(row, others)) if text]:
                name = f"{row.backend} in {example}"
                (perhaps if _single(row) else unlike).append(name)
                lines.append(f"{name}: {'; '.join(how)}.{_advice(row)}")
    sentences = [f"Not learning like the others: {_names(unlike)}."] if unlike else []
    sentences += [f"Unlike the others in one training, perhaps by chance: {_names(perhaps)}."] if perhaps else []
    if examples and not sentences:
        sentences = [
            f"Final scores are alike in {'the one example' if examples == 1 else f'all {examples} examples'}."
        ]
    return " ".join(sentences), lines


def _names(found: Sequence[str]) -> str:
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def _single(row: Summary) -> bool:
    """Whether the row is one training: one repeat, or several that are the same to the last bit."""
    return row.repeats < 2 or (row.seeds < 2 and row.deterministic is True)


def _advice(row: Summary) -> str:
    if not _single(row):
        return ""
    trainings = "One training" if row.repeats < 2 else f"{row.repeats} identical trainings"
    option = "another --seed" if row.unit else "`--repeats 3 --seeds different`"
    return f" {trainings}: {option} shows whether it is chance."


def _by_accuracy(row: Summary, others: Sequence[Summary]) -> str:
    """How far its final validation accuracy is from the others' median, if by more than three standard errors of a
    difference: binomial, or of its repeats if they vary more.
    """
    own, usual = _number(row.final_val_accuracy), median(_number(other.final_val_accuracy) for other in others)
    allowed = STANDARD_ERRORS * math.sqrt(2) * _standard_error(row, usual)
    if abs(own - usual) <= allowed:
        return ""
    chance = "the choice of validation samples" if _single(row) else "chance"
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
