"""Whether several lines of a program return the same, backend by backend: for `script --compare-lines`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from kbench.analysis.sameness import first_outputs
from kbench.features.script import events
from kbench.features.script.events import Returned
from kbench.features.script.lines import call_outputs, call_weights, line_losses
from kbench.features.script.lines.call_sites import is_fit
from kbench.features.script.told.line_answers import how_near
from kbench.records.values import OK, Measured
from kbench.words.sentences import outputs_apart
from kbench.words.text import listed

SAME_LOSS = 1e-2  # relative, of fits that are compiled and that are not


def sentences(parts: Iterable[Measured]) -> list[str]:
    """Of each line beside the first one of its kind: one for all backends of which the same is true."""
    lines: dict[str, dict[str, Measured]] = {}  # by their backends: the first process that ended ok
    for one in parts:
        if one.outcome.status == OK:
            lines.setdefault(one.cell.site, {}).setdefault(one.cell.backend, one)
    said: dict[str, dict[str, float]] = {}  # text: on which backends, and how far apart numbers are that agree
    first: dict[bool, str] = {}  # fits are compared with fits
    for line, processes in lines.items():
        name = first.setdefault(is_fit(line), line)
        for backend, one in processes.items() if name != line else ():
            if its := lines[name].get(backend):
                text, apart = _compared(name, its, line, one)
                said.setdefault(text, {})[backend] = apart
    return [_sentence(text, found) for text, found in said.items() if text]


def _sentence(text: str, found: Mapping[str, float]) -> str:
    apart = max(found.values())
    near = "" if math.isnan(apart) else f", {how_near(apart, ' of the largest number')}"
    return f"On {listed(list(found))}, {text}{near}."


def _compared(name: str, first: Measured, line: str, other: Measured) -> tuple[str, float]:
    """What is true of them, and how near outputs that agree are, NaN of all else; empty where neither returns outputs
    or scores, or trains from where the other does.
    """
    its, own = events.returned_by(first.facts), events.returned_by(other.facts)
    if its is None or own is None or not (_has_numbers(its) and _has_numbers(own)):
        return _of_losses(name, first, line, other), math.nan
    if why := _not_compared(its, own):
        return f"what {line} and {name} return is not compared: {why}", math.nan
    how, near = _differ(own, its)
    return f"{line} returns {f'something else than {name}: {how}' if how else f'the same as {name}'}", near


def _has_numbers(told: Returned) -> bool:
    return bool(told.outputs or told.scores)


def _not_compared(one: Returned, other: Returned) -> str:
    if not call_weights.same_inputs(one, other):
        return "they are given other inputs"
    if not call_weights.same_weights(one, other):
        return "their models have other weights"
    return "it changes from call to call" if one.random or other.random else ""


def _differ(own: Returned, other: Returned) -> tuple[str, float]:
    """(how they differ, how far outputs that agree are apart)."""
    mine, its = call_weights.outputs(own), call_weights.outputs(other)
    if mine and its:
        if own.shapes and other.shapes and own.shapes != other.shapes:
            return "outputs of another shape", math.nan
        if first_outputs.same(mine, its):
            return "", first_outputs.apart(mine, its)
        return f"outputs {outputs_apart(first_outputs.finding(mine, its))}", math.nan
    if scores := call_outputs.scores_apart(own, other):
        return f"{scores[0]} {scores[1]:.4g} instead of {scores[2]:.4g}", math.nan
    return "", math.nan


def _of_losses(name: str, first: Measured, line: str, other: Measured) -> str:
    """Of two fits from the same weights, on the same arrays in their order."""
    known = first.facts.start_sha256 and first.facts.content_sha256
    if not known or _start(first) != _start(other) or any(line_losses.draws(one.facts) for one in (first, other)):
        return ""
    losses = [_losses(one) for one in (first, other)]
    for epoch, (its, own) in enumerate(zip(*losses, strict=False), 1):
        if its is not None and own is not None and not abs(its - own) <= SAME_LOSS * max(abs(its), abs(own)):
            return f"{line} trains otherwise than {name}: the loss of epoch {epoch} is {own:.4g} instead of {its:.4g}"
    return f"{line} trains as {name} does: the losses agree" if all(losses) else ""


def _start(one: Measured) -> Sequence[object]:
    facts = one.facts
    return facts.start_sha256, facts.content_sha256, facts.batch_size, facts.samples, facts.optimizer, facts.loss


def _losses(one: Measured) -> Sequence[float | None]:
    return [loss for loss, _ in one.facts.losses or ()]
