"""What the guest tells of the lines of a program that call a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from kbench.additions import EventKind
from kbench.records.epochs import Count, Mib, Seconds
from kbench.records.reported import Facts, FeatureEvent, Numbers, Shape
from kbench.store.events import AGAIN

MOST_LINES = 1000


class Site(FeatureEvent, frozen=True, tag="site"):
    """A line that calls a model: "fit, line 9"."""

    site: str
    task: str
    facts: dict[str, Any]  # by their names in Facts


class Fit(FeatureEvent, frozen=True, tag="fit"):
    """A call of fit: what it took from its start to its return, and how many epochs it had."""

    site: str
    seconds: Seconds
    epochs: Count
    first: Count  # whether the model was new there, or compiled anew
    cold: Count | None = None  # whether it was the first of its turn
    round: Count | None = None  # in which it began
    again: Count | None = None  # whether in a turn that was taken again
    held: Count | None = None  # whether its turn ended meanwhile
    resident_mib: Mib | None = None  # what the process held when it was over


class Figure(FeatureEvent, frozen=True, tag="figure"):
    """A figure that the program computes itself, by --figure."""

    name: str  # of its column
    value: float


class Warned(FeatureEvent, frozen=True, tag="warning"):
    """What the program was warned of, by Python's warnings or its framework's logger."""

    text: str
    where: str = ""  # the line of the program


class Raised(FeatureEvent, frozen=True, tag="raised"):
    """The public name of Keras that raised the error with which the program failed."""

    name: str  # "ops.pad"
    within: str  # the layer that called it, "layers.ZeroPadding1D"; or empty
    error: str
    given: tuple[str, ...]  # "x float32 (2, 3)"


class Weight(msgspec.Struct, frozen=True):
    """A weight of a model when a call returned: see kbench_script/watching/returned.py."""

    layer: str  # "Conv2D 1"
    weight: str
    sha256: str  # of its numbers as the backend keeps them
    shared: str  # as all backends would keep those that compute the same
    norm: float | None = None
    sums: Numbers = ()
    trains: int = 1
    loaded: int = 0  # whether a file gave it these numbers

    @property
    def kind(self) -> str:
        """The class of its layer."""
        return self.layer.rpartition(" ")[0]


class Inputs(msgspec.Struct, frozen=True):
    """Numbers of the first rows that a call was given."""

    outputs: tuple[Numbers, ...] = ()
    norms: Numbers = ()


class BesideFit(msgspec.Struct, frozen=True):
    """Accuracies on the same data: of fit's last epoch, of evaluate, and of the model in each mode afterwards."""

    site: str = ""
    fit: float = 0.0
    evaluate: float = 0.0
    training: float = 0.0
    inference: float = 0.0
    layers: tuple[str, ...] = ()  # classes that compute something else in training


class Restored(msgspec.Struct, frozen=True):
    """Losses of the same weights and data: of a fit's epoch whose weights it restored at its end, and of evaluate."""

    site: str = ""
    epoch: Count = 0
    fit: float | None = None
    evaluate: float | None = None
    sizes: tuple[Count, ...] = ()  # of the batches of both, if they are arrays


class Returned(FeatureEvent, frozen=True, tag="returned"):
    """What the first call of a line returned, and what else is known of the line's calls."""

    site: str = ""
    trained: int | None = None
    weights: tuple[Weight, ...] = ()
    scores: dict[str, float | None] | None = None
    inputs: Inputs | None = None
    outputs: tuple[Numbers, ...] = ()
    scales: Numbers = ()
    norms: Numbers = ()
    shapes: tuple[Shape, ...] = ()  # of a row of each output
    first_losses: Numbers = ()  # of the first steps of a line that trains
    batch_seconds: Seconds | None = None  # to make a batch, where fit is given no arrays
    random: int | None = None  # whether its outputs differ from call to call; None if that is not known
    on_batch_seconds: Seconds | None = None  # of predict_on_batch with the same samples
    unchanged: int | None = None  # of a fit: whether its steps left the weights as they were
    beside_fit: BesideFit | None = None  # of an evaluate that disagrees with the fit before it
    restored: Restored | None = None  # of an evaluate on what a fit validated with that restored its best weights


def _with_fit(before: list[Fit] | None, event: Fit, written: Collection[str]) -> list[Fit]:
    """All calls of the line. Runs of earlier versions number a turn that is taken again otherwise."""
    calls = [] if before is None else before
    number = event.round or 0
    again = {"round": number % AGAIN, "again": 1} if number >= AGAIN else {}
    calls.append(msgspec.structs.replace(event, **again))
    return calls


def _added(before: Returned | None, event: Returned, written: Collection[str]) -> Returned:
    """It comes in parts: the later ones add to it."""
    given = {name: getattr(event, name) for name in event.__struct_fields__ if name in written}
    return msgspec.structs.replace(before or event, **given)


def _of_line(struct: Any, **kept: Any) -> EventKind:
    return EventKind(struct, lambda event: event.site, most=MOST_LINES, said=lambda event: "", **kept)


MOST_FIGURES = 100
EVENT_KINDS = (
    EventKind(Warned, lambda event: event.text, most=MOST_FIGURES, said=lambda event: ""),
    EventKind(Figure, lambda event: event.name, most=MOST_FIGURES, said=lambda event: ""),
    EventKind(Raised),
    _of_line(Site),
    _of_line(Fit, kept=_with_fit),
    _of_line(Returned, kept=_added),
)
OF_LINES = ("site", "fit", "returned")


def figures(facts: Facts) -> Mapping[str, float]:
    """What the program computed itself, by names."""
    found: Mapping[str, Figure] = facts.of.get("figure", {})
    return {name: one.value for name, one in found.items()}


def warnings(facts: Facts) -> Sequence[Warned]:
    """What the program was warned of."""
    found: Mapping[str, Warned] = facts.of.get("warning", {})
    return [*found.values()]


def raised(facts: Facts) -> Raised | None:
    """Which public name of Keras raised its error."""
    found: Raised | None = facts.of.get("raised", {}).get("")
    return found


def sites(facts: Facts) -> Mapping[str, Site]:
    """The lines that called a model, in the order of their first call."""
    return facts.of.get("site", {})


def fits(facts: Facts, line: str) -> Sequence[Fit]:
    """The calls of a line that fits."""
    calls: Sequence[Fit] = facts.of.get("fit", {}).get(line, ())
    return calls


def returned(facts: Facts, line: str) -> Returned | None:
    """What the calls of a line returned."""
    found: Returned | None = facts.of.get("returned", {}).get(line)
    return found


class InFits(msgspec.Struct, frozen=True):
    """Seconds of all calls of a line that fits, and what of them its validation and the program's callbacks took."""

    seconds: float = 0.0
    validation: float = 0.0
    callbacks: float = 0.0
    epochs: float = 0.0
    between: float = 0.0  # of the callbacks, those that are no part of its epochs


class OfLine(msgspec.Struct, frozen=True):
    """What only a program's line has, as `of_kind` of the facts of its row."""

    returned: Returned | None = None
    in_fits: InFits = InFits()
    says_why: str = ""  # the option that finds out why rows differ, where it was not given


def of_line(facts: Facts) -> OfLine:
    """That of a row of one line."""
    return facts.of_kind if isinstance(facts.of_kind, OfLine) else OfLine()


def returned_by(facts: Facts) -> Returned | None:
    """What the calls returned, of the facts of a row of one line."""
    return of_line(facts).returned
