"""Whether two versions return the same from the same weights and inputs: the calls of a program, the first outputs of
an example.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kbench.analysis.sameness import first_outputs
from kbench.features.script.lines.finding_kinds import OTHER_CALL
from kbench.features.script.lines.line_details import details
from kbench.features.script.lines.output_causes import INPUTS
from kbench.features.script.told.finding_sentences import call_apart
from kbench.records.findings import Finding
from kbench.records.values import Measured
from kbench.summary import Summary


@dataclass(frozen=True)
class OutputDifference:
    """What a line, or an example, returns otherwise."""

    line: str  # empty for an example
    off: float  # in the largest number; infinite if that says nothing, 0 if it returns the same
    how: str  # in words; empty if it returns the same

    @property
    def ratio(self) -> float:
        """In what is allowed, and 1 if that is enough."""
        return max(1.0, self.off / first_outputs.OF_SCALE) if self.how else 1.0


def largest(pairs: Iterable[tuple[Summary, Summary]], cells: Sequence[Measured]) -> OutputDifference | None:
    """The largest of the rows of one version and of the other; None if none could be compared."""
    found = [one for pair in pairs if (one := _of_pair(*pair, cells)) is not None]
    return max(found, key=lambda one: one.ratio, default=None)


def _of_pair(mine: Summary, its: Summary, cells: Sequence[Measured]) -> OutputDifference | None:
    for row in (mine, its):
        how = row.has(OTHER_CALL) or row.has("outputs")
        if how and how.about.get("does") != INPUTS:
            how = how if row is mine else replace(how, own=how.other or how.own, other=how.own)
            return OutputDifference(mine.site, _off(how), call_apart(how))
    known = {one.cell.backend for one in cells if not one.cell.site and first_outputs.of(one) is not None}
    agree = details(mine).outputs_apart is not None or (not mine.site and {mine.backend, its.backend} <= known)
    return OutputDifference(mine.site, 0.0, "") if agree else None


def _off(how: Finding) -> float:
    if how.aspect == "scores":
        return float(abs(how.own - how.other) / max(abs(how.own), abs(how.other)))
    return float(how.own) if how.aspect == "numbers" else math.inf
