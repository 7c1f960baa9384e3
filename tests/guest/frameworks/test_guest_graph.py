"""The graph of a model's layers, read from the configurations of both generations of Keras."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from guest_modules import alone

graph = alone("frameworks/graph")


def keras_tensor(name: str) -> dict[str, Any]:
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, 4, 8], "keras_history": [name, 0, 0]}}


@pytest.mark.parametrize(
    "calls",
    [
        [{"args": [keras_tensor("in"), keras_tensor("in")], "kwargs": {"use_causal_mask": True, "training": None}}],
        [{"args": [keras_tensor("in")], "kwargs": {"value": keras_tensor("in"), "use_causal_mask": True}}],
        [[["in", 0, 0, {"value": ["in", 0, 0], "use_causal_mask": True, "training": None}]]],
    ],
    ids=["keras 3", "keras 3, by name", "keras 2"],
)
def test_a_layer_has_all_that_feeds_it_and_what_its_call_was_told(calls: Any) -> None:
    layers = [
        {"class_name": "InputLayer", "config": {"name": "in"}, "inbound_nodes": []},
        {"class_name": "MultiHeadAttention", "config": {"name": "attention"}, "inbound_nodes": calls},
    ]
    found = graph.nodes(SimpleNamespace(get_config=lambda: {"layers": layers}), False)["attention"]
    assert found.inbound == ["in", "in"]
    assert found.config["call"] == {"use_causal_mask": True}
