"""Parses the values of options, with errors that say what is accepted."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from kbench.errors import UserError
from kbench.words.text import nearest


def list_of(
    words: Sequence[str] = (), instead: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str], tuple[str, ...]]:
    """Reads a list separated by commas: of these words, or of any if there are none.

    instead: what to say on some that it does not take.
    """

    def read(text: str) -> tuple[str, ...]:
        items = tuple(item.strip() for item in text.split(",") if item.strip())
        wrong = [item for item in items or [text] if words and item not in words]
        if wrong:
            more = f"; {instead[wrong[0]]}" if wrong[0] in instead else ""
            raise argparse.ArgumentTypeError(f"{wrong[0][:50]!r} is not one of {', '.join(words)}{more}")
        if not items:
            raise argparse.ArgumentTypeError("the list is empty")
        return items

    return read


def word_of(command: str, words: Sequence[str]) -> Callable[[str], str]:
    """Reads one of these words behind a command, which has no option's name for argparse to put in the error."""

    def read(text: str) -> str:
        if text not in words:
            raise UserError(f"`{command}` does not know {text[:50]!r}{nearest(text, words)}")
        return text

    return read


def seeds(text: str) -> str | int:
    """Reads `same`, `different` or how many."""
    if text in ("same", "different"):
        return text
    if not text.isascii() or not text.isdecimal() or not 2 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text[:50]!r} is not same, different or a number from 2 to 1,000")
    return int(text)


def above_0(highest: float, what: str) -> Callable[[str], float]:
    """Reads a number above 0 and below `highest`; the error calls it `what`."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number < highest:
            raise argparse.ArgumentTypeError(f"{text[:50]!r} is not {what}")
        return number

    return read


def with_unit(units: Mapping[str, float], what: str) -> Callable[[str], float]:
    """Reads a number above 0 that is followed by a unit; the error calls it `what`."""

    def read(text: str) -> float:
        form = rf"(\d{{1,9}}(?:\.\d{{1,3}})?)\s*({'|'.join(units)})"
        found = re.fullmatch(form, text.strip().lower(), re.ASCII)
        number = float(found[1]) * units[found[2]] if found else 0.0
        if number <= 0:
            raise argparse.ArgumentTypeError(f"{text[:50]!r} is not {what}")
        return number

    return read


duration = with_unit({"s": 1, "m": 60, "h": 3600}, "a time such as 90s, 10m or 1h")
mib = with_unit(
    {"mb": 1, "mib": 1, "gb": 2**10, "gib": 2**10, "tb": 2**20, "tib": 2**20}, "a size such as 8GiB or 500MiB"
)
share = above_0(1, "a number between 0 and 1, such as 0.1")
ratio = above_0(1e6, "a ratio above 0, such as 1.10")
_seconds = above_0(1e9, "a number of seconds above 0, or a time such as 10m")


def seconds(text: str) -> float:
    """Reads a number of seconds, or a time as `duration` does."""
    return _seconds(str(duration(text)) if text.strip()[-1:].lower() in ("s", "m", "h") else text)


def whole(lowest: int, highest: int) -> Callable[[str], int]:
    """Reads a whole number between the two, both included."""

    def read(text: str) -> int:
        # int() itself refuses thousands of digits, with a text about how Python is set up.
        if text.isdecimal() and len(text) <= 20 and lowest <= int(text) <= highest:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text[:50]!r} is not a whole number from {lowest} to {highest:,}")

    return read


def wholes(lowest: int, highest: int, *words: str) -> Callable[[str], tuple[int | str, ...]]:
    """Reads whole numbers between the two, or these words, separated by commas."""
    one = whole(lowest, highest)

    def read(text: str) -> tuple[int | str, ...]:
        items = [item.strip() for item in text.split(",") if item.strip()] or [text]
        return tuple(dict.fromkeys(item if item in words else one(item) for item in items))

    return read


def inches(text: str) -> tuple[float, float]:
    """A width and a height in inches, such as 3.3x2.5."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d{1,4})?)x(\d{1,3}(?:\.\d{1,4})?)", text.strip(), re.ASCII)
    size = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if not all(1 <= side <= 40 for side in size):
        raise argparse.ArgumentTypeError(
            f"{text[:50]!r} is not a width and a height from 1 to 40 inches, such as 3.3x2.5"
        )
    return size


def column_list(text: str) -> tuple[str, ...]:
    """Columns, separated by commas; the one in `s/1,000 images` separates nothing."""
    items = tuple(part.strip() for part in re.split(r",(?!000 )", text) if part.strip())
    if not items:
        raise argparse.ArgumentTypeError("the list is empty")
    return items
