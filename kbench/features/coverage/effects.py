"""Arguments that change nothing: with each value that was tried, the outputs are those of the plain case."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from kbench.features.coverage.events import Case
from kbench.features.coverage.values import DIFFERS, GOOD, CaseResult, ProbeCase


def with_effects(rows: Sequence[CaseResult], told: Mapping[int, Case]) -> list[CaseResult]:
    """The results of a name on a backend, with a sentence where an argument changes nothing. told: by case."""
    plain: dict[Hashable, Case] = {}
    for row in rows:
        if not row.case.varies and row.case.id in told:  # the first is plain
            plain.setdefault(_given(row.case), told[row.case.id])
    changes: dict[str, bool] = {}
    for row in rows:
        one, other = told.get(row.case.id), plain.get(_given(row.case))
        if row.case.varies and one and other and one.outputs and one.inputs == other.inputs:
            changes[row.case.varies] = changes.get(row.case.varies, False) or one.outputs != other.outputs
    return [
        replace(row, sentence=f"{row.case.varies} changes nothing")
        if changes.get(row.case.varies) is False and not row.sentence and row.state in (*GOOD, DIFFERS)
        else row
        for row in rows
    ]


def _given(case: ProbeCase) -> Hashable:
    """All but the settings."""
    return case.inputs, case.masked, case.training, case.inference, case.dtype
