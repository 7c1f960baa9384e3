"""The list of runs: when, on what, what was measured, and what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kbench.records.values import BASELINE, FASTEST, OK
from kbench.summary import Summary
from kbench.words.text import MISSING, short_names

HEADS = ["name", "when", "machine", "backends", "examples", "verdicts"]
_MOST = 3  # names of a kind that are listed


def verdicts(rows: Sequence[Summary]) -> str:
    """Which backends were fastest of several, and how many rows have each other verdict or did not end ok."""
    compared = Counter((row.example, row.device) for row in rows if row.relative_to_fastest is not None)
    first = [row for row in rows if row.verdict == FASTEST and compared[row.example, row.device] > 1]
    names = short_names(row.backend for row in rows)
    fastest = Counter(names[row.backend] for row in first)
    parts = [f"fastest {_counted(fastest)}"] if fastest else []
    rest = Counter(row.verdict for row in rows if row.status == OK and row.verdict not in ("", FASTEST, BASELINE))
    rest += Counter(row.status for row in rows if row.status != OK)
    parts += [f"{number} {word.removesuffix(' shown')}" for word, number in rest.most_common()]
    return "; ".join(parts) or (MISSING if not rows else f"{sum(row.status == OK for row in rows)} ok")


def first_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({number})" if number > 1 else name for name, number in counts.most_common())
