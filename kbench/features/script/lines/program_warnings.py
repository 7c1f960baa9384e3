"""What a program is warned of on one backend and not on others, such as that its data ran out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kbench.features.script import events
from kbench.features.script.lines.finding_kinds import WARNED
from kbench.features.script.lines.units import RUN
from kbench.records.axes import Point, RowKey
from kbench.records.findings import Finding
from kbench.records.values import OK, Measured
from kbench.summary import Summary

LONGEST, MOST = 160, 5  # characters of a warning, and warnings of a row
_END = re.compile(r"(?<=[.;!?])\s|\n")  # of its first sentence, or of its first part
_CHANGES = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?")  # from process to process, and from backend to backend


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows of whole programs, with those warnings that not all backends of the program give."""
    groups: dict[Point, dict[RowKey, dict[str, str]]] = {}
    for one in measured:
        if one.facts.unit == RUN and one.outcome.status == OK:
            of_row = groups.setdefault(one.cell.key.work, {}).setdefault(one.cell.key, {})
            for warned in events.warnings(one.facts):
                text = _in_short(warned)
                of_row.setdefault(_CHANGES.sub("#", text), text)
    found: dict[RowKey, list[str]] = {}
    for group in groups.values():
        common = set.intersection(*({*of_row} for of_row in group.values()))
        for key, of_row in group.items():
            found[key] = [text for kind, text in of_row.items() if kind not in common]
    return [_with(row, found.get(row.key, ())) for row in rows]


def _with(row: Summary, texts: Sequence[str]) -> Summary:
    if not texts:
        return row
    more = [f"and {len(texts) - MOST} more"] if len(texts) > MOST else []
    return replace(row, findings=(*row.findings, Finding(kind=WARNED, own=[*texts[:MOST], *more])))


def _in_short(warned: events.Warned) -> str:
    """Its first sentence, and the line of the program."""
    text = _END.split(warned.text.strip(), maxsplit=1)[0].rstrip(".;!")
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return f"{warned.where}: {text}" if warned.where else text
