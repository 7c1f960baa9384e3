"""What backends' files declare of one backend explains how others differ from it, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kbench.records.backend_keys import Explanation
from kbench.records.values import base, is_among

if TYPE_CHECKING:
    from kbench.features.parity.values import Subject


def by_others(subjects: Sequence[Subject], subject: Subject, notes: Sequence[str]) -> frozenset[str]:
    """The other backends whose declared differences all of the notes are; none if one is not."""
    declared = {
        _of_other(other, known): other.measured.cell.backend
        for other in subjects
        for known in other.explained
        if other.measured is not subject.measured
    }
    return frozenset(declared[note] for note in notes) if {*notes} <= declared.keys() else frozenset()


def _of_other(other: Subject, known: Explanation) -> str:
    return f"{other.measured.cell.backend}: {known.reason}"


def of_both(pair: Sequence[Subject], subject: Subject) -> tuple[Explanation, ...]:
    """The explanations that hold between two subjects, for one of them: those of the other one name it."""
    backends = [one.measured.cell.backend for one in pair]
    return tuple(
        replace(known, unlike=(), reason=known.reason if one is subject else _of_other(one, known))
        for one, against in zip(pair, reversed(backends), strict=True)
        for known in one.explained
        if is_among(against, known.unlike)
    )


def of_others(subjects: Sequence[Subject], subject: Subject) -> Iterator[Explanation]:
    """What tells each of the others from this one, where this one is compared with it: most may be such others."""
    own = subject.measured.cell.backend
    for other in subjects:
        backend = other.measured.cell.backend
        for known in other.explained:
            if base(backend) != base(own) and not known.fault and is_among(own, known.unlike):
                yield replace(known, unlike=(base(backend),), reason=_of_other(other, known))
