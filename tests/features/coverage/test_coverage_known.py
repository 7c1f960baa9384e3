"""What backends' files declare is found again by coverage, and excuses nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kbench.base import paths
from kbench.features.coverage import cases, known
from kbench.features.coverage.events import Public
from kbench.features.coverage.values import DIFFERS, GRADIENTS, OUTPUTS, CaseResult, ProbeCase
from kbench.records.backend_keys import Explanation
from kbench.selection import backends

DECLARED = {
    name: backend.explained
    for name, backend in backends.load_all(paths.project_folder("backends")).items()
    if backend.explained
}
# What coverage does not compute, by a word of the reason.
UNSEEN = {
    "crossentropy from the logits": "no model ends with a softmax and a crossentropy",
    "leaves out one batch": "no fit of several batches",
    "TokenAndPositionEmbedding": "it is no layer of Keras",
    "relu is set": "no layer with weights is set to it",
    "kernels are flipped": "weights are carried over by kbench, which converts them",
    "stateful recurrent": "stateful is not tried",
    "As it ships, it": "updates are ordered",
    "weighted loss": "no case has weights of samples",
}


def differs(name: str, settings: Mapping[str, Any], check: str = OUTPUTS, deviation: float = 0.001) -> CaseResult:
    case = ProbeCase(0, name, settings, ("image",))
    return CaseResult(case, "keras2/own", DIFFERS, "", deviation, "keras3/other", "image", check)


def public() -> dict[str, Public]:
    """Some names of Keras, with what matters of their parameters."""
    window = (("filters", 1, None), ("kernel_size", 1, None), ("strides", 0, 1), ("padding", 0, "valid"))
    pool = (("pool_size", 0, 2), ("strides", 0, None), ("padding", 0, "valid"))
    cell = (("units", 1, None), ("recurrent_activation", 0, "sigmoid"), ("go_backwards", 0, False))
    found: dict[str, tuple[tuple[str, int, Any], ...]] = {
        f"layers.{name}": cell for name in ("LSTM", "GRU", "SimpleRNN")
    }
    found |= {"layers.Conv2D": window, "layers.MaxPooling2D": pool, "layers.GlobalMaxPooling1D": ()}
    found |= {"layers.BatchNormalization": (("axis", 0, -1),), "layers.Dense": (("units", 1, None),)}
    found |= {"optimizers.RMSprop": (("momentum", 0, 0.0),), "optimizers.Adam": (), "optimizers.Adadelta": ()}
    found |= {"optimizers.ScheduleFreeAdamW": ()}
    found |= {"layers.ReLU": ()}
    found |= {"activations.hard_sigmoid": (("x", 1, None),)}
    return {name: Public(name, parameters) for name, parameters in found.items()}


def seen(one: Explanation) -> list[str]:
    """The cases of these names that it explains, if they differ by little from a backend that it is about."""
    against = one.unlike[0] if one.unlike else "keras3/other"
    made = [(case, check) for case in cases.make(public()) for check in (OUTPUTS, GRADIENTS)]
    return [
        f"{case.name} {case.settings}: {check}"
        for case, check in made
        if known.of_case(replace(differs(case.name, case.settings, check), case=case), one, against, public())
    ]


@pytest.mark.parametrize("backend", DECLARED)
def test_every_declared_difference_is_found_but_those_that_coverage_does_not_compute(backend: str) -> None:
    for one in DECLARED[backend]:
        about = f"{one.reason} {one.layer} {one.with_layer} {one.setting} is set"
        if not any(word in about for word in UNSEEN):
            assert seen(one), f"{backend}: {one.reason}"
        else:
            assert not seen(one), f"{backend}: {one.reason}"


def reasons(backend: str, one: CaseResult) -> str:
    found = [each.reason for each in DECLARED[backend] if known.of_case(one, each, "keras2/theano", public())]
    return " ".join(found)


def test_a_layer_is_explained_by_what_is_declared_of_it_and_of_what_it_wraps() -> None:
    lstm = {"units": 3}
    assert "returns the cell state" in reasons("keras2/cntk", differs("layers.LSTM", lstm))
    wrapped = {"layer": {"python": "keras.layers.LSTM(3)"}}
    assert "returns the cell state" in reasons("keras2/cntk", differs("layers.Bidirectional", wrapped))
    assert reasons("keras2/cntk", differs("layers.GRU", lstm)) == ""
    assert "Its recurrent layers" in reasons("keras2/mxnet", differs("layers.GRU", lstm))
    normalized = differs("layers.BatchNormalization", {}, GRADIENTS)
    assert "always trains with epsilon 0.001" in reasons("keras2/cntk", normalized)
    assert "takes its gamma for 1" in reasons("keras2/mxnet", normalized)


def test_a_shape_or_a_larger_difference_than_declared_is_not_explained() -> None:
    assert reasons("keras2/cntk", differs("layers.LSTM", {"units": 3}, deviation=2.1)) == ""
    assert reasons("keras2/cntk", differs("layers.LSTM", {"units": 3}, deviation=float("inf"))) == ""
