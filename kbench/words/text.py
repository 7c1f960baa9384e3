"""Formats numbers, untrusted text and JSON, the same in tables and plots; finds the name that was meant."""

from __future__ import annotations

import functools
import json
import math
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from kbench.records.values import FASTER, NO_DIFFERENCE, NOT_COMPARED, SLOWER, bare

MISSING = "-"

_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and cursor movements, by ECMA-48
# With those that change the direction of text, which could disguise it.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
# What spreadsheets treat as a formula, by OWASP's "CSV injection"; the wide forms count in Japanese ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with `digits` significant figures, but always all of its whole part: 0.0123, 1.23, 12,346."""
    if value is None:
        return MISSING
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    # The exponent of the rounded value, so that 9.999 becomes 10.0 and not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def format_ratio(ratio: float | None, verdict: str, rough: bool = False) -> str:
    """The ratio, with ~ in front if the comparison is open, and ? if it is too unsure to say anything; of a rough one
    only what it shows.
    """
    if rough:
        return {SLOWER: "slower", FASTER: "faster"}.get(verdict, "?")
    mark = "" if ratio is None else {NO_DIFFERENCE: "~", NOT_COMPARED: "?"}.get(verdict, "")
    return mark + significant(ratio)


def plain(text: str) -> str:
    """`text` on one line, without control characters, which could control the terminal."""
    return " ".join(without_controls(text).split())


def without_controls(text: str) -> str:
    """`text` with its blanks, and without what could control the terminal."""
    return _CONTROL.sub(" ", _TERMINAL_SEQUENCE.sub("", text))


@functools.lru_cache(4096)  # a table is wrapped in many widths, and most entries in the same
def at_blanks(text: str, width: int, indent: str = "") -> str:
    """`text` in lines of that width, all but the first indented. No word and no `command` is broken, to be copied."""
    command = rf"`[^`]{{1,{max(1, width - 2)}}}`"
    whole = re.sub(command, lambda found: found[0].replace(" ", "\xa0"), text)
    lines = textwrap.fill(whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\xa0", " ")


def listed(names: Iterable[str]) -> str:
    """Each name once, as in `a, b and c`."""
    *most, last = list(dict.fromkeys(names)) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def short_names(backends: Iterable[str]) -> dict[str, str]:
    """Each backend by its name without the generation, if no other of them is called so."""
    shorter = {one: bare(one) or one for one in backends}
    counts = Counter(shorter.values())
    return {one: short if counts[short] == 1 else one for one, short in shorter.items()}


def no_formula(text: str) -> str:
    """`text` as a cell of a CSV file, with ' in front if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def size(count: int) -> str:
    """Bytes for people: 0, 12 KiB, 345 MiB, 1.7 GiB."""
    if count <= 0:
        return "0"
    for unit, bytes_of in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= bytes_of:
            value = count / bytes_of
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{-(-count // 1024)} KiB"


def format_bound(ratio: float) -> str:
    """A ratio that is visibly above or below 1: 1.003 and not 1.00."""
    shown = significant(ratio)
    return significant(ratio, 4) if shown == significant(1.0) and ratio != 1 else shown


def as_json(value: object) -> str:
    """`value` as indented JSON, with null for NaN and infinity, which JSON does not have."""
    return json.dumps(_finite(value), indent=1)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def meant(item: str, words: Collection[str]) -> str:
    """The word with the fewest mistakes in `item`, at most one in three letters, or the only one that it begins.

    The part of a word behind / counts like the word. Empty if there is none.
    """
    typed = item.lower()
    most = max(1, len(typed) // 3)
    near = [
        (_mistakes(typed, part), abs(len(word) - len(typed)), number, word)
        for number, word in enumerate(words)
        for part in {word.lower(), word.lower().rpartition("/")[2]}
        if abs(len(part) - len(typed)) <= most  # or there are more mistakes
    ]
    if near and min(near)[0] <= most:
        return min(near)[-1]
    begun = [word for word in words if typed and word.lower().startswith(typed)]
    return begun[0] if len(begun) == 1 else ""


def nearest(item: str, words: Collection[str], shown: Iterable[str] = ()) -> str:
    """Ends an error about a wrong name: with the word that was meant, or all words to choose from."""
    near = meant(item, words)
    return f": did you mean {near}?" if near else f": choose from {', '.join(shown or words)}."


def _mistakes(typed: str, word: str) -> int:
    """How many letters are wrong, missing, too many, or swapped with the next (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(word) + 1))
    for i, letter in enumerate(typed):
        above, row = row, [i + 1]
        for j, other in enumerate(word):
            fewest = min(above[j] + (letter != other), above[j + 1] + 1, row[j] + 1)
            if i and j and (letter, typed[i - 1]) == (word[j - 1], other):
                fewest = min(fewest, before[j - 1] + 1)
            row.append(fewest)
        before = above
    return row[-1]
