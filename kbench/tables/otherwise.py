"""Sentences on calls of a script that return something else on one backend, from the same weights and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbench.analysis.call_outputs import sentence
from kbench.analysis.call_sites import SEPARATOR
from kbench.epochs import Otherwise
from kbench.summary import Summary
from kbench.text import plain


def sentences(summaries: Iterable[Summary]) -> list[str]:
    """One for each backend, reference and cause; it names the lines where that shows, and the first difference."""
    found: dict[tuple[str, ...], list[tuple[str, Otherwise]]] = {}
    for row in summaries:
        if one := row.otherwise:
            program, _, line = row.example.partition(SEPARATOR)
            found.setdefault((program, row.backend, one.does, one.than, one.cause), []).append((line or program, one))
    return [plain(_sentence(key[1], lines)) for key, lines in found.items()]


def _sentence(backend: str, lines: Sequence[tuple[str, Otherwise]]) -> str:
    one = min((one for _, one in lines), key=lambda one: one.by.startswith("outputs"))  # a score says more
    return sentence(backend, one, "; ".join(dict.fromkeys(line for line, _ in lines)))
