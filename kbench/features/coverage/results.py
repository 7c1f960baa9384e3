"""What came of each public name on each backend of a coverage run: its cases are compared with the float64 reference,
or with the backend that most others are near.
"""

from __future__ import annotations

import base64
import math
import signal
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kbench.errors import UserError
from kbench.features.coverage import events, refusals
from kbench.features.coverage.checks import (
    OF_DRAWS,
    OF_DTYPE,
    OF_RANDOM,
    STEPPED,
    TOLERANCE,
    UNSET,
    UP_TO_SIGNS,
    WORDS,
    allowed,
    apart,
    numbers_of,
    of_changes,
    of_gradients,
    usual,
    with_checks,
)
from kbench.features.coverage.effects import with_effects
from kbench.features.coverage.events import Case, Output
from kbench.features.coverage.inputs import INPUTS
from kbench.features.coverage.values import (
    ABSENT,
    CHECKS,
    CONFIG,
    CRASHES,
    DIFFERS,
    FORMATS,
    HANGS,
    KIND,
    NOT_RUN,
    OUTPUTS,
    RAISES,
    SAME,
    STATES,
    UNTRIED,
    WORKS,
    CaseResult,
    NameResult,
    ProbeCase,
)
from kbench.records.values import INTERRUPTED, OK, TIMEOUT, Measured, base
from kbench.store.reading import RunRecord, RunResults
from kbench.words.text import significant

if TYPE_CHECKING:
    import numpy.typing as npt

KEPT = 256  # numbers of an output, as kbench_coverage.probes keeps them
ALL_BUT_ONE = 3  # frameworks that agree with each other and not with the reference: it is that which is wrong
REFERENCE = "+policy=float64"  # at the end of the name of the backend that is the measure of the others


@dataclass
class _Backend:
    """What the processes of a backend told."""

    public: set[str] = field(default_factory=set)
    cases: dict[int, Case] = field(default_factory=dict)
    ended: dict[int, tuple[str, str, str]] = field(default_factory=dict)  # by which case: state, sentence, check
    reason: str = ""  # why it has not told its names


def is_coverage(run: RunRecord) -> bool:
    """Whether the run tries public names, and times nothing."""
    return run.plan.get("kind") == KIND


def generation(backend: str) -> str:
    return backend.partition("/")[0]


class CoveragePlan(msgspec.Struct):
    """What the plan of a coverage run keeps; one that was stopped while names were listed has only what was asked."""

    cases: dict[str, list[ProbeCase]] = {}  # by the generation of Keras
    untried: dict[str, list[str]] = {}  # names without a case, by the same
    without: dict[str, list[str]] = {}  # modules that are not tried on a backend
    shown: list[str] | None = None  # the backends that the user asked for
    only: str = ""  # as asked, as the next one
    quick: bool = False


def plan_of(run: RunRecord) -> CoveragePlan:
    """Raises UserError if it is damaged."""
    try:
        return msgspec.convert(run.plan, CoveragePlan)
    except msgspec.ValidationError as error:
        raise UserError(f"{run.folder} is damaged: its cases cannot be read ({error}).") from None


def names(run: RunResults) -> list[NameResult]:
    """Each public name on each backend that the user asked for, in the order of names and of what was asked: if two
    backends differ and nothing says which is right, the second is said to. Raises UserError if the plan is damaged.
    """
    plan = plan_of(run)
    found_by = _told(run.measured)
    told = {name: found_by[name] for name in dict.fromkeys([*(plan.shown or ()), *found_by]) if name in found_by}
    shown = [name for name in told if plan.shown is None or name in plan.shown]
    found = []
    for of_keras, its_cases in plan.cases.items():
        here = {name: one for name, one in told.items() if generation(name) == of_keras}
        managed = {what for case in its_cases for what in _managed(case, here)}
        by_name: dict[str, list[ProbeCase]] = {name: [] for name in plan.untried.get(of_keras, ())}
        for case in its_cases:
            by_name.setdefault(case.name, []).append(case)
        for name, own in sorted(by_name.items()):
            compared = [row for case in own if not case.wrong and (row := _compare(case, here, managed))]
            compared += refusals.compared(own, here, REFERENCE)
            for backend in shown:
                if backend in here:
                    tried = is_tried(name, backend, plan.without)
                    rows = with_effects([row[backend] for row in compared if tried], here[backend].cases)
                    found.append(_of_name(name, backend, here[backend], rows, [case.id for case in own if tried]))
    return found


