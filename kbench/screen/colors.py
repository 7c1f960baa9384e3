"""Verdicts and statuses of tables in colour, on a terminal that has colours and for a user who wants them."""

from __future__ import annotations

import os
import re
from typing import TextIO

_RULE = re.compile(r"-+(?:  +-+)+")  # between the heads of a table and its rows
_GREEN, _YELLOW, _RED = "32", "33", "31"
_COLORS = {
    **dict.fromkeys(("fastest", "faster", "same"), _GREEN),
    **dict.fromkeys(("slower", "explained", "not compared"), _YELLOW),
    **dict.fromkeys(("failed", "timeout", "interrupted", "differs"), _RED),
}
# An entry of a column, perhaps the second of two words, and perhaps with the marks of notes.
_ENTRY = re.compile(rf"(?:(?<=  )|(?<=, ))(?:{'|'.join(_COLORS)})(?=  |, | \[\d|$)")


def colored(text: str, stream: TextIO) -> str:
    """The tables in `text` as `stream` should have them. NO_COLOR: https://no-color.org"""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    lines, in_rows = [], False
    for line in text.split("\n"):
        in_rows = bool(line) and (in_rows or _RULE.fullmatch(line) is not None)
        lines.append(_ENTRY.sub(_painted, line) if in_rows else line)
    return "\n".join(lines)


def _painted(found: re.Match[str]) -> str:
    return f"\x1b[{_COLORS[found[0]]}m{found[0]}\x1b[0m"
