"""A feature's part of the guest: the module that a cell's spec names, from the feature's own folder."""

import importlib
import os
import sys
from typing import Any, Dict

from kbench_guest import protocol


def driver(spec: Dict[str, Any]) -> Any:
    """The module. Where it begins says `at`: in place of the "cell", or once there is a "model" or a program."""
    return imported(spec["part"])


def imported(part: Dict[str, Any]) -> Any:
    """The module of a part."""
    folders = [os.path.expanduser(one) for one in part["folders"]]
    sys.path[:0] = folders
    try:
        found = importlib.import_module(part["driver"])
        for package in [part["driver"].split(".")[0]] + ["kbench_" + other for other in part.get("with", ())]:
            protocol.EVENTS.update(getattr(importlib.import_module(package), "EVENTS", {}))
        return found
    finally:  # a user's program does not find them; a package finds its own modules
        for folder in folders:
            sys.path.remove(folder)


def is_bare(spec: Dict[str, Any]) -> bool:
    """Whether the part takes a model without dropout that is not compiled."""
    return bool(spec["part"]) and spec["part"].get("bare", False)
