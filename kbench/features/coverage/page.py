"""coverage.html: every public name on every backend, as a matrix that one can search. It loads nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from kbench.features.coverage import counts, tables
from kbench.features.coverage.program import of_case
from kbench.features.coverage.values import BAD, STATES, UNTRIED, NameResult
from kbench.report import templates
from kbench.words.text import plain

_FOLDER = Path(__file__).parent
MOST_CASES = 5  # of a name on a backend that are shown


@dataclass(frozen=True)
class About:
    """What the page says beside the names."""

    name: str
    machine: str = ""
    left: int = 0  # cases that were not tried
    compared: Sequence[str] = ()  # what changed between versions, in sentences
    docs: str = ""  # where known differences are described, from the page; empty if they are not beside it


def page(about: About, rows: Sequence[NameResult], keras_backends: Mapping[str, str]) -> str:
    """The page of a run."""
    published = counts.read()
    of_backends = tables.by_backend(rows)
    found: dict[str, dict[str, NameResult]] = {}
    for row in rows:
        found.setdefault(row.name, {})[row.backend] = row
    scripts = [templates.script("copy.js"), templates.script("coverage.js", _FOLDER)]
    files = (templates.FOLDER / "page.css", _FOLDER / "coverage.css")
    css = "".join(file.read_text(encoding="utf-8") for file in files)
    return templates.template("coverage.html.j2", _FOLDER).render(
        name=about.name,
        about=about.machine,
        left=f"{about.left:,}" if about.left else "",
        compared=about.compared,
        docs=about.docs,
        css=Markup(css),
        answers=[_answer(backend, own) for backend, own in of_backends.items()],
        kinds=tables.by_kind(rows, published),
        counted_by="; ".join(dict.fromkeys(one.source for one in published)),
        backends=list(of_backends),
        bad=any(row.state in BAD for row in rows),
        states=[state for state in STATES if any(row.state == state for row in rows)],
        rows=[
            {
                "name": one,
                "shown": breakable(one),
                "cells": [_cell(f"c{at}-{n}", own.get(of), keras_backends) for n, of in enumerate(of_backends)],
            }
            for at, (one, own) in enumerate(found.items())
        ],
        scripts=scripts,
        policy=templates.policy(scripts),
    )


def breakable(name: str) -> Markup:
    """The name, which a narrow page breaks between its words."""
    return Markup(re.sub(r"(?<=[a-z0-9.])(?=[A-Z])|(?<=[._])", "<wbr>", str(escape(plain(name)))))


def _answer(backend: str, rows: Sequence[NameResult]) -> dict[str, Any]:
    counted = Counter(row.state for row in rows)
    counts = [(state, counted[state]) for state in (*BAD, UNTRIED) if counted[state]]
    return {"backend": backend, "sentence": tables.works(backend, rows), "counts": counts}


def _cell(number: str, row: NameResult | None, keras_backends: Mapping[str, str]) -> dict[str, Any]:
    if row is None:  # a name of the other generation
        return {"state": "", "shown": []}
    bad = sorted(
        (one for one in row.cases if one.state in BAD),
        key=lambda one: (one.state != row.state, len(one.case.settings)),
    )
    shown = [
        {
            "words": tables.sentence(one, known=False),
            "known": one.known,
            "program": Markup(escape(of_case(one, keras_backends.get(one.backend, "")))),
        }
        for one in bad[:MOST_CASES]
    ]
    more = max(0, len(bad) - MOST_CASES)
    return {"id": number, "state": row.state, "backend": row.backend, "shown": shown, "more": more}
