"""Whether what a backend's file declares in `[[explained]]` explains a difference: the one rule for all checks.

How far a declared bound reaches, each check asks itself: what it measures differences in is its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from kbench.records.backend_keys import Explanation
from kbench.records.values import Measured, is_among


class Model(Protocol):
    """What is asked of a model: `Facts`, or `Words` of a part of it."""

    @property
    def layer_words(self) -> Collection[str]:
        """The classes of its layers, and what they are set to."""

    @property
    def optimizer_class(self) -> str:
        """Of its training; empty if it has none."""


@dataclass(frozen=True)
class WordsOfLayers:
    """Some layers of a model."""

    layer_words: Collection[str]
    optimizer_class: str = ""


def explains(
    known: Explanation,
    model: Model,
    what: Collection[str],
    against: str,
    layer: str | None = None,
    trained: bool = True,
    carried: bool = False,
    as_shipped: bool = False,
) -> bool:
    """Whether it is declared that this model may differ so.

    what: the quantities in which it does; the others as for `concerns`.
    """
    asked = concerns(known, what, against, layer, trained, carried, as_shipped)
    return asked and can_show(known, model, layer or "")


def may_be_why(one: Measured, other: Measured, what: Collection[str], layer: str | None = None) -> str:
    """What is declared of these quantities of one of them, and not of the other, though not by as much; else empty.

    what, layer: as for `concerns`.
    """
    reasons = [
        {
            known.reason: None
            for known in each.facts.explained
            if explains(known, each.facts, what, beside.cell.backend, layer)
            and not (known.repeated and without_repeats(each))
        }
        for each, beside in ((one, other), (other, one))
    ]
    return "; ".join(
        reason.rstrip(".")
        for reason in dict.fromkeys([*reasons[0], *reasons[1]])
        if not all(reason in each for each in reasons)
    )


def without_repeats(one: Measured) -> bool:
    """Whether no input used a row of an embedding more than once; of old runs that is not known."""
    return one.facts.first_step is not None and one.facts.first_step.repeats == 0


def concerns(
    known: Explanation,
    what: Collection[str],
    against: str | None,
    layer: str | None = None,
    trained: bool = True,
    carried: bool = False,
    as_shipped: bool = False,
) -> bool:
    """The same of whatever model.

    against: the other backend; empty: any, so that only what holds against all is meant; None: it does not matter.
    layer: the class of that which differs most; empty: none does; None: not known. trained: whether it is in what
    training changes. carried: whether the program carried its weights over. as_shipped: whether kbench leaves the
    backend as it ships.
    """
    return (
        any(one in known.what for one in what)
        and (layer is None or known.layer in ("", *parts(layer)))
        and not (known.untrained and trained)
        and (carried or not known.carried)
        and (as_shipped or not known.as_shipped)
        and (against is None or is_among(against, known.unlike))
    )


def can_show(known: Explanation, model: Model, layer: str = "") -> bool:
    """Whether the model has the layers and settings that it needs, and its training the optimizer. layer: the class
    of one that it is known to have.
    """
    if known.optimizer not in ("", model.optimizer_class):
        return False
    needed = {known.layer, known.with_layer, known.setting} - {"", *parts(layer)}
    return not needed or needed <= {*model.layer_words}


def parts(class_name: str) -> tuple[str, ...]:
    """What is known of these is known of the class: of "TimeDistributed(LSTM)" what is known of an LSTM."""
    return (class_name, *class_name.rstrip(")").split("("))
