"""coverage.html: every public name on every backend, as a matrix that one can search. It loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from kbench.coverage.program import of_case
from kbench.coverage.values import BAD, STATES, NameResult
from kbench.report import templates
from kbench.tables import coverage as tables

MOST_CASES = 5  # of a name on a backend that are shown


def page(name: str, rows: Sequence[NameResult], keras_backends: Mapping[str, str]) -> str:
    """The page of a run."""
    of_backends = tables.by_backend(rows)
    found: dict[str, dict[str, NameResult]] = {}
    for row in rows:
        found.setdefault(row.name, {})[row.backend] = row
    scripts = [templates.script("coverage.js")]
    return templates.template("coverage.html.j2").render(
        name=name,
        headline=tables.headline(rows),
        backends=list(of_backends),
        states=[state for state in STATES if any(row.state == state for row in rows)],
        rows=[
            (one, [_cell(own.get(backend), keras_backends) for backend in of_backends]) for one, own in found.items()
        ],
        scripts=scripts,
        policy=templates.policy(scripts),
    )


def _cell(row: NameResult | None, keras_backends: Mapping[str, str]) -> dict[str, Any]:
    if row is None:  # a name of the other generation
        return {"state": "", "bad": []}
    bad = sorted((one for one in row.cases if one.state in BAD), key=lambda one: len(one.case.settings))
    shown = [
        {"words": tables.sentence(one), "program": Markup(escape(of_case(one, keras_backends.get(one.backend, ""))))}
        for one in bad[:MOST_CASES]
    ]
    return {"state": row.state, "bad": shown}
