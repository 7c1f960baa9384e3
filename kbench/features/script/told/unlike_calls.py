"""Sentences on calls of a script that train otherwise on one backend, or return something else from the same weights
and inputs, or of which evaluate contradicts the fit before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbench.features.script.lines.finding_kinds import OF_OUTPUTS, OTHER_CALL
from kbench.features.script.lines.line_details import details
from kbench.features.script.told.finding_sentences import call, ends
from kbench.records.findings import Finding
from kbench.summary import Summary
from kbench.words.text import listed, plain


def sentences(summaries: Sequence[Summary]) -> list[str]:
    """One for each backend, reference and cause; it names the lines where that shows, and the first difference."""
    found: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for row in summaries:
        if one := row.has(OTHER_CALL):
            program, line = row.program, row.site
            key = program, row.backend, one.about["does"], one.reference, one.explanation
            found.setdefault(key, []).append((line or program, one))
    returned = [_sentence(lines) for lines in found.values()]
    return [plain(text) for text in (*_of_training(summaries), *returned, *_of_scores(summaries))]


def _of_training(summaries: Iterable[Summary]) -> list[str]:
    """One for each backend and difference; it names the lines."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in summaries:
        program, line = row.program, row.site
        for how in ends(row.findings, row.backend) if row.work.trains else ():
            found.setdefault((program, row.backend, how), []).append(line or program)
    return [f"On {backend}, {_lines([*dict.fromkeys(lines)])} {how}." for (_, backend, how), lines in found.items()]


def _sentence(lines: Sequence[tuple[str, Finding]]) -> str:
    one = min((one for _, one in lines), key=lambda one: one.aspect in OF_OUTPUTS)  # a score says more
    return call(one, "; ".join(dict.fromkeys(line for line, _ in lines)))


def _of_scores(summaries: Iterable[Summary]) -> list[str]:
    """That evaluate gives another accuracy than the fit before it: one for all backends on which that is so."""
    found: dict[str, list[str]] = {}
    for row in summaries:
        if text := details(row).afterwards:
            found.setdefault(text, []).append(row.backend)
    return [f"On {listed(names)}, {text}." for text, names in found.items()]


def _lines(names: Sequence[str]) -> str:
    return f"{names[0]} (and {listed(names[1:])})" if len(names) > 1 else names[0]
