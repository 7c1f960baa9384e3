"""How numbers and text from elsewhere are shown to people, the same in tables and in pictures."""

from __future__ import annotations

import math
import re

from kbench.values import NO_DIFFERENCE

MISSING = "-"

_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # colours and cursor movements, by ECMA-48
# Those that turn the direction of writing are among them: text would read otherwise than it is.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
# What a spreadsheet takes for a formula, by OWASP's "CSV injection"; the wide forms count where Japanese is set.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def significant(value: float | None, digits: int = 3) -> str:
    """`value` with `digits` significant figures, never fewer than its whole part: 0.0123, 1.23, 12,346."""
    if value is None:
        return MISSING
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    # By way of the rounded value, so that 9.999 becomes 10.0 and not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def compared(ratio: float | None, verdict: str) -> str:
    """The ratio, after a ~ where no difference is shown."""
    return ("~" if verdict == NO_DIFFERENCE else "") + significant(ratio)


def plain(text: str) -> str:
    """`text` on one line, without control characters: what a guest or a file says cannot steer a terminal."""
    return " ".join(_CONTROL.sub(" ", _TERMINAL_SEQUENCE.sub("", text)).split())


def no_formula(text: str) -> str:
    """`text` as a cell of a CSV file that a spreadsheet shows and does not run: with ' before what it would run."""
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


def beside_one(ratio: float) -> str:
    """A ratio by which one sees on which side of 1 it lies: 1.003 and not 1.00."""
    shown = significant(ratio)
    return significant(ratio, 4) if shown == significant(1.0) and ratio != 1 else shown
