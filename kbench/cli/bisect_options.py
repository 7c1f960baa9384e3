"""The options of `bisect` that no other command has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench.cli.option_types import duration

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
    "--script of bisect": {
        "dest": "file",
        "metavar": "FILE",
        "help": "your own program instead of an example; its arguments follow --",
    },
    "--by": {
        "choices": ("time", "loss", "memory"),
        "default": "time",
        "help": "what became worse: time per epoch (default), the final loss, or peak memory",
    },
    "--budget of bisect": {
        "type": duration,
        "metavar": "TIME",
        "default": 120.0,
        "help": "time for each comparison of two releases, such as 90s or 10m (default: 2m)",
    },
}
