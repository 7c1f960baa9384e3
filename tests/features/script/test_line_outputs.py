"""Lines of one program that return the same from the same weights and inputs are found, and no others."""

from __future__ import annotations

from typing import Any

import fake_runs
import pytest
from msgspec import convert

from kbench.analysis.summaries import summarise
from kbench.features.script.events import OfLine, Returned
from kbench.features.script.lines import line_outputs
from kbench.features.script.lines.line_details import LikeLine, details
from kbench.records.values import Measured

TOLD: dict[str, Any] = {
    "weights": [{"layer": "Dense 1", "weight": "kernel", "sha256": "aa", "shared": "aa"}],
    "inputs": {"outputs": [[0.5, 0.25]], "norms": [2.0]},
    "outputs": [[0.3, -0.5]],
    "scales": [0.5],
    "random": 0,
}
SCORED = {**TOLD, "outputs": [], "scales": [], "scores": {"loss": 0.25}}


def line(where: str, backend: str = "a/x", **told: Any) -> Measured:
    return fake_runs.measured(
        fake_runs.cell(f"train.py: {where}", backend), 1.0, 1.0, facts={"of_kind": OfLine(convert(told, Returned))}
    )


def found(*lines: Measured) -> list[LikeLine | None]:
    rows = {row.key: row for row in line_outputs.add_notes(summarise(list(lines)), lines)}
    return [details(rows[one.cell.key]).like_line for one in lines]


def test_each_line_is_told_of_the_first_that_returned_the_same() -> None:
    first, nearly = line("predict, line 8", **TOLD), {**TOLD, "outputs": [[0.3 + 5e-8, -0.5]]}
    second, third = line("predict, line 9", **nearly), line("predict, line 12", **TOLD)
    one, two, three = found(first, second, third)
    assert one is None and three == LikeLine("predict, line 8", 0.0)
    assert two is not None and two.line == "predict, line 8" and two.apart == pytest.approx(1e-7)


def test_scores_are_compared_where_there_are_no_outputs() -> None:
    first, second = line("evaluate, line 8", **SCORED), line("evaluate, line 9", **SCORED)
    assert found(first, second) == [None, LikeLine("evaluate, line 8")]


@pytest.mark.parametrize(
    "other",
    [
        line("predict, line 9", backend="a/y", **TOLD),
        line("predict, line 9", **{**TOLD, "random": 1}),
        line("predict, line 9", **{**TOLD, "outputs": [[0.3, -0.4]]}),
        line("predict, line 9", **{**TOLD, "inputs": {"outputs": [[0.5, 0.3]], "norms": [2.0]}}),
        line("predict, line 9", **{**TOLD, "weights": []}),
        line("evaluate, line 9", **SCORED),
        line("evaluate, line 9"),
    ],
)
def test_what_differs_or_is_not_known_is_not_told(other: Measured) -> None:
    assert found(line("predict, line 8", **TOLD), other) == [None, None]


def test_other_scores_are_other_scores() -> None:
    other = line("evaluate, line 9", **{**SCORED, "scores": {"loss": 0.3}})
    assert found(line("evaluate, line 8", **SCORED), other) == [None, None]
