"""Finds the first bad one of what is in order, where some cannot be told."""

from __future__ import annotations

from collections.abc import Callable


def narrowed(low: int, high: int, is_bad: Callable[[int], bool | None]) -> tuple[int, int]:
    """(the last good place, the first bad one) between a good and a bad one; those between them cannot be told.

    `is_bad` returns None for such a one, and is asked once for each place.
    """
    unknown = set[int]()
    while left := [place for place in range(low + 1, high) if place not in unknown]:
        middle = min(left, key=lambda place: (abs(2 * place - low - high), place))
        found = is_bad(middle)
        if found is None:
            unknown.add(middle)
        elif found:
            high = middle
        else:
            low = middle
    return low, high
