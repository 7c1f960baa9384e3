"""What is wrong of a case where its outputs are right: gradients, graphs and files, each against the reference, the
backend nearest to most, or the backend itself.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from kbench.features.coverage.events import Case, Output
from kbench.features.coverage.inputs import REPEATED, TIED
from kbench.features.coverage.values import (
    BATCH,
    CHECKS,
    CLONE,
    CONFIG,
    COPY,
    DIFFERS,
    ELSEWHERE,
    EXPORT,
    FIT,
    FORMATS,
    GOOD,
    GRADIENTS,
    GRAPH,
    INFERENCE,
    JIT,
    RAISES,
    SEED,
    STATES,
    SYMBOLIC,
    WITHIN,
    CaseResult,
    ProbeCase,
)
from kbench.words.text import significant

if TYPE_CHECKING:
    import numpy.typing as npt

TOLERANCE = 1e-4  # as that of outputs in `parity`: of each number, or of the largest one where that is above 1
# Whose numbers have eleven bits, or eight: a sum of thirty is good to so much. Those of float64 are told in float32.
TOLERANCES = {"float16": 1e-2, "mixed_bfloat16": 8e-2, "float64": 1e-6}
ROUNDING = 4.0  # rounding explains so many times what the outputs move with inputs moved by their last place
OF_GRADIENTS = 1e-3  # of the largest gradient of the case
OF_BFLOAT16 = 0.3  # the same: a sum of hundreds of numbers that have eight bits, or another of two nearly equal ones
NO_GRADIENT = 1e-6  # a framework may refuse to train where nothing can be learnt
SMALL_GRADIENT = 1e-2  # a smaller one is rounded in the weight that it changes
OF_CHANGES = 1e-3  # of each change that an optimizer makes to a weight
STEPPED = ("gradients", REPEATED)  # inputs for which those are compared
ULPS = 4 * float(np.finfo("float32").eps)  # of a weight, as in the guest; also FLOOR
FLOOR = 0.01
OF_DRAWS = 5.0  # the same of what a layer draws in training: of the deviation of a difference of two means
OF_RANDOM = 0.1  # of the standard deviation: how far two means and deviations of 30,000 numbers may be apart
OF_DTYPE = ("ops.nan_to_num",)  # they give the largest number of a dtype, which float64 has not in common
UNSET = ("ops.empty", "ops.empty_like")  # whose numbers are whatever was in the memory
# Unique but for signs and order.
UP_TO_SIGNS = ("ops.svd", "ops.qr", "ops.eig", "ops.eigh")
# They give other gradients than their values have: what is constant by definition, symmetric, or told its gradient.
OTHER_GRADIENTS = (
    "ops.stop_gradient", "ops.custom_gradient", "layers.SpectralNormalization", "ops.cholesky", "ops.cholesky_inverse"
)  # fmt: skip
CONSTANT = "renorm"  # a setting of BatchNormalization by which its corrections are constant
CERTAIN, OF_CERTAIN = (
    "certain",
    2e-2,
)  # probabilities of 0 and 1, clipped by an epsilon that float32 rounds by a fifth
UNSAFE = "arbitrary code execution"  # for fear of it Keras loads a function only if it is told that it may
# Where, and what it does there if not the same.
WORDS = {
    SYMBOLIC: ("called without numbers", "it says otherwise"),
    GRAPH: ("in a graph", "it differs from itself run eagerly"),
    INFERENCE: ("with training=False", "it changes what it gets"),
    BATCH: ("called with one sample, and again with all,", "it differs"),
    JIT: ("in a graph with jit_compile otherwise", "it differs from itself run eagerly"),
    GRADIENTS: ("in training", "it differs"),
    FIT: ("in a graph", "a step of training differs from itself run eagerly"),
    CONFIG: ("made again of its configuration", "it differs"),
    COPY: ("copied and pickled", "it differs"),
    CLONE: ("in a clone of its model", "it differs"),
    SEED: ("with a seed", "it differs from itself"),
    **{one: (f"within {one}", "it differs from itself alone") for one in WITHIN},
    **{form: (f"saved in a .{form} file and loaded", "it differs") for form in FORMATS},
    ELSEWHERE: ("loaded from the file", "it differs"),
    EXPORT: ("exported and loaded without Keras", "it differs"),
}


def with_checks(
    found: dict[str, CaseResult], told: Mapping[str, Case], managed: Collection[str]
) -> dict[str, CaseResult]:
    """The results with the worst of the further checks, the simplest of those, where outputs are right."""
    right = {name: one for name, one in told.items() if found[name].state in GOOD}
    most = allowed(next(iter(found.values())).case, told.values())
    bad = [*_of_gradients(found, right), *_of_checks(found, right, managed, most)]
    for name in right:
        own = [one for one in bad if one.backend == name]
        if own:
            found[name] = min(own, key=lambda one: (STATES.index(one.state), CHECKS.index(one.check)))
    return found


def _of_checks(
    found: Mapping[str, CaseResult], told: Mapping[str, Case], managed: Collection[str], most: float
) -> Iterator[CaseResult]:
    """What a backend does otherwise than it does itself, or another that saved a file. An error counts if another has
    none, or if others of its kind have none, in a check that is managed so. most: by how much outputs may differ.
    """
    can = {*managed} | {
        check for one in told.values() for check, how in (one.checks or {}).items() if how.error is None
    }
    for name, one in told.items():
        case = found[name].case
        for check, how in (one.checks or {}).items():
            if check not in CHECKS or (check == GRAPH and case.name in (*UNSET, *UP_TO_SIGNS)):
                continue
            where, differs = WORDS[check]
            where += f" of {how.saved_on[:100]}" if how.saved_on else ""
            if how.error is not None:
                by_design = UNSAFE in how.error or (check == CONFIG and how.error.startswith("NotImplementedError"))
                if check in can and not by_design:
                    yield replace(found[name], state=RAISES, sentence=f"{where}: {how.error}", check=check)
            elif how.how is not None or (how.off or 0.0) > _allowed(check, case, one, most):
                size = math.inf if how.off is None else _relative(check, how.off, one)
                words = f": {how.how}" if how.how else f" by {significant(size)}"
                sentence = f"{where} {differs}{words}"
                yield replace(found[name], state=DIFFERS, sentence=sentence, deviation=size, against="", check=check)


def _relative(check: str, off: float, case: Case) -> float:
    """By how much, of the largest gradient in a step."""
    return off / max(SMALL_GRADIENT, _largest(case)) if check == FIT else off


def _allowed(check: str, case: ProbeCase, of: Case, most: float) -> float:
    if check == FIT:
        return of_gradients(case) * max(SMALL_GRADIENT, _largest(of))
    return OF_RANDOM if case.random else most


def of_gradients(case: ProbeCase) -> float:
    """By how much gradients may differ, of the largest."""
    return OF_BFLOAT16 if case.dtype == "mixed_bfloat16" else OF_GRADIENTS


def allowed(case: ProbeCase, told: Iterable[Case]) -> float:
    """By how much outputs may differ, of the largest number above 1: more where rounding moves those of most backends
    so far. One alone may be unstable; of two it has to be both.
    """
    if case.inputs[0] in STEPPED:
        return OF_CHANGES
    least = OF_CERTAIN if case.inputs[:1] == (CERTAIN,) else TOLERANCES.get(case.dtype, TOLERANCE)
    moves = [one.moved for one in told if one.moved is not None]
    return max(least, ROUNDING * median_low(moves)) if moves and not case.random else least


def _largest(case: Case) -> float:
    """Of the gradients of a case."""
    numbers = (numbers_of(one) for one in case.gradients or ())
    return max((float(np.abs(one[np.isfinite(one)]).max(initial=0.0)) for one in numbers), default=0.0)


def _of_gradients(found: Mapping[str, CaseResult], told: Mapping[str, Case]) -> Iterator[CaseResult]:
    """The gradients that are not those of finite differences or, where there are none, of most backends."""
    trained = {name: one.gradients for name, one in told.items() if one.gradients}
    numbers = {name: [numbers_of(one) for one in of] for name, of in trained.items()}
    if not trained:
        return
    case = next(iter(found.values())).case
    if case.name in (*UP_TO_SIGNS, *UNSET):  # which the loss depends on
        return
    reference, slopes = next(
        ((name, one.slopes) for name, one in told.items() if one.slopes and name not in trained), ("", ())
    )
    at_kinks = any(one.startswith(TIED) for one in case.inputs)  # which have no slope
    is_changed = case.settings.get(CONSTANT) or any(one.endswith("_constraint") for one in case.settings)
    if case.name in OTHER_GRADIENTS or is_changed or at_kinks:
        slopes = ()
    wrong, most = {}, of_gradients(case)
    for name in trained:
        size = _off_slopes(slopes, told[name])
        if size > most:
            wrong[name] = size
            how = "its gradients are not those of finite differences"
            yield replace(
                found[name], state=DIFFERS, sentence=how, deviation=size, against=reference, check=GRADIENTS
            )
    right = [name for name in trained if name not in wrong] or [*trained]
    against = usual({name: [apart(trained, numbers, name, other) for other in right] for name in right}, most)
    for name, one in told.items():
        if one.untrained and any(np.abs(values).max(initial=0.0) > NO_GRADIENT for values in numbers[against]):
            yield replace(
                found[name], state=RAISES, sentence=f"{WORDS[GRADIENTS][0]}: {one.untrained}", check=GRADIENTS
            )
        elif name in trained and name not in wrong and (size := apart(trained, numbers, name, against)) > most:
            yield replace(
                found[name],
                state=DIFFERS,
                sentence=_how(trained[name], trained[against], size),
                deviation=size,
                against=against,
                check=GRADIENTS,
            )


def _how(own: Sequence[Output], other: Sequence[Output], size: float) -> str:
    """How two backends' gradients differ, which are so far apart."""
    if [one.shape for one in own] != [one.shape for one in other]:
        return "weights of other shapes"
    return (
        "a step changes its weights otherwise"
        if math.isfinite(size)
        else "a step makes other weights NaN or infinite"
    )


