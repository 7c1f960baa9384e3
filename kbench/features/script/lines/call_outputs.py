"""Compares what the calls of a user's program return: from the same weights and inputs, outputs must agree.

After training, outputs differ by what was learnt: nothing is said of them, unless the weights are still the same, or
only such weights differ as are not trained. The yardstick is that of first outputs (first_outputs.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kbench.analysis.sameness import first_outputs
from kbench.analysis.sameness.first_outputs import Outputs
from kbench.analysis.sameness.usual import in_order
from kbench.features.script import events
from kbench.features.script.events import Returned
from kbench.features.script.lines import call_weights
from kbench.features.script.lines.call_weights import number
from kbench.features.script.lines.finding_kinds import OTHER_CALL
from kbench.features.script.lines.line_details import with_details
from kbench.features.script.lines.output_causes import (
    EVALUATE,
    FROM_FILE,
    INPUTS,
    PREDICT,
    RANDOM,
    TRAINED,
    WEIGHTLESS,
    cause,
    fault,
)
from kbench.records.axes import Point, RowKey
from kbench.records.findings import Finding
from kbench.records.values import OK, Cell, Measured
from kbench.summary import Summary

SCORE = 1e-3  # relative, of a score: outputs that agree give the same
LEAST_SCORE = 1e-4  # absolute
_SHORT = re.compile("(?<![a-z])acc$")  # Keras 2's name of an accuracy


@dataclass(frozen=True)
class _Call:
    measured: Measured
    told: Returned
    outputs: Outputs | None
    position: int

    @property
    def layout(self) -> str:
        return self.measured.cell.image_data_format


def compare(measured: Iterable[Measured]) -> list[tuple[Cell, Finding]]:
    """The cells of call sites whose calls return something else than those of most, and how."""
    return [found for group in _groups(measured) if len(group) > 1 for found in _of_group(group)]


def _groups(measured: Iterable[Measured]) -> list[list[_Call]]:
    """The calls of each line and repeat."""
    groups: dict[tuple[Point, int], list[_Call]] = {}
    for one in measured:
        if one.outcome.status == OK and (told := events.returned_by(one.facts)) is not None:
            group = groups.setdefault((one.cell.key.work, one.cell.repeat), [])
            group.append(_Call(one, told, call_weights.outputs(told), len(group)))
    return list(groups.values())


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with how they predict otherwise: in the first repeat in which they do."""
    measured = list(measured)
    found: dict[RowKey, Finding] = {}
    for cell, one in compare(measured):
        found.setdefault(cell.key, one)
    known = _known(measured)
    told = [with_details(row, **known.get(row.key, {})) for row in rows]
    return [replace(row, findings=(*row.findings, found[row.key])) if row.key in found else row for row in told]


def _known(measured: Iterable[Measured]) -> dict[RowKey, dict[str, Any]]:
    """What rows are told, as fields of their details: how far their outputs are from those of others with the same
    inputs and weights, or that their scores agree, where all do; or why they are not compared.
    """
    found: dict[RowKey, dict[str, Any]] = {}
    for group in _groups(measured):
        for one in group if len(group) > 1 else ():
            found.setdefault(one.measured.cell.key, _of_call(one, group))
    return found


def _of_call(one: _Call, group: Sequence[_Call]) -> dict[str, Any]:
    hows = [(other, _how(other, group[0])) for other in group[1:]]
    unknown = next((other for other, how in hows if how is None), None)
    if any(how for _, how in hows) or not all(each.told.outputs or each.told.scores for each in group):
        return {}
    if unknown is not None:
        return {"outputs_not_compared": _reason(unknown.told, group[0].told)}
    if any(each.told.random for each in group):
        return {}
    pairs = [(one.outputs, other.outputs) for other in group]
    apart = [first_outputs.apart(a, b) for a, b in pairs if a and b]
    return {"outputs_apart": max(apart)} if len(apart) == len(group) else {"scores_agree": bool(one.told.scores)}


def _reason(own: Returned, others: Returned) -> str:
    if own.random and others.random:
        return "they are drawn at random"
    if not call_weights.same_inputs(own, others):
        return "it is not known that their inputs are the same"
    if own.trained or others.trained:
        return "after training, weights are not the same"
    return "each backend draws its own initial weights; --init seeded gives all the same ones"


