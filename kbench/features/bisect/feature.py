"""Finds the release or commit that made an example or a program worse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kbench import hooks
from kbench.additions import Command
from kbench.cli.groups import MORE
from kbench.features.script.options import INSTEAD
from kbench.records import axes


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`bisect`."""
    return {
        "bisect": Command(
            "Find the release of Keras or of a backend's framework, or the commit in your checkout, that made an "
            "example or a script slower, or changed its loss, memory or outputs.",
            "find the release of Keras or a framework that made an example slower",
            "kbench.features.bisect.command",
            Path(__file__).with_name("bisect.txt"),
            options=(
                "backend", "--package", "--good", "--bad", "--example", "--script", "--with", "--max-epochs",
                "--max-steps", "--workdir", "--by", "--profile", "--budget", MORE, "--results",
            ),
            declared={
                "backend": {"metavar": "BACKEND", "help": "a backend as `list` names it"},
                "--package": {
                    "default": "keras",
                    "metavar": "NAME",
                    "help": "package to search: keras (default), or the backend's framework; keras=../keras: commits "
                    "of a git checkout",
                },
                "--good": {
                    "required": True,
                    "metavar": "VERSION",
                    "help": "an earlier release or commit without the problem",
                },
                "--bad": {
                    "required": True,
                    "metavar": "VERSION",
                    "help": "a later release or commit with the problem",
                },
                "--example": {"metavar": "EXAMPLE", "help": "a name from `list`, or your own file"},
                **INSTEAD,
                "--script": {
                    **INSTEAD["--script"],
                    "help": "your own program instead of an example; its arguments follow --",
                },
                "--by": {
                    "choices": ("time", "loss", "memory", "outputs"),
                    "default": "time",
                    "help": "what became worse: time per epoch (default), the final loss, peak memory, or what the "
                    "model returns from the same weights and inputs",
                },
                "--budget": {
                    "default": 120.0,
                    "help": "time for each comparison of two releases, such as 90s or 10m (default: 2m)",
                },
            },
            axes={axes.THREADS: ""},
            takes_program=True,
        )
    }  # fmt: skip
