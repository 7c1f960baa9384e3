"""Test helper: the classes of frameworks in modules of the guest, and what of their interfaces they leave open."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from guest_modules import guest

INTERFACES = ("Device", "Weights", "Steps", "Layers")


def classes(folder: Path, modules: Iterable[str]) -> dict[str, Any]:
    """Every class of a framework in these modules, by its module's own name and its name."""
    found = {}
    with guest(folder, "frameworks.interface") as (interface,):
        for name in modules:
            module = importlib.import_module(name)
            for one in vars(module).values():
                if inspect.isclass(one) and one.__module__ == name and issubclass(one, interface.Framework):
                    found[f"{name.rpartition('.')[2]}.{one.__name__}"] = one
    return found


def unanswered(made: Any, interface: str) -> set[str]:
    """The questions of the interface that this class leaves open."""
    (asked,) = (base for base in made.__mro__ if base.__name__ == interface)
    return {name for name, one in vars(asked).items() if is_open(one) and getattr(made, name) is one}


def is_open(question: Any) -> bool:
    """Whether nobody has answered it."""
    return inspect.isfunction(question) and "raise NotImplementedError" in inspect.getsource(question)
