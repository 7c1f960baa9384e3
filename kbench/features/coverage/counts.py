"""How many layers, losses, ... frameworks offered when somebody counted: from results/published/figures.csv."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from kbench.base import paths


@dataclass(frozen=True)
class Count:
    """A source's count."""

    source: str
    year: str
    framework: str
    kind: str  # "layers", "losses", ...
    value: str


_COLUMNS = ("source", "year", "framework", "metric", "value")  # of the file


def read() -> list[Count]:
    """All counts in the file's order; none if it cannot be read: a page is worth having without."""
    file = paths.project_folder("results") / "published" / "figures.csv"
    try:
        with file.open(encoding="utf-8", newline="") as text:
            counted = [row for row in csv.DictReader(text) if row.get("unit") == "count"]
            return [Count(*(row[name] for name in _COLUMNS)) for row in counted]
    except (OSError, ValueError, KeyError, csv.Error):
        return []
