"""findings.json: what was found out about a run's rows, for programs. docs/findings.csv describes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kbench.records import axes
from kbench.records.findings import Finding
from kbench.summary import Summary
from kbench.words.sentences import sentence
from kbench.words.text import as_json

SCHEMA = 1
_OF_ROW = ("example", "backend", "image_data_format", "device")
COLUMNS = (
    *(*_OF_ROW, "axes", "kind", "differs", "aspect", "reference"),
    *("own", "other", "about", "explanation", "sentence"),
)


def records(rows: Iterable[Summary]) -> list[dict[str, Any]]:
    """One object a finding, row after row; what several repeats have alike once."""
    return [_record(row, one) for row in rows for one in _each_once(row.findings)]


def findings_json(rows: Iterable[Summary]) -> str:
    """The file's text."""
    return f"{as_json({'schema': SCHEMA, 'findings': records(rows)})}\n"


def _each_once(several: Iterable[Finding]) -> list[Finding]:
    found: list[Finding] = []
    for one in several:  # some hold what has no hash
        found += [] if one in found else [one]
    return found


def _record(row: Summary, one: Finding) -> dict[str, Any]:
    of_row: dict[str, Any] = {name: getattr(row, name) for name in _OF_ROW}
    others = dict(row.key.named.without([*_OF_ROW, *axes.of_backends()]).values)
    made = {"differs": row.is_apart_by(one), "sentence": sentence(one)}
    return {name: {**vars(one), **of_row, "axes": others, **made}[name] for name in COLUMNS}
