"""What installing a backend costs: seconds, disk, packages, the Python and the compilers that it takes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kbench.base import disk_usage
from kbench.environments import folders
from kbench.environments.packages import in_folder, packages
from kbench.records.values import Environment

MIB = 1 << 20


class Recorded(msgspec.Struct, frozen=True):
    """What the marker of an environment says; of one that an earlier kbench made, nothing."""

    seconds: float | None = None  # to make it, downloads included, without its Python
    mib: float | None = None  # when it was finished
    packages: int | None = None


@dataclass(frozen=True)
class Cost:
    """Of an environment that kbench made."""

    seconds: float | None  # to make it; None if that was not recorded
    mib: float  # on the disk, of which environments share files
    packages: int
    python: str  # "3.6"
    python_made: bool  # whether kbench made that Python


def of(environment: Environment) -> Cost | None:
    """As recorded when it was made, or else measured now; None for an environment of the user's."""
    folder = environment.folder
    details = folders.finished(folder) if folder else None
    if folder is None or details is None:
        return None
    known = Recorded()
    with contextlib.suppress(msgspec.ValidationError):
        known = msgspec.convert(details.get("cost", {}), Recorded)
    interpreters = folder.parent.parent / "interpreters"
    return Cost(
        seconds=known.seconds,
        mib=_mib(folder) if known.mib is None else known.mib,
        packages=len(packages(environment)) if known.packages is None else known.packages,
        python=folder.name.rpartition("-py")[2].partition("-")[0],
        python_made=interpreters in Path(details.get("interpreter", "")).parents,
    )


def recorded(folder: Path, seconds: float) -> dict[str, float]:
    """What the marker of an environment says that has taken so many seconds to make."""
    return {"seconds": round(seconds, 1), "mib": round(_mib(folder), 1), "packages": len(in_folder(folder))}


def _mib(folder: Path) -> float:
    """Without the packages that programs have added."""
    return disk_usage.size([folder], without=[folder / folders.ADDED])[0] / MIB
