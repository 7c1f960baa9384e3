"""The options of `bisect` that no other command has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BISECT: Mapping[str, Mapping[str, Any]] = {
    "backend": {"metavar": "BACKEND", "help": "a backend as `list` names it"},
    "--package": {
        "default": "keras",
        "metavar": "NAME",
        "help": "package to search: keras (default), or the backend's framework; keras=../keras: commits of a git "
        "checkout",
    },
    "--good": {"required": True, "metavar": "VERSION", "help": "an earlier release or commit without the problem"},
    "--bad": {"required": True, "metavar": "VERSION", "help": "a later release or commit with the problem"},
    "--example": {"metavar": "EXAMPLE", "help": "a name from `list`, or your own file"},
    "--by": {
        "choices": ("time", "loss", "memory"),
        "default": "time",
        "help": "what became worse: time per epoch (default), the final loss, or peak memory",
    },
}
