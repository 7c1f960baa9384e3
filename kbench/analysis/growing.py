"""A run that is being measured: a cell is read once it has ended, and an example analysed again if it has more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbench import store
from kbench.analysis.rows import Analysis, ExampleAnalysis


class GrowingRun:
    """The run in a folder, to be analysed again and again while cells are added to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: store.ReadCells = {}
        self._examples: Mapping[str, ExampleAnalysis] = {}

    def now(self) -> Analysis:
        """Its analysis as the folder is now. Raises UserError if it cannot be read."""
        found = Analysis(store.read(self._folder, self._read), known=self._examples)
        self._examples = found.examples
        return found
