"""Makes words of findings on the lines of a program."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from kbench.additions import FindingKind
from kbench.features.script.lines.finding_kinds import (
    NO_CALLS,
    NO_SUM,
    NO_TRAINING,
    OTHER_CALL,
    OTHER_METRIC,
    TIME_GROWTH,
    WARNED,
)
from kbench.features.script.lines.line_starts import SPREAD
from kbench.records.findings import OF_SAMPLES, Finding
from kbench.words.sentences import all_of, outputs_apart, sentence
from kbench.words.text import significant

# Aspects that decide which scores a training can have.
_OF_TRAINING = frozenset(
    (SPREAD, "data", "validation data", *OF_SAMPLES, "number of samples", "batch size", "loss", "weights of classes")
)  # fmt: skip
_OF_OPTIMIZER = frozenset(("learning_rate", "class_name"))


def ends(several: Iterable[Finding], backend: str = "") -> tuple[str, ...]:
    """How a program's line trains otherwise on a backend, as what ends a sentence on it: another network before all
    else.
    """
    known = list(several)
    sizes = [one for one in known if one.is_amount_of_work]
    networks = [*(one for one in known if one.kind == "aspect" and one.aspect == "model"), *sizes]
    first = [f"is {sentence(networks[0])}, so it is not compared"] if sizes else []
    generation = "" if sizes else _generation(backend)
    training = all_of(one for one in known if is_of_training(one, generation) and not one.is_amount_of_work)
    apart = {sentence(replace(one, reference="")): one for one in reversed(known) if one.kind == "epoch"}
    losses = [*map(_of_losses, reversed(apart.values()))]
    return (
        *first,
        *losses,
        *(f"is {how}" for how in training),
        *all_of(one for one in known if one.kind in (NO_TRAINING, OTHER_METRIC)),
    )


def _of_losses(found: Finding) -> str:
    """That a fit loses otherwise, why as far as that is known, and what to type for more."""
    why, option = found.about.get("perhaps"), found.about.get("says why")
    about = {name: value for name, value in found.about.items() if name != "perhaps"}
    text = f"is {sentence(replace(found, about=about))}, so it is not compared"
    text += f". A known difference may be why: {why.rstrip('.')}" if why else ""
    return f"{text}. The same command with {option} says where they part" if option else text


def is_of_training(finding: Finding, generation: str = "") -> bool:
    """Whether it is in what a program trains on or how, so that its scores cannot be the same.

    generation: of its Keras. The other one has other defaults, which is no matter of the program's.
    """
    if finding.kind != "aspect":
        return False
    if finding.aspect in ("model", "optimizer") and generation and generation == _generation(finding.reference):
        return True
    if finding.aspect == "optimizer":
        return any(finding.own.get(name) != finding.other.get(name) for name in _OF_OPTIMIZER)
    return finding.aspect in _OF_TRAINING


def _generation(backend: str) -> str:
    """Of its Keras; empty for another version or with settings, which have other defaults, too."""
    return "" if {*"@+"} & {*backend} else backend.partition("/")[0]


def call(found: Finding, where: str = "") -> str:
    """What a program's call does otherwise; `where`: the lines where that shows."""
    about, why = found.about, found.explanation
    first = f"{_capital(DOES[about['does']])} on {about['backend']} than on {found.reference}: {call_apart(found)}"
    first += f" ({where})." if where else "."
    return f"{first} {_capital(why)}." if why else first


# What a call does otherwise.
DOES = {
    "same weights": "the same weights predict otherwise",
    "no weights": "a model without weights computes otherwise",
    "same file": "weights of the same file predict otherwise",
    "same training": "the same training predicts otherwise",
    "same outputs": "the same weights evaluate otherwise",
    "other inputs": "evaluate is given other inputs",
    "from call to call": "the same weights predict otherwise from call to call",
}


def call_apart(found: Finding) -> str:
    """By how much what a call returns is something else."""
    own, other = found.own, found.other
    match found.aspect:
        case "scores":
            return f"{found.about['score']} {own:.4g} instead of {other:.4g}"
        case "shapes":
            return f"outputs of shape {_shapes(own)} instead of {_shapes(other)}"
        case "inputs":
            return f"off by up to {own:.2g} of the largest number" if math.isfinite(own) else "of another shape"
        case "later calls":
            return "the first call agrees, and the same call at the program's end returns something else"
        case "random":
            return "outputs drawn at random"
        case _:
            return f"outputs {outputs_apart(found)}"


def _shapes(shapes: Iterable[Iterable[int]]) -> str:
    """With the batch axis first, whatever that is."""
    return " and ".join(f"({', '.join(['n', *map(str, shape)])})" for shape in shapes)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _time_growth(found: Finding) -> str:
    second, last = significant(found.other), significant(found.own)
    return f"each {found.aspect} takes longer: {second} s the second, {last} s the last of {found.about['count']:,}"


def _metric(found: Finding) -> str:
    both = f"{found.own:.4g} instead of {found.other:.4g}"
    return (
        f"has another {found.aspect} than {found.reference} in epoch {found.about['epoch']}, at the same loss: {both}"
    )


_SUMS = {
    "within": "epochs, validation and callbacks add up to {} s, its fits to {} s: a fault of kbench, whose times of "
    "epochs are left out",
    "usual": "as many usual times as it has would add up to {} s, and it took {} s: they differ too much to tell one",
    "lines": "its lines add up to {} s, all of it to {} s: a fault of kbench, and what is outside is not known",
    "import": "its import took {} s, and all that it is a part of {} s: a fault of kbench, which leaves it out",
}


def _sum(found: Finding) -> str:
    return _SUMS[found.aspect].format(significant(found.own), significant(found.other))


FINDING_KINDS = (
    FindingKind(OTHER_CALL, call, in_status="other outputs"),
    FindingKind(TIME_GROWTH, _time_growth),
    FindingKind(NO_TRAINING, lambda finding: "trains nothing: none of the model's weights changed", is_note=False),
    FindingKind(OTHER_METRIC, _metric, is_note=False),
    FindingKind(NO_SUM, _sum),
    FindingKind(WARNED, lambda finding: f"warnings that not all backends give: {'; '.join(finding.own)}"),
    FindingKind(NO_CALLS, lambda finding: "it calls no fit, evaluate or predict: timed as a whole"),
)
