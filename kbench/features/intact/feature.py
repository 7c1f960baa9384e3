"""Says which files of an environment were changed, and has one that is damaged made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbench import hooks
from kbench.additions import EndedRun, Told

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis


@hooks.fills
def changed_files(folder: Path, thorough: bool) -> Sequence[str]:
    """By the RECORD of each package."""
    from kbench.features.intact import packages

    return packages.changed(folder, thorough)


@hooks.fills
def after_measuring(run: EndedRun) -> None:
    """Keep which files of its environments were changed."""
    from kbench.features.intact import runs

    runs.check(run)


@hooks.fills
def told(analysis: Analysis) -> Told:
    """The same in words."""
    from kbench.features.intact import runs

    return Told(remarks=runs.remarks(analysis.run.provenance))
