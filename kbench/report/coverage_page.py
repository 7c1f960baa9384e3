"""coverage.html: every public name on every backend, as a matrix that one can search. It loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kbench.coverage.program import of_case
from kbench.coverage.values import BAD, STATES, NameResult
from kbench.tables import coverage as tables
from kbench.text import plain

_HERE = Path(__file__).resolve().parent
MOST_CASES = 5  # of a name on a backend that are shown


def page(name: str, rows: Sequence[NameResult], keras_backends: Mapping[str, str]) -> str:
    """The page of a run."""
    of_backends = tables.by_backend(rows)
    found: dict[str, dict[str, NameResult]] = {}
    for row in rows:
        found.setdefault(row.name, {})[row.backend] = row
    script = (_HERE / "coverage.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("coverage.html.j2").render(
        name=plain(name),
        headline=plain(tables.headline(rows)),
        backends=list(of_backends),
        states=[state for state in STATES if any(row.state == state for row in rows)],
        rows=[
            (one, [_cell(own.get(backend), keras_backends) for backend in of_backends]) for one, own in found.items()
        ],
        script=Markup(script),  # kbench's own
        script_hash=f"sha256-{digest}",
    )


def _cell(row: NameResult | None, keras_backends: Mapping[str, str]) -> dict[str, Any]:
    if row is None:  # a name of the other generation
        return {"state": "", "bad": []}
    bad = sorted((one for one in row.cases if one.state in BAD), key=lambda one: len(one.case.settings))
    shown = [
        {"words": tables.sentence(one), "program": of_case(one, keras_backends.get(one.backend, ""))}
        for one in bad[:MOST_CASES]
    ]
    return {"state": row.state, "bad": shown}
