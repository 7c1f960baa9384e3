"""What installing a backend costs: seconds, disk, packages, the Python and the compilers that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kbench.base import disk_usage
from kbench.environments import folders
from kbench.environments.packages import in_folder
from kbench.records.values import Environment


@dataclass(frozen=True)
class Cost:
    """Of an environment that kbench made."""

    recorded: folders.Recorded
    python: str  # "3.6"
    python_made: bool  # whether kbench made that Python


def of(environment: Environment) -> Cost | None:
    """As recorded when it was made; None for an environment of the user's."""
    folder = environment.folder
    marker = folders.finished(folder) if folder else None
    if folder is None or marker is None:
        return None
    made_here = folder.parent.parent / "interpreters" in Path(marker.interpreter).parents
    return Cost(marker.cost, folder.name.rpartition("-py")[2].partition("-")[0], made_here)


def recorded(folder: Path, seconds: float) -> folders.Recorded:
    """What is recorded of an environment that has taken so many seconds to make."""
    mib = disk_usage.size([folder])[0] / (1 << 20)
    return folders.Recorded(round(seconds, 1), round(mib, 1), len(in_folder(folder)))
