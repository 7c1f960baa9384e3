"""A run's analysis with what is told of the whole run, each part made once for all that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kbench import hooks
from kbench.additions import ReferenceLine, Section, Told
from kbench.analysis.rows import Analysis
from kbench.analysis.times import machine_stability
from kbench.tables.answers import says_load
from kbench.tables.content import Table


@dataclass(frozen=True, eq=False)
class ToldRun(Analysis):
    """A run, all that follows from its measurements, and what features tell of it."""

    @cached_property
    def answers(self) -> Sequence[str]:
        """What features answer to what the user asked."""
        return [one for told in self.of_features for one in told.answers]

    @cached_property
    def of_features(self) -> Sequence[Told]:
        """What each feature tells."""
        return hooks.told(self)

    @cached_property
    def remarks(self) -> Sequence[str]:
        """These answers, what else features tell, and the sentence on the machine during the run."""
        told = (one for told in self.of_features for one in told.remarks)
        return [*self.answers, *told, *filter(None, [self.on_machine])]

    @cached_property
    def notes(self) -> Sequence[str]:
        """The remarks that no answer on the rows makes."""
        return [one for one in self.remarks if one != self.on_machine or not says_load(self.rows)]

    @cached_property
    def on_machine(self) -> str:
        """That other programs kept it busy; empty if they did not."""
        return machine_stability.remark(self.run.measured)

    @cached_property
    def tables(self) -> Sequence[Table]:
        """The tables of features."""
        return [one for told in self.of_features for one in told.tables]

    @cached_property
    def sections(self) -> Sequence[Section]:
        """Their sections of the pages."""
        return [one for told in self.of_features for one in told.sections]

    @cached_property
    def references(self) -> Mapping[str, ReferenceLine]:
        """Their lines in the plots of examples."""
        return {example: one for told in self.of_features for example, one in told.references.items()}
