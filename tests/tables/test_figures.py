"""A figure that a guest reports is aggregated and shown by what its field says: no other code names it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from fake_runs import cell, measured

from kbench import summary as summaries
from kbench.analysis.summaries import summarise
from kbench.records.values import FAILED, Measured
from kbench.summary import Summary, figure
from kbench.tables import content, csv


@dataclass(frozen=True)
class Own(Summary):
    """With what copying a batch to the device takes, which backends report."""

    transfer_seconds: float | None = field(
        default=None, metadata=figure(title="copy", unit="ms", shown="speed", of="facts", aggregate="median")
    )


def processes(backend: str, *copies: float | None) -> list[Measured]:
    return [
        measured(cell(backend=backend, repeat=number), 9.0, 1.0, 1.0, facts={"transfer_seconds": seconds})
        for number, seconds in enumerate(copies, 1)
    ]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summaries, "Summary", Own)


@pytest.mark.usefixtures("own")
def test_a_figure_that_a_guest_reports_is_a_column_by_its_field_alone() -> None:
    rows = summarise([*processes("a/x", 0.002, 0.003, 0.004), *processes("a/y", None)])
    (table,) = content.tables(rows)
    place = table.columns.index("copy (ms)")
    assert {row[0]: row[place] for row in table.rows} == {"a/x": "3.00", "a/y": "-"}
    known = csv.summary_columns(rows, ["backend", "transfer_seconds"])
    assert known == {"backend": ["a/x", "a/y"], "transfer_seconds": [0.003, None]}


@pytest.mark.usefixtures("own")
def test_a_figure_that_no_row_has_is_not_in_tables() -> None:
    failed = measured(cell(), status=FAILED, facts={"transfer_seconds": 0.002})
    rows = summarise([*processes("a/x", None), failed])
    (table,) = content.tables(rows)
    assert "copy (ms)" not in table.columns, "a process that failed is in no figure"


def test_no_two_figures_have_the_same_heading_or_column() -> None:
    told = summaries.figures().values()
    for names in (
        [heading for one in told for heading in one.headings],
        [(one.column, one.shape) for one in told if one.column],
    ):
        assert len({*names}) == len(names)
