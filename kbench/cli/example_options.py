"""The options that say which examples are measured, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from kbench.cli.option_types import list_of
from kbench.selection.suites import Task

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--examples": {
        "metavar": "LIST",
        "help": "names from `list`, your own files, core (default: those that take minutes), or all; with --suite, "
        "which of its examples",
    },
    "--suite": {
        "metavar": "SUITE",
        "help": "measure a suite: a name from `list suites`, or your own file.toml. Options that you give replace "
        "the suite's; --profile smoke takes only the first of several batch sizes, threads, layouts and data",
    },
    "--task": {
        "type": list_of(get_args(Task)),
        "metavar": "LIST",
        "help": "train, infer (predict only, with the same model and weights) or train,infer (default: each "
        "example's own)",
    },
}
