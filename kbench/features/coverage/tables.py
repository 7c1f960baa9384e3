"""Tables of a coverage run: how many public names work on each backend, and the worst of those that do not."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kbench.features.coverage.counts import Count
from kbench.features.coverage.program import in_words, of_case
from kbench.features.coverage.values import (
    ABSENT,
    BAD,
    CRASHES,
    DIFFERS,
    GOOD,
    HANGS,
    NOT_RUN,
    RAISES,
    UNTRIED,
    WORKS,
    CaseResult,
    NameResult,
)
from kbench.tables.content import Table
from kbench.tables.csv import records_csv
from kbench.words.text import MISSING, plain, significant

LISTED = 10  # of the worst on the screen
KNOWN_DIFFERENCES = "docs/parity.md"


_SEVERAL = {DIFFERS: "differ", RAISES: "raise", CRASHES: "crash", HANGS: "hang", ABSENT: "absent"}


def headline(rows: Sequence[NameResult]) -> str:
    """How many names do what they should, in a sentence for each backend."""
    return " ".join(_of_backend(backend, own) for backend, own in by_backend(rows).items())


def by_backend(rows: Sequence[NameResult]) -> dict[str, list[NameResult]]:
    found: dict[str, list[NameResult]] = {}
    for row in rows:
        found.setdefault(row.backend, []).append(row)
    return found


def _of_backend(backend: str, rows: Sequence[NameResult]) -> str:
    counted = Counter(row.state for row in rows)
    others = [f"{counted[WORKS]} compared with nothing"] if counted[WORKS] else []
    others += [
        f"{counted[state]} {several if counted[state] > 1 else state}"
        for state, several in _SEVERAL.items()
        if counted[state]
    ]
    start = works(backend, rows)
    return start if counted[NOT_RUN] == len(rows) else f"{start.rstrip('.')}{_and(others)}."


def works(backend: str, rows: Sequence[NameResult]) -> str:
    """How many names work on the backend, of those that were tried."""
    good, tried = _counts(rows)
    if not tried and any(row.state == NOT_RUN for row in rows):
        return f"{backend} was not run."
    return f"{backend}: {good:,} of {tried:,} names work."


def _counts(rows: Sequence[NameResult]) -> tuple[int, int]:
    return sum(row.state in GOOD for row in rows), sum(row.state not in (UNTRIED, NOT_RUN) for row in rows)


def by_kind(rows: Sequence[NameResult], published: Sequence[Count] = ()) -> Table:
    """How many layers, losses, ... work on each backend, of those tried; and published counts of frameworks' own."""
    offered = {(one.framework, one.year, one.kind): one.value for one in published}
    frameworks = dict.fromkeys((framework, year) for framework, year, _ in offered)
    of_backends = by_backend(rows)
    counted = [
        (kind, [_counts([row for row in own if kind_of(row.name) == kind]) for own in of_backends.values()])
        for kind in dict.fromkeys(kind_of(row.name) for row in rows)
    ]
    found = tuple(
        (
            kind,
            *(f"{good} of {tried}" if tried else MISSING for good, tried in each),
            *(offered.get((*one, kind), MISSING) for one in frameworks),
        )
        for kind, each in counted
    )
    columns = ("kind", *of_backends, *(f"{framework} in {year}" for framework, year in frameworks))
    return Table("", columns, found, frozenset({"kind"}))


def kind_of(name: str) -> str:
    """The module of a public name."""
    return name.partition(".")[0]


def _and(others: Sequence[str]) -> str:
    return f" ({', '.join(others)})" if others else ""


def worst(rows: Sequence[NameResult]) -> list[CaseResult]:
    """Of each name and backend that is not right the worst: first what ends a process, then what differs most.

    What is known, and what is on unusual inputs, comes behind.
    """
    found = [one for row in rows if row.state in BAD and (one := row.worst)]

    def order(one: CaseResult) -> tuple[int, bool, bool, float, str]:
        return BAD.index(one.state), bool(one.known), not one.case.is_usual, -(one.deviation or 0.0), one.case.name

    return sorted(found, key=order)


def text(rows: Sequence[NameResult], keras_backends: Mapping[str, str], width: int = 100) -> str:
    """The short answer for the screen."""
    found = worst(rows)
    parts = [textwrap.fill(plain(headline(rows)), width)]
    lines = [textwrap.fill(f"- {sentence(one)}", width, subsequent_indent="  ") for one in found[:LISTED]]
    if lines:
        more = f" ({LISTED} of {len(found)}; all in coverage.csv)" if len(found) > LISTED else ""
        parts.append("\n".join([f"The worst{more}:", *lines]))
    if one := next((one for one in found if one.state == DIFFERS), None):
        program = textwrap.indent(of_case(one, keras_backends.get(one.backend, "")), "    ")
        parts.append(f"The smallest program of the first that differs, on {one.backend}:\n\n{program.rstrip()}")
    return "\n\n".join(parts)


def sentence(one: CaseResult, known: bool = True) -> str:
    """What came of a case, in one line; `known`: with what is declared of it."""
    why = f" A known difference may be why ({KNOWN_DIFFERENCES}): {one.known}." if one.known and known else ""
    return plain(f"{one.backend}: {in_words(one.case)} {one.state}{_how(one)}{'.' * bool(one.known)}{why}")


def _how(one: CaseResult) -> str:
    if one.state != DIFFERS:
        return f": {one.sentence}" if one.sentence else ""
    how = one.sentence or f"by {significant(one.deviation or 0.0)}"
    return f" from {one.against}: {how}" if one.against else f": {how}"


def records(rows: Sequence[NameResult], keras_backends: Mapping[str, str]) -> list[dict[str, Any]]:
    """One object a case; of a name without cases, one with its state."""
    found: list[dict[str, Any]] = []
    for row in rows:
        base = {"name": row.name, "backend": row.backend}
        for one in row.cases:
            bad = one.state in BAD
            program = of_case(one, keras_backends.get(one.backend, "")) if bad else ""
            found.append({
                **base, "settings": in_words(one.case), "inputs": one.inputs, "state": one.state,
                "deviation": one.deviation, "against": one.against, "sentence": one.sentence, "known": one.known,
                "program": program,
            })  # fmt: skip
        if not row.cases:
            empty = dict.fromkeys(("settings", "inputs"), "")
            last = {"deviation": None, "against": "", "sentence": "", "known": "", "program": ""}
            found.append({**base, **empty, "state": row.state, **last})
    return found


def csv(rows: Sequence[NameResult], keras_backends: Mapping[str, str]) -> str:
    """The same as CSV."""
    return records_csv(records(rows, keras_backends))
