"""Reads the options of a command from Python: named as on the command line, with underscores."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from kbench import hooks
from kbench.cli.arguments import commands, names_of
from kbench.cli.options import how as declared
from kbench.errors import UserError
from kbench.words.text import nearest

OptionValue = str | int | float | bool | PathLike[str] | None
OptionValues = OptionValue | Sequence[OptionValue]


def options(command: str, words: Mapping[str, OptionValues]) -> dict[str, Any]:
    """The command's options by the names that `argparse` would give them, its defaults included. Raises UserError."""
    if command not in commands():
        raise UserError(f"This kbench does not have the feature with the command `{command}`.")
    known = {_word(name): (name, declared(name, command)) for name in names_of(command)}
    for further in (one for one in hooks.further_options(command) if not one.kept):
        if of_feature := [one for one in map(_word, further.options) if words.get(one)]:
            raise UserError(
                f"{of_feature[0]}=... is an option of the command line alone: use that, then kbench.load."
            )
    if unknown := [word for word in words if word not in known]:
        raise UserError(f"`{command}` has no option {unknown[0]!r}{nearest(unknown[0], known)}")
    values: dict[str, Any] = {"command": command, "arguments": ()}
    for word, (_, how) in known.items():
        usual = {"store_true": False, "store_false": True}.get(how.get("action", ""))
        values.setdefault(how.get("dest", word), how.get("default", usual))
    for word, value in words.items():
        name, how = known[word]
        if value is not None and not (_is_flag(how) and value is False):
            values[how.get("dest", word)] = _value(name, how, value)
    return values


def _word(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _is_flag(how: Mapping[str, Any]) -> bool:
    return str(how.get("action", "")).startswith("store_")


def _value(name: str, how: Mapping[str, Any], value: OptionValues) -> Any:
    """The option's value. Raises UserError."""
    if _is_flag(how):
        if value is not True:
            raise UserError(f"{name}: {value!r} is neither True nor False.")
        return {"store_true": True, "store_false": False}.get(how["action"], how.get("const"))
    several = list(value) if isinstance(value, list | tuple) else [value]
    if how.get("action") == "append":
        return [_one(name, how, str(one)) for one in several]
    return _one(name, how, ",".join(map(str, several)))


def _one(name: str, how: Mapping[str, Any], text: str) -> Any:
    try:
        value = how.get("type", str)(text)
    except argparse.ArgumentTypeError as error:
        raise UserError(f"{name}: {error}.") from None
    if "choices" in how and value not in how["choices"]:
        raise UserError(f"{name}: {text[:50]!r} is none of {', '.join(how['choices'])}.")
    return value
