"""The public name of Keras that is at fault is said where another backend runs the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_runs import cell, fake_run, measured

from kbench import hooks
from kbench.features.script.events import Raised
from kbench.features.script.told import at_fault
from kbench.records.values import FAILED, OK, Measured
from kbench.store import RunResults, read

POOL = Raised("ops.average_pool", "", "ValueError: no such window.", ("inputs float32 (2, 7, 3)",))
SAID = (
    "On keras3/jax `ops.average_pool` raises ValueError: no such window (given inputs float32 (2, 7, 3)): "
    "`python run.py coverage --backends keras3/jax --only ops.average_pool`."
)


def of(backend: str, raised: Raised | None = None, example: str = "mine.py") -> Measured:
    facts: dict[str, Any] = {"of": {"raised": {"": raised}} if raised else {}}
    return measured(cell(example, backend), status=FAILED if raised else OK, facts=facts)


@pytest.fixture
def run(tmp_path: Any) -> RunResults:
    return read(fake_run(tmp_path, []))


def said(run: RunResults, *cells: Measured) -> list[str]:
    return at_fault.sentences(replace(run, measured=cells))


def test_it_is_named_with_the_command_that_tries_it(run: RunResults) -> None:
    assert said(run, of("keras3/jax", POOL), of("keras3/torch")) == [SAID]
    repeated = of("keras3/jax", POOL)
    assert said(run, repeated, repeated, of("keras3/torch")) == [SAID]


def test_the_layer_around_it_is_tried_too(run: RunResults) -> None:
    within = Raised("ops.average_pool", "layers.AveragePooling1D", "ValueError", ())
    (sentence,) = said(run, of("keras3/jax", within), of("keras3/openvino", within), of("keras3/torch"))
    assert sentence == (
        "On keras3/jax and keras3/openvino `ops.average_pool` within `layers.AveragePooling1D` raises ValueError: "
        "`python run.py coverage --backends keras3/jax,keras3/openvino --only ops.average_pool,"
        "layers.AveragePooling1D`."
    )


def test_what_raises_everywhere_may_be_the_programs_own_fault(run: RunResults) -> None:
    assert said(run, of("keras3/jax", POOL)) == []
    assert said(run, of("keras3/jax", POOL), of("keras3/torch", POOL)) == []
    assert said(run, of("keras3/jax", POOL), of("keras3/torch", example="another.py")) == []


def test_lack_of_memory_is_no_fault_of_a_name(run: RunResults) -> None:
    failed = of("keras3/jax", POOL)
    failed = replace(failed, outcome=replace(failed.outcome, out_of_memory=True))
    assert said(run, failed, of("keras3/torch")) == []


def test_without_the_command_the_name_is_said_alone(run: RunResults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "commands", dict)
    assert said(run, of("keras3/jax", POOL), of("keras3/torch")) == [f"{SAID.partition(': `')[0]}."]
