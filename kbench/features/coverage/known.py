"""What backends' files declare of a case that differs: see `[[explained]]` in backends/README.md."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kbench.analysis.sameness.declared import WordsOfLayers, explains
from kbench.features.coverage import results
from kbench.features.coverage.events import Public
from kbench.features.coverage.events import public as public_names
from kbench.features.coverage.values import DIFFERS, GRADIENTS, OUTPUTS, CaseResult, NameResult, ProbeCase
from kbench.records.backend_keys import Explanation
from kbench.records.layer_words import words
from kbench.store.reading import RunResults

WHAT, STEPS = ("outputs", "layers"), ("1 step", "10 steps")


def names(run: RunResults) -> list[NameResult]:
    """What `results.names` finds; a case that differs has the known difference that may be why."""
    known = {one.cell.backend: one.facts.explained for one in run.measured}
    public = {one.cell.backend: of for one in run.measured if (of := public_names(one.facts))}
    return [
        replace(row, cases=tuple(replace(one, known=_why(one, known, public[row.backend])) for one in row.cases))
        if row.state == DIFFERS
        else row
        for row in results.names(run)
    ]


def _why(one: CaseResult, known: Mapping[str, Sequence[Explanation]], public: Mapping[str, Public]) -> str:
    """What is declared of one of the two backends and not of the other; empty if nothing is."""
    if one.state != DIFFERS or one.check not in (OUTPUTS, GRADIENTS):  # the others compare a backend with itself
        return ""
    own = {each.reason: None for each in known.get(one.backend, ()) if of_case(one, each, one.against, public)}
    others = {each.reason: None for each in known.get(one.against, ()) if of_case(one, each, one.backend, public)}
    reasons = [reason for reason in (*own, *others) if not (reason in own and reason in others)]
    return "; ".join(reason.rstrip(".") for reason in dict.fromkeys(reasons))


def of_case(one: CaseResult, known: Explanation, against: str, public: Mapping[str, Public]) -> bool:
    """Whether it is declared that the case may differ so, and by so much, from that backend. public: by name."""
    module, _, name = one.case.name.partition(".")
    layers = list(_layers(one.case, public))
    model = WordsOfLayers(words(layers), name if module == "optimizers" else "")
    wrapped = f"{name}({layers[1][0]})" if len(layers) > 1 else name
    layer = {"layers": wrapped, "optimizers": layers[0][0]}.get(module, "")
    what = STEPS if one.check == GRADIENTS or module == "optimizers" else WHAT
    size = 0.0 if one.deviation is None else one.deviation
    # A shape or a place of NaN is another one by no small formula.
    # An optimizer's changes are compared with themselves, and of a small one no bound is known.
    within = math.isfinite(size) and (module == "optimizers" or size <= max(known.bound, known.bound_of_change))
    # What holds of any model is about how it is trained, as a small one is not.
    of_something = any((known.layer, known.with_layer, known.setting, known.optimizer))
    # Which weight changed most is not told: it may be a moving average. Backends are tried as they ship.
    return within and of_something and explains(known, model, what, against, layer, trained=False, as_shipped=True)


def _layers(case: ProbeCase, public: Mapping[str, Public]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Class and settings of the layer, and of those that it wraps; of an optimizer those of what it trains."""

    def settings(name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        parameters = public[name].parameters if name in public else ()
        return {**{argument: default for argument, _, default in parameters}, **given}

    module, _, name = case.name.partition(".")
    trained = "Embedding" if case.inputs[0].startswith("repeated") else "Dense"
    yield (trained, {}) if module == "optimizers" else (name, settings(case.name, case.settings))
    for value in case.settings.values():
        for one in value if isinstance(value, list) else [value]:
            call = ast.parse(str(one["python"]), mode="eval").body if isinstance(one, Mapping) else None
            if isinstance(call, ast.Call) and (wrapped := ast.unparse(call.func)).startswith("keras.layers."):
                given = {
                    of.arg: of.value.value for of in call.keywords if isinstance(of.value, ast.Constant) and of.arg
                }
                yield wrapped.rpartition(".")[2], settings(wrapped.removeprefix("keras."), given)
