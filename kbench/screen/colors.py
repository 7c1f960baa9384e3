"""Verdicts and statuses of tables in colour, on a terminal that has colours and for a user who wants them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
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


def painter(stream: TextIO) -> Callable[[str, float | None], str]:
    """What paints a ratio to the fastest: green up to 1.1, yellow from 2, red from 5."""

    def painted(entry: str, ratio: float | None) -> str:
        if ratio is None or 1.1 < ratio < 2:
            return entry
        return f"\x1b[{_GREEN if ratio <= 1.1 else _YELLOW if ratio < 5 else _RED}m{entry}\x1b[0m"

    return painted if _has_colors(stream) else lambda entry, ratio: entry


def _has_colors(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def colored(text: str, stream: TextIO) -> str:
    """The tables in `text` as `stream` should have them. NO_COLOR: https://no-color.org"""
    if not _has_colors(stream):
        return text
    lines, in_rows = [], False
    for line in text.split("\n"):
        in_rows = bool(line) and (in_rows or _RULE.fullmatch(line) is not None)
        lines.append(_ENTRY.sub(_painted, line) if in_rows else line)
    return "\n".join(lines)


def _painted(found: re.Match[str]) -> str:
    return f"\x1b[{_COLORS[found[0]]}m{found[0]}\x1b[0m"