def left(
    measured: Sequence[Measured], cases: Mapping[str, Sequence[ProbeCase]], without: Mapping[str, Collection[str]]
) -> dict[str, list[ProbeCase]]:
    """The cases that a backend has not tried, by backend. One of a name that hangs is enough. without: modules that
    are not tried on a backend.
    """
    found = {}
    for name, one in _told(measured).items():
        of_keras = (case for case in cases.get(generation(name), ()) if case.name in one.public)
        own = [case for case in of_keras if is_tried(case.name, name, without)]
        hung = {case.name for case in own if one.ended.get(case.id, ("",))[0] == HANGS}
        found[name] = [
            case for case in own if case.id not in one.cases and case.id not in one.ended and case.name not in hung
        ]
    return found


def is_tried(name: str, backend: str, without: Mapping[str, Collection[str]]) -> bool:
    """Whether a public name is tried on a backend. without: by backend the modules that are not."""
    return name.partition(".")[0] not in without.get(backend, ())


def _of_name(name: str, backend: str, told: _Backend, rows: Sequence[CaseResult], own: Sequence[int]) -> NameResult:
    """own: the cases of the name."""
    if told.reason:
        return NameResult(name, backend, NOT_RUN)
    if name not in told.public:
        return NameResult(name, backend, ABSENT)
    if own and not {*own} & ({*told.cases} | {*told.ended}):
        return NameResult(name, backend, NOT_RUN)
    states = [row.state for row in rows]
    worst = min((one for one in states if one != NOT_RUN), key=STATES.index, default=UNTRIED)
    return NameResult(name, backend, worst, tuple(rows))


def _told(measured: Sequence[Measured]) -> dict[str, _Backend]:
    found: dict[str, _Backend] = {}
    for one in measured:
        told = found.setdefault(one.cell.backend, _Backend())
        facts, outcome = one.facts, one.outcome
        told.public |= {*events.public(facts)}
        told.cases |= {number: case for number, case in events.cases(facts).items() if _is_whole(case)}
        if not told.public and outcome.status != OK:
            told.reason = outcome.reason
        if (case := ended_by(one)) is not None:
            hangs = outcome.exit_code == -signal.SIGALRM or outcome.status == TIMEOUT
            how = (HANGS, "not done in its time") if hangs else (CRASHES, outcome.reason)
            told.ended[case] = (*how, check if (check := events.begun(facts)[1]) in CHECKS else OUTPUTS)
    return found


def ended_by(one: Measured) -> int | None:
    """The case that ended the process. None: it ended well or was interrupted; or cases before it may be why, which
    used up time or memory, or wrote where they must not: then it is tried again, before any other.
    """
    facts, outcome = one.facts, one.outcome
    by_others = bool(events.cases(facts)) and outcome.exit_code != -signal.SIGALRM
    begun, _ = events.begun(facts)
    innocent = begun in events.cases(facts) or outcome.status == INTERRUPTED or by_others
    return None if innocent else begun


def _is_whole(case: Case) -> bool:
    """Whether its outputs have as many numbers as their shapes say."""
    for one in (*case.outputs, *(case.gradients or ())):
        try:
            count = len(base64.b64decode(one.numbers)) // 4 // (2 if one.kind == "c" else 1)
        except ValueError:
            return False
        if min(one.shape, default=1) < 0 or count != min(math.prod(one.shape), KEPT):
            return False
    return True


