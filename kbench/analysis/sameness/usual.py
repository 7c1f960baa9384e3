"""What is usual among rows that should be alike: the one rule for "unlike the others"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


def majority(
    items: Sequence[Item], agree: Callable[[Item, Item], bool], known: Callable[[Item], Any] = lambda item: 0
) -> Item:
    """The one with which most agree; of equals that of which the fewest differences are declared, then the first.

    So of two that differ the second is unlike the first. items: not empty; known: how many, as what can be ordered.
    """
    return in_order(items, agree, known)[0]


def in_order(
    items: Sequence[Item], agree: Callable[[Item, Item], bool], known: Callable[[Item], Any] = lambda item: 0
) -> list[Item]:
    """All of them, `majority` first."""
    counts = [sum(agree(one, other) for other in items) for one in items]
    places = sorted(range(len(items)), key=lambda place: (-counts[place], known(items[place]), place))
    return [items[place] for place in places]