def with_long_names(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Scores as Keras 3 calls them."""
    return {_SHORT.sub("accuracy", name): score for name, score in scores.items()}


def _of_group(group: Sequence[_Call]) -> list[tuple[Cell, Finding]]:
    """Each cell against that with which most agree; of equals the one without a known fault."""
    hows = {(one.position, other.position): _how(one, other) for one in group for other in group if other is not one}

    def agree(one: _Call, other: _Call) -> bool:
        return one is not other and hows[one.position, other.position] == ()

    def faults(one: _Call) -> int:
        compared = [(other, hows[one.position, other.position]) for other in group if other is not one]
        return sum(
            bool(how and fault(how.about["does"], one.measured, one.told, other.measured, other.told))
            for other, how in compared
        )

    ranked = in_order(group, agree, faults)
    found = []
    for one in group:
        better = ranked[: ranked.index(one)]
        reference = next((other for other in better if hows[one.position, other.position] is not None), None)
        how = None if reference is None else hows[one.position, reference.position]
        if reference is not None and how:
            found.append((one.measured.cell, _with_cause(how, one, reference)))
    return found


def _with_cause(how: Finding, one: _Call, other: _Call) -> Finding:
    backend, reference = one.measured.cell.backend, other.measured.cell.backend
    why = cause(how.about["does"], one.measured, one.told, other.measured, other.told)
    return replace(how, reference=reference, about={**how.about, "backend": backend}, explanation=why)


_How = Finding | tuple[()] | None


def _how(one: _Call, other: _Call) -> _How:
    """What it does otherwise; empty if they agree, None if they cannot be compared."""
    own, others = one.told, other.told
    if not call_weights.same_inputs(own, others):
        known = own.scores and others.scores and one.layout == other.layout
        off = call_weights.other_inputs(own, others) if known else None
        return None if off is None else Finding(kind=OTHER_CALL, aspect="inputs", own=off, about={"does": INPUTS})
    if call_weights.same_weights(own, others):
        does = PREDICT if own.weights else WEIGHTLESS
    elif call_weights.lacking(own, others) or call_weights.lacking(others, own):
        does = FROM_FILE
    elif call_weights.averages(own, others):
        does = TRAINED
    else:
        return None
    if own.random or others.random:
        if own.random and others.random:
            return None
        return _at_random(one, other) if own.random else ()
    return _differ(does, one, other)


def _differ(does: str, one: _Call, other: _Call) -> _How:
    scores = scores_apart(one.told, other.told)
    own, others = one.told.shapes, other.told.shapes
    if own and others and own != others:
        return Finding(kind=OTHER_CALL, aspect="shapes", own=own, other=others, about={"does": does})
    known = one.outputs is not None and other.outputs is not None
    if one.outputs is None or other.outputs is None or first_outputs.same(one.outputs, other.outputs):
        return _of_scores(EVALUATE if known or does == PREDICT else does, scores) if scores else ()
    return _of_scores(does, scores) if scores else _of_outputs(does, one.outputs, other.outputs)


def _of_scores(does: str, scores: tuple[str, float, float]) -> Finding:
    name, own, other = scores
    return Finding(kind=OTHER_CALL, aspect="scores", own=own, other=other, about={"does": does, "score": name})


def _of_outputs(does: str, own: Outputs, other: Outputs) -> Finding:
    how = first_outputs.finding(own, other)
    return replace(how, kind=OTHER_CALL, about={**how.about, "does": does})


def _at_random(one: _Call, other: _Call) -> Finding:
    """How what is not always the same differs from another call's."""
    how = Finding(kind=OTHER_CALL, aspect="random", about={"does": RANDOM})
    if one.outputs is None or other.outputs is None:
        return how
    if first_outputs.same(one.outputs, other.outputs):
        return replace(how, aspect="later calls")
    return _of_outputs(RANDOM, one.outputs, other.outputs)


def scores_apart(own: Returned, others: Returned) -> tuple[str, float, float] | None:
    """(the score that differs, its own value, the other's), an accuracy before all others; None if none does."""
    mine, theirs = with_long_names(own.scores or {}), with_long_names(others.scores or {})
    for name in sorted(mine.keys() & theirs.keys(), key=lambda name: ("accuracy" not in name, name != "loss", name)):
        value, other = number(mine[name]), number(theirs[name])
        if apart(value, other):
            return name, value, other
    return None


def apart(score: float, other: float) -> bool:
    """Whether two scores of the same outputs are not the same."""
    if math.isnan(score) and math.isnan(other):
        return False
    return not abs(score - other) <= SCORE * max(abs(score), abs(other)) + LEAST_SCORE