def _managed(case: ProbeCase, told: Mapping[str, _Backend]) -> set[tuple[str, str]]:
    """(what it is, check) that a backend manages with this case, where all of a kind are made alike."""
    found = (one.cases[case.id].checks or {} for one in told.values() if case.id in one.cases)
    return {(_kind(case), check) for of in found for check, how in of.items() if how.error is None}


def _kind(case: ProbeCase) -> str:
    """Whether it is a layer, a function of losses, a class of losses, and so on."""
    module, _, name = case.name.partition(".")
    return f"{module} {'class' if name[:1].isupper() else 'function'}"


def _compare(
    case: ProbeCase, told: Mapping[str, _Backend], managed: Collection[tuple[str, str]]
) -> dict[str, CaseResult] | None:
    """The case on each backend; None if no backend takes it, and none is ended by it. managed: see `_managed`."""
    took = {name: one.cases[case.id] for name, one in told.items() if case.id in one.cases}
    well = {name: one for name, one in took.items() if one.inputs is not None}
    if not well and not any(case.id in one.ended for one in told.values()):
        return None
    usual = Counter(str(one.inputs) for one in well.values()).most_common(1)
    inputs = usual[0][0] if usual else ""
    numbers = {name: [numbers_of(one) for one in of.outputs] for name, of in well.items() if of.inputs == inputs}
    most = allowed(case, (well[name] for name in numbers))
    against = _standard(case, numbers, {name: well[name] for name in numbers}, most)
    found = {}
    for name, one in told.items():
        if case.id in one.ended:
            state, sentence, check = one.ended[case.id]
            before = f"{WORDS[check][0]}: " if check in WORDS else ""
            found[name] = CaseResult(case, name, state, before + sentence, inputs=inputs, check=check)
        elif name not in took:
            found[name] = CaseResult(case, name, ABSENT if case.name not in one.public else NOT_RUN)
        elif name not in numbers:
            refused = took[name].refused
            if inputs not in refused and name in well:  # it took what came before
                found[name] = CaseResult(case, name, WORKS, "with other inputs", inputs=str(well[name].inputs))
                continue
            why = refused.get(inputs) or next(iter(refused.values()), "")
            found[name] = CaseResult(case, name, RAISES, why, inputs=inputs)
        elif name == against or len(numbers) == 1:
            found[name] = CaseResult(case, name, SAME if len(numbers) > 1 else WORKS, inputs=inputs)
        else:
            how, size = _difference(case, well[name].outputs, numbers[name], well[against].outputs, numbers[against])
            state = DIFFERS if how or size > most else SAME
            if state == DIFFERS and _is_alone(numbers, against):
                how = f"{how or f'by {significant(size)}'}, and the others agree"
            found[name] = CaseResult(case, name, state, how, size, against, inputs)
    here = {check for kind, check in managed if kind == _kind(case)} & {CONFIG, FORMATS[0]}
    return with_checks(found, {name: well[name] for name in numbers}, here)


def _is_alone(names: Collection[str], against: str) -> bool:
    """Whether there is a reference, and others are compared with something else."""
    return any(one.endswith(REFERENCE) for one in names) and not against.endswith(REFERENCE)


def _standard(
    case: ProbeCase, numbers: Mapping[str, list[npt.NDArray[Any]]], told: Mapping[str, Case], most: float
) -> str:
    """The backend that the others are compared with: the reference, unless it alone differs and the others, of three
    frameworks at least, agree; else one that most agree with, within `most`.
    """

    def far(name: str, other: str) -> float:
        how, size = _difference(case, told[name].outputs, numbers[name], told[other].outputs, numbers[other])
        return math.inf if how else size

    reference = next((name for name in numbers if name.endswith(REFERENCE)), "")
    others = [name for name in numbers if base(name) != base(reference)] if reference else [*numbers]
    first = others[0] if others else ""
    is_alone = len({*map(base, others)}) >= ALL_BUT_ONE and far(first, reference) > most if reference else True
    if not is_alone or (reference and any(far(name, first) > most for name in others)):
        return reference
    return usual({name: [far(name, other) for other in others] for name in others}, most) if others else ""