def _off_slopes(slopes: Sequence[float | None], case: Case) -> float:
    """How far a backend's gradients are from these slopes along their directions, in the largest; 0 where unknown."""
    own = case.slopes or ()
    if len(own) != len(slopes):
        return 0.0
    pairs = [(one, other) for one, other in zip(own, slopes, strict=True) if other is not None]
    if any(one is None for one, _ in pairs):
        return math.inf
    largest = max([SMALL_GRADIENT, *(abs(other) for _, other in pairs)])
    return max((abs((one or 0.0) - other) for one, other in pairs), default=0.0) / largest


def apart(
    trained: Mapping[str, Sequence[Output]], numbers: Mapping[str, list[npt.NDArray[Any]]], name: str, other: str
) -> float:
    """How far two backends' gradients of a case are apart, in the largest of all of them."""
    if [one.shape for one in trained[name]] != [one.shape for one in trained[other]]:
        return math.inf
    own, others = (np.concatenate([one.ravel() for one in numbers[which]]) for which in (name, other))
    if not np.array_equal(np.isfinite(own), np.isfinite(others)):
        return math.inf
    finite = np.isfinite(own)
    largest = max(SMALL_GRADIENT, float(np.abs(others[finite]).max(initial=0.0)))
    return float(np.abs(own[finite] - others[finite]).max(initial=0.0)) / largest


