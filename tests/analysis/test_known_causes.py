"""Where the cause of a difference is, as far as outputs and backends' files tell."""

from __future__ import annotations

from typing import Any

from fake_runs import cell, in_words, measured

from kbench.analysis.sameness import fingerprints
from kbench.records.values import Measured


def one(backend: str, **facts: Any) -> Measured:
    told = {"parameters": 1, "weights": "seeded", "probe": [[0.25, 0.75], [0.5, 0.5]], **facts}
    return measured(cell(backend=backend), 2.0, 1.0, 1.0, facts=told)


def said(*cells: Measured) -> list[str]:
    return [text for found in in_words(fingerprints.differences(cells)).values() for text in found]


def test_of_another_loss_with_the_same_outputs_the_cause_is_said() -> None:
    step: dict[str, Any] = {"loss": 2.5, "loss_rounding": 1e-7, "changes": []}
    of_loss = "unlike a/x in the loss of the first batch: 2.600 instead of 2.500"
    first = one("a/x", first_step=step)
    other: dict[str, Any] = {"first_step": {**step, "loss": 2.6}}
    agree = "; outputs agree, so the cause is the loss or a layer's training mode"
    assert said(first, one("b/z", **other)) == [of_loss + agree]
    assert said(first, one("b/z", probe=None, **other)) == [of_loss]
    unclipped: dict[str, Any] = {"what": ["loss", "rising loss"], "bound": 0.01, "reason": "It does not clip."}
    named = ". A known difference may be why: It does not clip"
    assert said(first, one("b/z", explained=[unclipped], **other)) == [of_loss + agree + named]
    (smaller,) = said(first, one("b/z", explained=[unclipped], first_step={**step, "loss": 2.4}))
    assert smaller.endswith(agree), "what is not clipped is not smaller"


def test_of_other_outputs_a_declared_fault_is_named() -> None:
    fault = {
        "what": ["outputs"],
        "bound": 2.0,
        "fault": True,
        "setting": "uneven padding",
        "reason": "It pads both ends.",
    }
    pooled: dict[str, Any] = {"layers": [["MaxPooling2D", {"padding": "same", "pool_size": [2, 2]}, []]]}
    off: dict[str, Any] = {"probe": [[0.25, 0.70], [0.5, 0.5]], "explained": [fault]}
    (sentence,) = said(one("a/x", **pooled), one("b/z", **pooled, **off))
    assert sentence.endswith(" is allowed). A known difference may be why: It pads both ends")
    assert "known" not in said(one("a/x"), one("b/z", **off))[0], "no layer pads unevenly"
