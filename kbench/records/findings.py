"""Defines Finding, what was found out about a row; kbench/words/sentences.py makes words of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NewType, get_args

from kbench import hooks
from kbench.records.axes import Point

# What tells rows apart that should do the same work. A row that has one is not compared, unless it is explained.
Difference = Literal[
    "aspect",  # of the model, the data or the training, as reported before it; `aspect` says which
    "own weights",  # initial ones that kbench cannot draw
    "outputs",  # before training; aspect: shape, numbers, not numbers
    "first step",  # the optimizer step on trial; aspect: loss, draws, size, direction, size and direction, kind
    "last step",  # that after the last epoch, against the first one, or with a reference
    "received",  # in an epoch; aspect: samples, steps, sha256, validation_sha256, weights_changed, updates, ...
    "threads",  # changed meanwhile
    "cores",
    "changing outputs",  # for the same samples, from pass to pass
    "epoch",  # its loss or scores; aspect: loss, accuracy, validation accuracy, validation loss
    "not finite",  # aspect: a score's name, weights, outputs; own: nan or infinite
]
# What else is said of a row.
Remark = Literal[
    "arguments",  # what a program's further arguments change; aspect as above
    "run",  # what differs from another run; aspect as above
    "told",  # by the guest, in its words
    "damaged lines",
    "first step unchecked",
    "waiting",  # for something, while others computed
    "not steady",
    "not deterministic",
    "kinds of process",
    "odd process",
    "failed processes",
    "uncounted operations",
    "late return",  # of fit or predict
    "callbacks",
    "memory growth",
    "learning",  # otherwise than the others
    "no progress",  # on no backend; aspect: loss, validation loss, validation accuracy
    "score apart",  # from the others' by so much that more trainings should tell whether it is chance
]
Kind = Difference | Remark
FeatureKind = NewType("FeatureKind", str)  # what only a feature finds (FindingKind in kbench/additions.py)
_REMARKS: frozenset[str] = frozenset(get_args(Remark))
# Aspects in which rows differ in how much work is done.
_OF_SIZE = frozenset(("number of parameters", "number of samples", "dtype"))
OF_SAMPLES = ("number of different samples", "samples", "sample weights", "order of samples")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found out about a row."""

    kind: Kind | FeatureKind
    subject: Point | None = None  # the row; None as long as it stands in none
    aspect: str = ""  # of what
    reference: str = ""  # the backend of the row that it is compared with; empty if it is not
    own: Any = None  # its value, and that of the reference or what is usual: what JSON can hold
    other: Any = None
    about: Mapping[str, Any] = field(default_factory=dict)  # where it is: epoch, layer, ...; and what belongs to it
    explanation: str = ""  # a declared reason; a difference that has one is known

    def perhaps(self, reason: str) -> Finding:
        """It with a declared difference that may be its cause, though it is further off than that; empty: none is."""
        return replace(self, about={**self.about, "perhaps": reason}) if reason else self

    @property
    def differs(self) -> bool:
        """Whether rows that have it are not compared with others."""
        of_feature = hooks.finding_kinds().get(self.kind)
        return (of_feature.differs if of_feature else self.kind not in _REMARKS) and not self.explanation

    @property
    def is_note(self) -> bool:
        """Whether it stands beside a row."""
        of_feature = hooks.finding_kinds().get(self.kind)
        return of_feature is None or of_feature.is_note

    @property
    def in_status(self) -> str:
        """What tables add to the status of a row that has it, as they say above what it is; mostly empty."""
        of_feature = hooks.finding_kinds().get(self.kind)
        return of_feature.in_status if of_feature else ""

    @property
    def is_amount_of_work(self) -> bool:
        """Whether it is in how much work is done, and not in a setting or in how the model is trained."""
        return self.kind == "aspect" and self.aspect in _OF_SIZE

    @property
    def is_of_results(self) -> bool:
        """Whether it is in what a training came to, so that not even the times of observed work are compared."""
        return self.kind in ("not finite", "epoch")