def _difference(
    case: ProbeCase,
    own: Sequence[Output],
    numbers: Sequence[npt.NDArray[Any]],
    other: Sequence[Output],
    others: Sequence[npt.NDArray[Any]],
) -> tuple[str, float]:
    """What differs other than numbers, in words; and by how much the numbers do, of the largest above 1."""
    if not own or not other:  # it draws numbers there, or seems to
        return "", 0.0
    if len(own) != len(other):
        return f"{len(own)} outputs instead of {len(other)}", math.inf
    size = 0.0
    for one, values, against, right in zip(own, numbers, other, others, strict=True):
        if one.shape != against.shape:
            return f"shape {_shape(one)} instead of {_shape(against)}", math.inf
        if case.name in UNSET:
            continue
        if one.kind != against.kind and not (case.name in UP_TO_SIGNS and {one.kind, against.kind} == {"f", "c"}):
            return f"{_KINDS.get(one.kind, one.kind)} instead of {_KINDS.get(against.kind, against.kind)}", math.inf
        if case.random:
            size = max(size, _of_random(values, right) * _draws(case))
            continue
        mine, theirs = (np.sort(np.abs(x)) if case.name in UP_TO_SIGNS else x for x in (values, right))
        if case.name in OF_DTYPE:
            mine, theirs = (np.where(np.abs(x) >= LARGEST, np.copysign(np.inf, x), x) for x in (mine, theirs))
        if not np.array_equal(np.isnan(mine), np.isnan(theirs)):
            return "not a number in other places", math.inf
        finite = np.isfinite(mine) & np.isfinite(theirs)
        if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True):
            return "infinite in other places", math.inf
        if finite.all() and case.inputs[0] in STEPPED and math.prod(one.shape) == mine.size:
            size = max(size, of_changes(mine.reshape(one.shape), theirs.reshape(one.shape)))
        elif finite.any():
            largest = max(1.0, float(np.abs(theirs[finite]).max()))
            size = max(size, float(np.abs(mine[finite] - theirs[finite]).max()) / largest)
    return "", size


LARGEST = float(np.finfo("float32").max)
_KINDS = {"f": "floats", "i": "whole numbers", "b": "booleans", "c": "complex numbers"}


def _shape(output: Output) -> str:
    return str(tuple(output.shape))


def _of_random(own: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """How far mean and deviation are apart, such that TOLERANCE is OF_RANDOM of the deviation."""
    spread = float(other[1])
    distance = float(np.abs(own - other).max())
    return distance if spread == 0.0 else distance / spread / OF_RANDOM * TOLERANCE


def _draws(case: ProbeCase) -> float:
    """How much less a distance of moments counts where a layer draws for few samples, and maybe once for each."""
    samples = max(min(INPUTS[one][0][1][0] for one in case.inputs), 1) if case.training else 0
    return OF_RANDOM / OF_DRAWS / math.sqrt(2 / samples) if samples else 1.0


def cases_of(measured: Sequence[Measured]) -> dict[str, Mapping[int, Case]]:
    """What each backend told of its cases, by their numbers."""
    return {name: one.cases for name, one in _told(measured).items()}


def between(case: ProbeCase, one: Case, other: Case) -> str:
    """How a case that took the same inputs twice gave something else, in words; empty if it did not."""
    if one.inputs is None or one.inputs != other.inputs:
        return ""
    numbers = [[numbers_of(output) for output in each.outputs] for each in (one, other)]
    how, size = _difference(case, other.outputs, numbers[1], one.outputs, numbers[0])
    if how or size > allowed(case, (one, other)):
        return how or f"by {significant(size)}"
    if not one.gradients or not other.gradients:
        return ""
    trained = {"one": one.gradients, "other": other.gradients}
    numbers_of_both = {name: [numbers_of(each) for each in of] for name, of in trained.items()}
    off = apart(trained, numbers_of_both, "one", "other")
    return "a step changes its weights otherwise" if off > of_gradients(case) else ""
