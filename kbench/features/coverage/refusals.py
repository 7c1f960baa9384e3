"""Cases that are to be refused, as an argument or an input is wrong, and what came of them: a backend differs if it
gives numbers where Keras itself refuses on the reference, or on most backends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from kbench.features.coverage import inputs
from kbench.features.coverage.arguments import EXCLUSIVE, UNEQUAL, others
from kbench.features.coverage.events import Case, Public
from kbench.features.coverage.values import ABSENT, DIFFERS, NOT_RUN, RAISES, SAME, WORKS, CaseResult, ProbeCase

MOST = 3  # of a name
# Numbers of which there is one at least, and those between 0 and 1.
COUNTS = frozenset({
    "units", "filters", "kernel_size", "strides", "pool_size", "dilation_rate", "groups", "depth_multiplier", "n",
    "input_dim", "output_dim", "num_heads", "key_dim", "num_query_heads", "num_key_value_heads", "head_dim", "height",
    "width", "num_tokens", "num_bins", "num_classes", "num_thresholds", "block_size", "sequence_length", "fft_length",
    "sequence_stride", "gradient_accumulation_steps", "ema_overwrite_frequency", "initial_scale", "num_samples",
    "power_iterations", "num_ops", "top_k", "clipnorm", "clipvalue", "global_clipnorm",
})  # fmt: skip
SHARES = frozenset({
    "rate", "dropout", "recurrent_dropout", "momentum", "ema_momentum", "beta_1", "beta_2", "recall", "precision",
    "sensitivity", "specificity", "height_factor", "width_factor",
})  # fmt: skip
FREE = ("name", "dtype", "equation", "pattern", "standardize", "split", "encoding", "oov_token")  # any word is right
NO_AXIS = 7


def wrong(about: Public, plain: ProbeCase) -> list[ProbeCase]:
    """A few of a name, first one of each kind. plain: its first case."""
    if plain.code or plain.random:
        return []
    kinds = [[*make(about, plain)] for make in (_together, _words, _counts, _shapes, _shares)]
    found = [of[number] for number in range(MOST) for of in kinds if number < len(of)]
    return [replace(one, outputs_only=True, draws=False) for one in found[:MOST]]


def _with(plain: ProbeCase, settings: Mapping[str, Any]) -> ProbeCase:
    words = " and ".join(
        name if isinstance(value, Mapping) else f"{name}={value!r}" for name, value in settings.items()
    )
    return replace(plain, settings={**plain.settings, **settings}, wrong=words)


def _together(about: Public, plain: ProbeCase) -> Iterator[ProbeCase]:
    """Two of which one may be given."""
    defaults = {name: default for name, _, default in about.parameters}
    for group in EXCLUSIVE:
        given = [one for name in group if name in defaults for one in others(about.name, name, defaults[name])[:1]]
        if len(given) > 1:
            yield _with(plain, {**given[0], **given[1]})


def _words(about: Public, plain: ProbeCase) -> Iterator[ProbeCase]:
    """A word that nothing knows."""
    for name, _, default in about.parameters:
        if isinstance(plain.settings.get(name, default), str) and name not in FREE:
            yield _with(plain, {name: "unknown"})


def _counts(about: Public, plain: ProbeCase) -> Iterator[ProbeCase]:
    """0 and -1, in turn."""
    counted = [name for name, _, _ in about.parameters if name in COUNTS]
    for number, name in enumerate(counted):
        yield _with(plain, {name: (0, -1)[number % 2]})


def _shares(about: Public, plain: ProbeCase) -> Iterator[ProbeCase]:
    """More than all."""
    yield from (_with(plain, {name: 1.7}) for name, _, _ in about.parameters if name in SHARES)


def _shapes(about: Public, plain: ProbeCase) -> Iterator[ProbeCase]:
    """Tuples that are too long, inputs of another rank or of unequal lengths, and an axis that there is not."""
    names = {name for name, _, _ in about.parameters}
    axes = next((number for number in (1, 2, 3) if f"{number}D" in about.name), 0)
    for name in sorted(names & {*UNEQUAL}) if axes else ():
        yield _with(plain, {name: [2] * (axes + 2)})
        break
    is_layer, is_loss = (about.name.startswith(of) for of in ("layers.", ("losses.", "metrics.")))
    if is_loss or (is_layer and (plain.apart or not plain.settings)):
        yield replace(plain, inputs=(inputs.UNEQUAL_LENGTHS,), wrong="inputs of unequal lengths")
    elif is_layer or about.name.startswith("ops.image."):
        yield replace(plain, inputs=("vectors" if axes else inputs.ROW,), wrong="an input of another rank")
    if "axis" in names:
        yield _with(plain, {"axis": NO_AXIS})


class _Told(Protocol):
    """What a backend told; see `results`."""

    public: set[str]
    cases: dict[int, Case]
    ended: dict[int, tuple[str, str, str]]


def compared(own: Sequence[ProbeCase], told: Mapping[str, _Told], reference: str) -> Iterator[dict[str, CaseResult]]:
    """What came of the wrong cases of a name on each backend that takes its first one; reference: the end of the
    reference's name.
    """
    for case in own:
        if case.wrong:
            nothing = {
                name: CaseResult(case, name, NOT_RUN if case.name in one.public else ABSENT)
                for name, one in told.items()
            }
            yield nothing | {one.backend: one for one in _of_case(case, own[0], told, reference)}


def _of_case(case: ProbeCase, plain: ProbeCase, told: Mapping[str, _Told], reference: str) -> Iterator[CaseResult]:
    takes = {name: one for name, one in told.items() if plain.id in one.cases and one.cases[plain.id].inputs}
    tried = {name: one.cases[case.id] for name, one in takes.items() if case.id in one.cases}
    right = next((name for name in tried if name.endswith(reference)), "")
    usual = takes[right or next(iter(tried))].cases[plain.id].inputs if tried else ""
    given = str(usual) if case.inputs == plain.inputs else case.inputs[0]
    refused = {name: one.refused[given] for name, one in tried.items() if given in one.refused}
    by_keras = [name for name, one in tried.items() if given in one.validated]
    accepted = [name for name, one in tried.items() if one.inputs == given]
    is_wrong = right in by_keras if right else 2 * len(by_keras) > len(tried)
    is_right = right not in refused and len(accepted) > len(refused)
    for name, one in takes.items():
        result = CaseResult(case, name, SAME if len(tried) > 1 else WORKS, inputs=given)
        if case.id in one.ended:
            state, sentence, _ = one.ended[case.id]
            yield replace(result, state=state, sentence=sentence)
        elif name in accepted and is_wrong:
            where = "which is refused there" if right else "which the others refuse"
            why = refused[right or by_keras[0]]
            yield replace(result, state=DIFFERS, against=right, sentence=f"it accepts {case.wrong}, {where}: {why}")
        elif name in refused and is_right:
            yield replace(result, state=RAISES, sentence=refused[name])
        elif name in tried:
            yield result
