"""The `kbench` command: parses, dispatches, and reports errors in one sentence."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence

from kbench import hooks
from kbench.base.masking import without_passwords
from kbench.cli import arguments, completion, streams
from kbench.errors import UserError
from kbench.words.text import plain

# New objects until garbage collection looks for cycles: a large run has many objects and hardly a cycle.
_SELDOM = 100_000
_ENDS = (".", "?", "!")  # of a sentence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0 ok, 1 a cell failed, 2 the request was wrong, 130 interrupted."""
    gc.set_threshold(_SELDOM)
    streams.prepare()
    status = _status(argv)
    if refused := streams.finish():
        print(f"kbench: error: Cannot write the output: {refused.strerror or refused}.", file=sys.stderr)
        return status or 2
    return status


def _status(argv: Sequence[str] | None) -> int:
    try:
        if sys.platform != "linux":
            raise UserError(f"kbench runs on Linux, and this is {sys.platform}.")
        completion.answer()
        options = arguments.parse(sys.argv[1:] if argv is None else argv)
        if (ended := hooks.instead(options)) is not None:
            return ended
        # Import only the packages of this command, so that it starts fast.
        command = importlib.import_module(arguments.commands()[options.command].module)
        status: int = command.main(options)
        return status
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else 0
    except UserError as error:
        text = without_passwords(plain(str(error)))
        print(f"kbench: error: {text}{'' if text.endswith(_ENDS) else '.'}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("kbench: interrupted.", file=sys.stderr)
        return 130
    except OSError as error:  # an impossible path, such as one with too long a name
        where = f"Cannot use {error.filename}" if error.filename else "Cannot write the output"
        why = f"{where}: {error.strerror or error}" if _has_current_folder() else "The current folder was removed"
        print(f"kbench: error: {plain(why)}.", file=sys.stderr)
        return 2


def _has_current_folder() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109
    except OSError:
        return False
