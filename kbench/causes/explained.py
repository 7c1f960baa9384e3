"""A run's analysis with what is told of why its rows differ, each part made once for all that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kbench.analysis.rows import Analysis
from kbench.analysis.times import machine_stability
from kbench.analysis.times.layer_costs import Costs
from kbench.axes import RowKey
from kbench.causes import compared_lines, of_layers, of_rows, traces
from kbench.summary import Summary
from kbench.tables.content import Table


@dataclass(frozen=True, eq=False)
class Explained(Analysis):
    """A run, all that follows from its measurements, and why its rows differ."""

    @cached_property
    def asked(self) -> Sequence[str]:
        """The answer to --compare-lines; empty where that was not asked for."""
        return compared_lines.sentences(self)

    @cached_property
    def causes(self) -> Sequence[str]:
        """Why rows differ, row by row."""
        return of_rows.sentences(self, *self.inside)

    @cached_property
    def remarks(self) -> Sequence[str]:
        """That answer, why rows differ, and sentences on the machine during the run."""
        machine = machine_stability.remarks(self.run.measured, self.run.provenance)
        return [*self.asked, *self.causes, *machine]

    @cached_property
    def tables(self) -> Sequence[Table]:
        """What steps are made of, and what traces show."""
        return [*of_layers.tables(*self.inside), *traces.tables(self)]

    @cached_property
    def inside(self) -> tuple[list[Summary], dict[RowKey, Costs]]:
        """What the steps of rows that train are made of, as far as it was timed."""
        return of_rows.inside(self)
