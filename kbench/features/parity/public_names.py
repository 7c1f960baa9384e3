"""Which public name of Keras makes a model's outputs differ: the layer, or what a user's own layer calls."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from kbench.features.parity.agreement import DIFFERS, TOLERANCES
from kbench.features.parity.deviations import output_deviation
from kbench.features.parity.values import Agreement, OpCall, Subject
from kbench.features.script.told.at_fault import tried
from kbench.words.text import listed

EQUAL = 1e-5  # of inputs: as far as rounding takes them
MAGNIFIED = 100.0  # a function may make so much more of it


def named(rows: Sequence[Agreement], subjects: Sequence[Subject], started: str) -> list[Agreement]:
    """The rows of these subjects; what is at fault is the first note of each whose outputs or layers differ."""
    found = []
    pairs = zip(rows, subjects, strict=True)
    for _, group in groupby(pairs, key=lambda pair: pair[0].example):
        several = list(group)
        sound = [one for row, one in several if row.verdict != DIFFERS]
        for row, one in several:
            others = [other for other in sound or [other for _, other in several] if other is not one]
            text = _at_fault(row, one, others, [] if sound else [other for _, other in several], started)
            found.append(replace(row, notes=(text, *row.notes)) if text else row)
    return found


def _at_fault(
    row: Agreement, subject: Subject, others: Sequence[Subject], equally: Sequence[Subject], started: str
) -> str:
    """Its note, or nothing. equally: all of them, where it is not known which is right."""
    own = subject.computed
    beyond = [what for what, one in row.deviations.items() if not one.size <= TOLERANCES[what]]
    if own is None or row.verdict != DIFFERS or not beyond:
        return ""
    backends = [one.measured.cell.backend for one in equally] or [row.backend]
    trained = not {"outputs", "layers"} & {*beyond}
    furthest = row.deviations[beyond[0]].layer if trained else row.first.layer if row.first else ""
    public = next((layer.public for layer in own.layers if layer.name == furthest), "")
    if public:
        how = f"deviates most ({beyond[0]})" if trained else "is the first that differs"
        names = [*dict.fromkeys(re.findall(r"layers\.\w+", public))]  # of a wrapper two
        return f"`{public}` {how}{tried(names, backends, started)}"
    for other in () if trained else others:
        if other.computed is not None and (call := first_unlike(own.calls, other.computed.calls)):
            than = other.measured.cell.backend
            how = f"`{call.name}` returns something else than on {than}, given the same{_shapes(call)}"
            return f"{how}{tried([call.name], [row.backend, than], started)}"
    return ""


def first_unlike(own: Sequence[OpCall], others: Sequence[OpCall]) -> OpCall | None:
    """The first call that is given the same on both backends, and returns something else; as long as both make the
    same calls.
    """
    for mine, its in zip(own, others, strict=False):
        if mine.name != its.name or len(mine.given) != len(its.given) or len(mine.returned) != len(its.returned):
            return None
        before, after = (_apart(*pair) for pair in ((mine.given, its.given), (mine.returned, its.returned)))
        if before <= EQUAL and after > max(TOLERANCES["outputs"], MAGNIFIED * before):
            return mine
    return None


_Arrays = Sequence[tuple[tuple[int, ...], np.ndarray]]


def _apart(own: _Arrays, others: _Arrays) -> float:
    """How far the furthest of them are; where both are infinite or no number alike, they agree."""
    furthest = 0.0
    for (shape, values), (other_shape, other_values) in zip(own, others, strict=True):
        if shape != other_shape or values.size != other_values.size:
            return math.inf
        alike = ~np.isfinite(values) & ((values == other_values) | (np.isnan(values) & np.isnan(other_values)))
        furthest = max(furthest, output_deviation(*(np.where(alike, 0.0, one) for one in (values, other_values))))
    return furthest


def _shapes(call: OpCall) -> str:
    shapes = [str(shape) for shape, _ in call.given if shape]
    several = "s" * (len(shapes) > 1)
    return f" array{several} of shape{several} {listed(shapes)}" if shapes else ""
