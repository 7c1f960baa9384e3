"""Figures that a program computes itself, by --figure: a number that it prints, or a variable at its end.

A pattern is looked for in what it printed when its process has ended, and told as the guest tells variables.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping

from kbench.store import CellFolder
from kbench.store.guest_files import LOG_LIMIT, open_regular

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
LONGEST = 500  # characters of a pattern


def asked(text: str) -> str:
    """What --figure was given: the name of a variable, or a regular expression with one group."""
    if text.isidentifier():
        return text
    try:
        groups = re.compile(text).groups if len(text) <= LONGEST else 0
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text[:50]!r} is no regular expression: {error}") from None
    if groups != 1:
        raise argparse.ArgumentTypeError(
            f"{text[:50]!r} is neither the name of a variable nor a regular expression with one group, such as "
            "'accuracy: (.*)'"
        )
    return text


def title(figure: str) -> str:
    """How its column is called: a variable by its name, a pattern by the words before its group."""
    words = re.findall(r"[^\W\d_][\w-]*", re.sub(r"\\.", " ", figure.partition("(")[0]))
    return figure if figure.isidentifier() else " ".join(words) or figure


def printed(figures: Iterable[str], text: str) -> Mapping[str, float]:
    """The number of each pattern at its last match in what was printed, if there is one."""
    found = {}
    for figure in figures:
        if figure.isidentifier():
            continue
        for match in re.finditer(figure, text, re.MULTILINE):
            number = _NUMBER.match(match[1] or "")
            if number and math.isfinite(value := float(number[1])):
                found[title(figure)] = value
    return found


def tell_printed(figures: Iterable[str], files: CellFolder) -> None:
    """Add those of a cell that has ended to its events."""
    patterns = [figure for figure in figures if not figure.isidentifier()]
    if not patterns:
        return
    with contextlib.suppress(OSError):  # the guest has removed a file, or made it something else
        with open_regular(files.stdout) as file:
            text = file.read(2 * LOG_LIMIT).decode(errors="replace")
        lines = [{"event": "figure", "name": name, "value": one} for name, one in printed(patterns, text).items()]
        descriptor = os.open(files.events, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "w", encoding="utf-8") as events:
            events.writelines(f"{json.dumps(one)}\n" for one in lines)
