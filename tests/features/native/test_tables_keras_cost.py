"""What Keras costs as a table: a row for each framework that was measured with and without it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fake_runs import cell, known, measured

from kbench.analysis.summaries import summarise
from kbench.features.native import comparison
from kbench.features.native import table as keras_cost
from kbench.records.values import Measured
from kbench.summary import Summary

BACKENDS = {name: {"framework": "x"} for name in ("keras8/x", "keras9/x", "native/x")}
FACTS = {"layers": [["Dense", {}, [[2, 2]]]], "parameters": 4, "weights": "seeded", "weights_sha256": "aa"}


def one(backend: str, *seconds: float, example: str = "small", **phases: float) -> Measured:
    return replace(measured(cell(example=example, backend=backend), *seconds, facts=FACTS), phases=phases)


def rows(*cells: Measured) -> list[Summary]:
    return summarise(cells, backends=BACKENDS)


def test_a_framework_with_and_without_keras_is_a_row() -> None:
    with_keras: dict[str, Any] = {"import": 2.0, "build": 1.0, "first_step": 5.0}
    alone: dict[str, Any] = {"import": 0.5, "build": 0.25, "first_step": 1.0}
    keras = one("keras9/x", 9.0, 3.0, 3.0, 3.0, **with_keras)
    native = one("native/x", 9.0, 1.0, 1.0, 1.0, **alone)
    table = keras_cost.table(rows(keras, native, one("keras9/y", 9.0, 1.0, 1.0)))
    assert table is not None
    (row,) = table.rows
    shown = dict(zip(table.columns, row, strict=True))
    assert (shown["example"], shown["backend"], shown["without Keras"]) == ("small", "keras9/x", "native/x")
    assert (shown["s/epoch"], shown["s/epoch without"], shown["x native"]) == ("3.00", "1.00", "3.00 (2.70-3.33)")
    assert (shown["extra first step (s)"], shown["extra before it (s)"]) == ("+4.00", "+2.25")


def test_where_other_programs_used_the_processor_no_extra_is_told_in_numbers() -> None:
    def busy(one: Measured) -> Measured:
        return replace(one, outcome=replace(one.outcome, others=0.9))

    keras, native = (one(name, 9.0, 3.0, 3.1, first_step=2.0) for name in ("keras9/x", "native/x"))
    table = keras_cost.table(rows(busy(keras), busy(native)))
    assert table is not None
    shown = dict(zip(table.columns, table.rows[0], strict=True))
    assert (shown["x native"], shown["extra first step (s)"], shown["extra before it (s)"]) == ("?", "?", "-")
    assert table.remarks[-1] == "?: could not be compared."


def test_two_generations_of_keras_are_compared_with_the_same_row() -> None:
    found = rows(one("keras8/x", 9.0, 4.0, 4.0), one("keras9/x", 9.0, 3.0, 3.0), one("native/x", 9.0, 2.0, 2.0))
    assert {row.backend: comparison.ratio(row) for row in found} == {
        "keras8/x": 2.0,
        "keras9/x": 1.5,
        "native/x": None,
    }


def test_a_native_row_that_differs_is_compared_with_none() -> None:
    other = one("native/x", 9.0, 2.0, 2.0)
    other = replace(other, facts=known(**{**FACTS, "parameters": 5}))
    found = rows(one("keras8/x", 9.0, 4.0, 4.0), one("keras9/x", 9.0, 3.0, 3.0), other)
    assert keras_cost.table(found) is None


def test_of_several_native_rows_that_of_the_same_version_and_then_of_the_same_name_is_taken() -> None:
    def plan(**frameworks: str) -> dict[str, dict[str, object]]:
        return {name: {"framework": framework} for name, framework in frameworks.items()}

    known = plan(
        **{"keras9/x": "x", "keras9/x@2": "x", "native/a": "x", "native/x": "x", "native/x@2": "x", "native/y": "y"}
    )
    assert comparison.twins(known) == {"keras9/x": "native/x", "keras9/x@2": "native/x@2"}
    assert comparison.twins(plan(**{"keras9/z": "z", "native/a": "z", "native/b": "z"})) == {"keras9/z": "native/a"}
    assert comparison.twins({"keras9/x": {}}) == {}
