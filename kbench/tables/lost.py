"""Sentences on rows whose losses, scores, weights or outputs are no finite numbers: before all else, on all pages."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.records.values import OK
from kbench.summary import Summary
from kbench.words.sentences import is_not_finite
from kbench.words.text import listed, plain


def sentences(rows: Sequence[Summary]) -> list[str]:
    """One for each thing and the backends on which it is so; it names the examples, or the lines of a program."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}  # example -> backends
    for row in rows:
        if (how := row.has("not finite")) and not row.work.once:
            by_example = found.setdefault((how.aspect, is_not_finite(how)), {})
            by_example.setdefault(row.example, []).append(row.backend)
    said = []
    for (aspect, is_what), backends in found.items():
        together: dict[tuple[bool, str], list[str]] = {}
        for example, names in backends.items():
            together.setdefault((_has_rank(rows, example), listed(sorted(names))), []).append(example)
        for (ranked, where), examples in together.items():
            then = "not ranked" if ranked else "no time is ranked"
            said.append(plain(f"The {aspect} of {listed(examples)} {is_what} on {where}: {then}."))
    return said


def is_lost(row: Summary) -> bool:
    """Whether the row is one of those."""
    return row.has("not finite") is not None


def _has_rank(rows: Sequence[Summary], example: str) -> bool:
    return any(row.example == example and row.status == OK and not is_lost(row) for row in rows)
