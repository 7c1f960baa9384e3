"""From the names that the user types to backends and examples; a wrong one is answered with the nearest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kbench import paths
from kbench.errors import UserError
from kbench.selection import examples
from kbench.selection.backends import by_number
from kbench.values import Backend, Example

ALL = "all"


@dataclass(frozen=True)
class Backends:
    """The chosen backends, and which of them the user named one by one rather than as a group."""

    chosen: tuple[Backend, ...]
    named: frozenset[str]


@dataclass(frozen=True)
class Examples:
    """The chosen examples, and which of them the user named one by one."""

    chosen: tuple[Example, ...]
    named: frozenset[str]


def select_backends(text: str, known: Mapping[str, Backend]) -> Backends:
    """The backends that a comma-separated list means, each once, in the list's order.

    A full name (`keras2/a`), a bare one (`a`) where it is clear, a generation (`keras2`) or `all`. A bare name of
    several generations takes the generation of the other names; alone, the newest. Raises UserError.
    """
    generations = {backend.generation for backend in known.values()}
    items = _items(text, "--backends", known)
    certain = {_sure_generation(item, known) for item in items} - {""}
    names: list[str] = []
    named: set[str] = set()
    for item in items:
        if item == ALL:
            found = list(known)
        elif item in generations:
            found = [name for name, backend in known.items() if backend.generation == item]
        else:
            found = [_one_backend(item, known, certain, generations)]
            named.update(found)
        names += [name for name in found if name not in names]
    return Backends(tuple(known[name] for name in names), frozenset(named))


def select_examples(text: str, known: Mapping[str, Example]) -> Examples:
    """The examples that a list such as `mnist_mlp,my_model.py` means. Raises UserError."""
    found: dict[str, Example] = {}
    named: set[str] = set()
    for item in _items(text, "--examples", known):
        if item == ALL:
            found.update(known)
            continue
        example = known.get(item)
        if example is None and item.endswith(".py"):
            example = _own_example(item, known)
        if example is None:
            raise UserError(f"There is no example {item!r}{_nearest(item, known)}")
        if found.get(example.name, example).path != example.path:
            raise UserError(f"Two examples are called {example.name!r}: rename one of the files.")
        found[example.name] = example
        named.add(example.name)
    return Examples(tuple(found.values()), frozenset(named))


def select_baseline(text: str, names: Iterable[str], where: str = "--baseline") -> str:
    """The one of a run's backends (full names) that `text` means, in full or bare. Raises UserError.

    `where` is what the user typed it after.
    """
    known = list(names)
    item = text.strip()
    found = [name for name in known if item in (name, name.partition("/")[2])]
    if len(found) > 1:
        raise UserError(f"{where} {item!r} could be {' or '.join(found)}: type the full name.")
    if not found:
        words = [*known, *(name.partition("/")[2] for name in known)]
        near = difflib.get_close_matches(item.lower(), words, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}."
        raise UserError(f"{where} {item!r} is not one of the run's backends: {hint}")
    return found[0]


def _own_example(item: str, known: Mapping[str, Example]) -> Example:
    path = paths.expanded(item)
    try:
        there = path.is_file()
    except OSError:  # a name that no file can have: too long
        there = False
    if not there:
        raise UserError(f"There is no example file {item}{_nearest(path.stem, known)}")
    example = examples.load(path)
    if example.name in known and known[example.name].path != example.path.resolve():
        raise UserError(f"{item} has the name of kbench's own example {example.name!r}: rename the file.")
    return example


def _items(text: str, option: str, known: Iterable[str]) -> list[str]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise UserError(f"{option} is empty: name some of {', '.join(known)}, or all.")
    return items


def _sure_generation(item: str, known: Mapping[str, Backend]) -> str:
    """The generation that a name can only belong to; empty where it tells nothing."""
    found = {known[name].generation for name in _matches(item, known)}
    return found.pop() if len(found) == 1 else ""


def _matches(item: str, known: Mapping[str, Backend]) -> list[str]:
    return [
        name
        for name, backend in known.items()
        if item in (name, backend.generation) or item == name.partition("/")[2]
    ]


def _one_backend(item: str, known: Mapping[str, Backend], certain: set[str], generations: set[str]) -> str:
    found = _matches(item, known)
    if not found:
        words = [*known, *(name.partition("/")[2] for name in known), *sorted(generations)]
        raise UserError(f"There is no backend {item!r}{_nearest(item, words)}")
    if len(found) == 1:
        return found[0]
    if len(certain) > 1:
        raise UserError(
            f"{item!r} could be {' or '.join(found)} beside names of both generations: type the full name."
        )
    of_generation = {known[name].generation: name for name in found}
    (wanted,) = certain or {max(of_generation, key=by_number)}
    return of_generation.get(wanted, found[-1])


def _nearest(item: str, words: Iterable[str]) -> str:
    words = list(words)
    near = difflib.get_close_matches(item.lower(), words, n=1, cutoff=0.5)
    return f": did you mean {near[0]}?" if near else f": choose from {', '.join(words)}."
