"""Tables and records of what became of public names from one version to another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from kbench.features.coverage.values import ABSENT, CHANGES, GONE, NEW
from kbench.features.coverage.versions import Change, Compared
from kbench.tables import markdown as as_markdown
from kbench.tables import text as as_text
from kbench.tables.content import Table
from kbench.tables.csv import records_csv
from kbench.words.text import as_json, listed, plain

LISTED = 20  # of the worst in a table
NAMED = 8  # names that are only there or no more


def sentence(one: Compared) -> str:
    """How many names became what."""
    tried = one.same + len(one.changes) - one.count(NEW)
    found = [f"{one.count(what)} {what}" for what in CHANGES if one.count(what)]
    same = f"{one.same:,} {'is' if one.same == 1 else 'are'} as before" if one.same else ""
    others = f" {one.unknown:,} {'was' if one.unknown == 1 else 'were'} not tried on both." if one.unknown else ""
    alike = one.before.beside == one.after.beside
    others += "" if alike else " They ran beside different backends, and some checks depend on those."
    start = f"From {one.before.title} to {one.after.title}, of {tried:,} public name{'s' * (tried != 1)}"
    return plain(f"{start}: {listed([*found, *([same] if same else [])]) or 'nothing to compare'}.{others}")


def text(compared: Sequence[Compared], width: int) -> str:
    """For the terminal: a sentence for each pair of backends, and the worst."""
    parts = []
    for one in compared:
        parts.append(textwrap.fill(sentence(one), width))
        parts += [as_text.table(table, width) for table in _tables(one)]
        parts += [textwrap.fill(line, width, subsequent_indent="  ") for line in _lists(one)]
    return "\n\n".join(parts)


def markdown(compared: Sequence[Compared]) -> str:
    """The same as Markdown, to paste."""
    parts = []
    for one in compared:
        parts += [as_markdown.escape(sentence(one)), *(as_markdown.body(table) for table in _tables(one))]
        parts += [as_markdown.escape(line) for line in _lists(one)]
    return "\n\n".join(parts)


def _tables(compared: Compared) -> list[Table]:
    """Of names that are in both."""
    shown = [one for one in compared.changes if one.case]
    if not shown:
        return []
    rows = tuple(
        (change.what, plain(change.case), change.before, change.after, plain(_how(change))) for change in shown
    )
    more = f"{LISTED} of {len(shown)}; all with --format csv or json." if len(shown) > LISTED else ""
    columns = ("", "name and settings", "before", "after", "how")
    return [Table("", columns, rows[:LISTED], frozenset(columns), remarks=(more,) if more else ())]


def _how(change: Change) -> str:
    return f"(not tried before) {change.sentence}".strip() if change.is_new else change.sentence


def _lists(one: Compared) -> list[str]:
    """The names that only one of both has."""
    found = []
    for what, words in ((GONE, "Gone"), (NEW, "New")):
        names = [_with_state(change) for change in one.changes if change.what == what]
        more = f" and {len(names) - NAMED:,} others" if len(names) > NAMED else ""
        if names:
            found.append(plain(f"{words}: {', '.join(names[:NAMED])}{more}."))
    return found


def _with_state(change: Change) -> str:
    state = change.after if change.before == ABSENT else change.before
    return f"{change.name} ({state})"


def records(compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """One object for each name that changed."""
    return [
        {
            "name": change.name, "what": change.what, "backend": one.before.backend, "before": change.before,
            "other_backend": one.after.backend, "after": change.after,
            "settings": change.case, "sentence": _how(change),
        }
        for one in compared
        for change in one.changes
    ]  # fmt: skip


def made(compared: Sequence[Compared], form: str, width: int) -> str:
    """The comparison in a format; a CSV has only its rows."""
    if form == "table":
        return text(compared, width)
    if form == "markdown":
        return markdown(compared)
    if form == "csv":
        return records_csv(records(compared)).rstrip()
    pairs = [
        {
            "backend": one.before.backend,
            "other_backend": one.after.backend,
            "same": one.same,
            "not_tried_on_both": one.unknown,
        }
        | {what: one.count(what) for what in CHANGES}
        for one in compared
    ]
    return as_json({"schema": 1, "backends": pairs, "rows": records(compared)})