def of_changes(own: npt.NDArray[Any], right: npt.NDArray[Any]) -> float:
    """How far changes of weights are apart, each step's in a row below the weights that they began with, of finite
    numbers: of each change, beyond what a weight of float32 can tell; see the guest.
    """
    off = np.abs(own - right) - ULPS * np.abs(np.cumsum(right, 0))
    largest = np.abs(right).max(axis=tuple(range(1, right.ndim)), keepdims=True, initial=0.0)
    return float(np.max(off / np.maximum(np.maximum(np.abs(right), FLOOR * largest), 1e-30), initial=0.0))


def usual(sizes: Mapping[str, Sequence[float]], most: float) -> str:
    """The backend that most agree with, or else are nearest to; of two the first. sizes: how far it is from each,
    itself too.
    """
    if len(sizes) == 2:
        return next(iter(sizes))

    def how_near(name: str) -> tuple[int, float]:
        found = sorted(sizes[name])
        return -sum(size <= most for size in found), found[len(found) // 2]

    return min(sizes, key=how_near)


def numbers_of(output: Output) -> npt.NDArray[Any]:
    with np.errstate(invalid="ignore"):  # NaN of any kind
        found = np.frombuffer(base64.b64decode(output.numbers), "<f4").astype(np.float64)
    return found[0::2] + 1j * found[1::2] if output.kind == "c" else found
