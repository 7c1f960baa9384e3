"""Which models did not learn what the others learnt, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from kbench.text import significant
from kbench.values import OK, Summary

# Of the difference between two rows: what chance alone gives in 3 of 1,000 comparisons.
STANDARD_ERRORS = 3.0

_ENOUGH_LOSSES = 4  # of the others, to know how far losses lie apart
_SMALL = 0.01  # of a loss: nearer than this is alike, however near the others are to one another
_NAMED = 4  # rows, in the sentence at the top of the page


def learning(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Whether the backends learnt alike, in a sentence; and one for each row that ended apart from the others.

    Both are empty where nothing was validated, or no example has three rows to compare. That a row does not learn
    like the others is said of several trainings alone: of one, nobody knows how far the next would end from it.
    """
    unlike: list[str] = []
    apart: list[str] = []
    lines, compared, single = [], 0, False
    for example, group in groupby(summaries, key=lambda row: row.example):
        rows = [row for row in group if row.task == "train" and row.status == OK and not row.differs]
        # How far an accuracy lies off by chance depends on how many samples it is of, which a script may not tell.
        known = [
            row for row in rows if row.final_val_accuracy is not None and (row.validation_samples or not row.unit)
        ]
        if len(known) < 3:
            continue
        compared += 1
        single = single or any(_single(row) for row in known)
        for row in known:
            others = [other for other in known if other is not row]
            how = [text for text in (_by_accuracy(row, others), _by_loss(row, others)) if text]
            if how:
                name = f"{row.backend} in {example}"
                (apart if _single(row) else unlike).append(name)
                lines.append(f"{name}: {'; '.join(how)}.{_surely(row)}")
    if not compared:
        return "", []
    sentences = [f"Not learning like the others: {_names(unlike)}."] if unlike else []
    if apart:
        sentences.append(f"Ended apart from the others, in one training, which may be chance: {_names(apart)}.")
    if sentences:
        return " ".join(sentences), lines
    where = "the one example" if compared == 1 else f"the {compared} examples"
    once = ", some of them in one training" if single else ""
    return f"No backend ended apart from the others in {where} that can be compared{once}.", []


def _names(found: Sequence[str]) -> str:
    return ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")


def _single(row: Summary) -> bool:
    """Whether the row is one training: one repeat, or several that are the same to the last bit."""
    return row.repeats < 2 or (row.seeds < 2 and row.deterministic is True)


def _surely(row: Summary) -> str:
    if not _single(row):
        return ""
    if row.unit:
        return " Of one training: another --seed shows whether it is chance."
    once = "one repeat" if row.repeats < 2 else f"{row.repeats} repeats of one seed that are the same"
    return f" Of {once}: `--repeats 3 --seeds different` shows whether it is chance."


def _by_accuracy(row: Summary, others: Sequence[Summary]) -> str:
    """How far its final validation accuracy is from the median of the others, where that is further than three
    standard errors of a difference: of counting right answers (binomial), or of its repeats where they spread more.
    """
    own, usual = _number(row.final_val_accuracy), median(_number(other.final_val_accuracy) for other in others)
    allowed = STANDARD_ERRORS * math.sqrt(2) * _standard_error(row, usual)
    if abs(own - usual) <= allowed:
        return ""
    return (
        f"a validation accuracy of {own:.4f}, where the others' median is {usual:.4f} "
        f"and {_chance(row)} makes a difference of up to {significant(allowed, 2)}"
    )


def _chance(row: Summary) -> str:
    return "the choice of the validation samples alone" if _single(row) else "chance alone"


def _by_loss(row: Summary, others: Sequence[Summary]) -> str:
    """How far its final validation loss is from all the others', where that is three times further than they are
    from one another. A loss has no binomial error: without enough others nothing is said.
    """
    own = _number(row.final_val_loss)
    reported = [_number(other.final_val_loss) for other in others]
    if len(reported) < _ENOUGH_LOSSES or not all(map(math.isfinite, reported)):
        return ""
    low, high = min(reported), max(reported)
    if max(low - own, own - high) <= max(STANDARD_ERRORS * (high - low), _SMALL * abs(high)):
        return ""
    return f"a validation loss of {own:.4g}, where the others end between {low:.4g} and {high:.4g}"


def _standard_error(row: Summary, expected: float) -> float:
    """Of the row's mean accuracy: `expected` is what it should be, were it like the others."""
    middle = min(1.0, max(0.0, expected))
    # Repeats are scored on the same samples, so that more of them do not make the count surer.
    counting = math.sqrt(middle * (1 - middle) / row.validation_samples) if row.validation_samples else 0.0
    spread = (row.final_val_accuracy_sd or 0.0) / math.sqrt(max(1, row.repeats))
    return max(counting, spread)


def _number(value: float | None) -> float:
    return math.nan if value is None else value
