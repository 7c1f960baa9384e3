"""The options of `script`, and those on a user's program that other commands share with it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from kbench.cli.option_types import whole, wholes
from kbench.errors import UserError
from kbench.features.script import figures
from kbench.features.script.declared import requirements
from kbench.planning.request import Script


def _packages(text: str) -> tuple[str, ...]:
    """A list of packages, which may have versions."""
    try:
        return requirements(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error).partition(": ")[2].rstrip(".")) from None


BACKENDS = (  # without the groups that have no Keras
    "names shown by `list` (the part after the slash is enough if it is unique), a generation such as keras3, or all"
)
# Of `script`, and some of other commands that take a program.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "file": {
        "nargs": "?",
        "metavar": "FILE",
        "help": "a Keras program: FILE.py, FILE.ipynb, or a folder with a __main__.py; its own arguments follow --",
    },
    "-m": {
        "dest": "module",
        "metavar": "MODULE",
        "help": "instead of a file: a module or package below the current folder, as `python -m MODULE` runs it",
    },
    "--compare-lines": {
        "type": wholes(1, 10**9),
        "default": (),
        "metavar": "LIST",
        "help": "lines of the program that call a model, such as 12,20: which of them is faster on each backend, and "
        "whether they return the same",
    },
    "--workdir": {
        "choices": get_args(get_type_hints(Script)["workdir"]),
        "default": Script.workdir,
        "help": "copy: each cell runs in a fresh copy of the script's folder (default); same: in the folder itself",
    },
    "--keep-files": {"action": "store_true", "help": "keep these copies, with the files that the script wrote"},
    "--with": {
        "dest": "packages",
        "type": _packages,
        "default": (),
        "metavar": "LIST",
        "help": "further packages to install, such as pandas,scikit-learn; those of its `# /// script` block (PEP "
        "723) are installed anyway",
    },
    "--max-epochs": {"type": whole(1, 10**9), "metavar": "N", "help": "stop each fit after N epochs"},
    "--max-steps": {
        "type": whole(1, 10**9),
        "metavar": "N",
        "help": "cut each epoch, validation, evaluation and prediction to N steps",
    },
    "--figure": {
        "dest": "figures",
        "type": figures.asked,
        "action": "append",
        "default": [],
        "metavar": "FIGURE",
        "help": "a figure of the program's own, as a column: the last number that it prints like 'accuracy: (.*)', "
        "or a variable's value at its end; may be repeated",
    },
    "--show-output": {"action": "store_true", "help": "print each cell's stdout when the cell ends"},
}
# Of commands that take examples, too.
INSTEAD: Mapping[str, Mapping[str, Any]] = {
    **OPTIONS,
    "--script": {
        "dest": "file",
        "metavar": "FILE",
        "help": "compare the first model that this program trains, instead of examples: FILE or -m MODULE, as for "
        "`script`; its own arguments follow --",
    },
}
