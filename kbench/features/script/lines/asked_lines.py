"""The lines of a program that --compare-lines names, and which rows are of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from kbench.words.text import listed

_LINES = re.compile(r"lines? ([\d, and]+)$")


def wanted(request: Mapping[str, object]) -> Sequence[int]:
    """Those that the user named."""
    script = request.get("script")
    lines = script.get("compare_lines") if isinstance(script, dict) else None
    return [one for one in lines if isinstance(one, int)] if isinstance(lines, list | tuple) else []


def numbers(site: str) -> set[int]:
    """The lines that a row is of: a loop may end in another on each backend."""
    lines = _LINES.search(site)
    return {int(number) for number in re.findall(r"\d+", lines[1])} if lines else set()


def named(lines: Iterable[int]) -> str:
    """Such as "lines 12 and 14"."""
    several = [*map(str, lines)]
    return f"line{'s' * (len(several) > 1)} {listed(several)}"
