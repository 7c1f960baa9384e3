"""Resolves the names of backends and examples that the user typed; an error suggests the nearest name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kbench import hooks
from kbench.base import paths
from kbench.errors import UserError
from kbench.records.values import IN_FULL, Backend, Example, bare, base
from kbench.selection import absent, examples, variants
from kbench.selection.backends import by_number
from kbench.words.text import nearest

ALL, CORE = "all", "core"


T = TypeVar("T", Backend, Example)


@dataclass(frozen=True)
class Chosen(Generic[T]):
    """The chosen backends or examples, and the names that the user gave one by one, not as a group."""

    chosen: tuple[T, ...]
    named: frozenset[str]


def select_backends(text: str, known: Mapping[str, Backend]) -> Chosen[Backend]:
    """The backends of a comma-separated list, each once, in the list's order.

    An item is a full name (`keras2/a`), a bare one (`a`), a generation (`keras2`) or another group, or `all`, with
    a version or settings if wanted (`a@0.9`, `a+jit=off`). A bare name of several generations takes the generation of
    the other names, or else the newest. A bare name and `all` mean Keras; the backends of other groups are named in
    full or by their group. Raises UserError.
    """
    generations = {backend.generation for backend in known.values()}
    items = _items(text, "--backends", known)
    possible = [{known[name].generation for name in _matches(base(item), known)} for item in items]
    certain = {found.pop() for found in possible if len(found) == 1} - {*IN_FULL}
    chosen: dict[str, Backend] = {}
    named: set[str] = set()
    for item in items:
        wanted = base(item)
        others = [] if "+" not in item.strip("+") else [*generations, *known, *map(bare, known)]
        if others and (commas := _meant(item, others)):
            raise UserError(f"There is no backend {item!r}{commas}")
        if wanted == ALL:
            found = [name for name, backend in known.items() if backend.kind not in IN_FULL]
        elif wanted in generations:
            found = [name for name, backend in known.items() if backend.generation == wanted]
        else:
            found = [_one_backend(wanted, known, certain, generations)]
        is_group = wanted == ALL or wanted in generations
        of_item = [variants.parse_name(name + item.removeprefix(wanted), known[name], is_group) for name in found]
        chosen |= {one.name: one for one in of_item if one.name not in chosen}
        if not is_group:
            named.update(one.name for one in of_item)
    return Chosen(tuple(chosen.values()), frozenset(named))


def in_settings(chosen: Chosen[Backend], settings: Sequence[str]) -> Chosen[Backend]:
    """Every backend with each of the settings. Raises UserError."""
    made = {backend.name: [variants.with_setting(backend, one) for one in settings] for backend in chosen.chosen}
    named = frozenset(one.name for name, found in made.items() if name in chosen.named for one in found)
    return Chosen(tuple({one.name: one for found in made.values() for one in found}.values()), named)


def select_examples(text: str, known: Mapping[str, Example]) -> Chosen[Example]:
    """The examples of a list such as `mnist_mlp,my_model.py`, `core` or `all`. Raises UserError."""
    found: dict[str, Example] = {}
    named: set[str] = set()
    for item in _items(text, "--examples", known):
        if item in (CORE, ALL):
            wanted = [example for example in known.values() if item == ALL or example.core]
            found.update((example.name, example) for example in examples.by_cost(wanted))
            continue
        example = known.get(item)
        if example is None and item.endswith(".py"):
            example = _own_example(item, known)
        if example is None:
            raise UserError(f"There is no example {item!r}{absent.why(item, '.py', known)}")
        if found.get(example.name, example).path != example.path:
            raise UserError(f"Two examples are called {example.name!r}: rename one of the files.")
        found[example.name] = example
        named.add(example.name)
    return Chosen(tuple(found.values()), frozenset(named))


def select_baseline(text: str, names: Iterable[str], where: str = "--baseline") -> str:
    """The one of a run's backends (full names) that `text` names, or a group. Raises UserError, about `where`."""
    known = list(names)
    item = text.strip()
    comparison = hooks.comparisons().get(item)
    if comparison and comparison.baseline and any(name.startswith(f"{item}/") for name in known):
        return item
    found = [name for name in known if item in (name, bare(name))]
    if len(found) > 1:
        raise UserError(f"{where} {item!r} could be {' or '.join(found)}: type the full name.")
    if not found:
        words = [*known, *filter(None, map(bare, known))]
        raise UserError(f"{where} {item!r} is not one of the run's backends{nearest(item, words, known)}")
    return found[0]


def _own_example(item: str, known: Mapping[str, Example]) -> Example:
    path = paths.with_home(item)
    if not os.path.isfile(path):  # noqa: PTH113  # pathlib's raises for a name that is too long
        raise UserError(f"There is no example file {item}{absent.why(item, '.py', known)}")
    example = examples.load(path)
    if example.name in known and known[example.name].path != example.path.resolve():
        raise UserError(f"{item} has the name of kbench's own example {example.name!r}: rename the file.")
    return example


def _items(text: str, option: str, known: Iterable[str]) -> list[str]:
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise UserError(f"{option} is empty: name some of {', '.join(known)}, or all.")
    return items


def _matches(item: str, known: Mapping[str, Backend]) -> list[str]:
    return [name for name, backend in known.items() if item in (name, backend.generation, bare(name))]


def _meant(item: str, words: Sequence[str]) -> str:
    """What was meant by names with other signs between them or around them, or with a version as pip has it."""
    parts = [part for part in re.split(r"[\s;:|&/+\[\](){}'\"]+", item.lower()) if part]
    if len(parts) > 1 and all(part in words for part in parts):
        return f": a list has commas, {','.join(parts)}."
    if len(parts) == 1 and parts[0] in words and parts[0] != item.lower():
        return f": did you mean {parts[0]}?"
    if found := re.fullmatch(r"([\w/]+)\s*(?:==|=|:|-)\s*(\d[\w.]*)", item.lower()):
        return f": a version follows an @, {found[1]}@{found[2]}." if found[1] in words else ""
    short = {word for word in words if 2 <= len(item) <= 4 and "/" not in word and _shortens(item.lower(), word)}
    plain = {word for word in short if not any(word != other and word.startswith(other) for other in short)}
    return f": did you mean {plain.pop()}?" if len(plain) == 1 else ""


def _shortens(item: str, word: str) -> bool:
    """Whether the letters of `item` are in `word` in this order, the first one in front."""
    letters = iter(word)
    return word.startswith(item[0]) and all(letter in letters for letter in item)


def _one_backend(item: str, known: Mapping[str, Backend], certain: set[str], generations: set[str]) -> str:
    found = _matches(item, known)
    if not found:
        words = [*known, *filter(None, map(bare, known)), *sorted(generations)]
        raise UserError(f"There is no backend {item!r}{_meant(item, words) or nearest(item, words)}")
    if len(found) == 1:
        return found[0]
    if len(certain) > 1:
        raise UserError(
            f"{item!r} could be {' or '.join(found)}, as the others are of both generations: type the full name."
        )
    of_generation = {known[name].generation: name for name in found}
    (wanted,) = certain or {max(of_generation, key=by_number)}
    return of_generation.get(wanted, found[-1])
