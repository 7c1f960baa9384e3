"""The command line: each command's description and options, and how they are read."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kbench.cli.options import OPTIONS
from kbench.environments.interpreters import CHANNEL
from kbench.errors import UserError
from kbench.version import __version__

_SELECTION = ("--backends", "--device", "--python", "--channel", "--examples")
_OF_CELLS = ("--image-data-format", "--threads", "--timeout", "--memory-limit", "--pass-env")
# A group of options with a title of its own.
_NUMBERS = (
    "instead of the profile's and the example's numbers",
    ("--epochs", "--samples", "--batch-size", "--seed", "--seeds", "--init", "--augment"),
)
_VARIANTS = (
    "backends in several settings, or versions: also as NAME@0.9 or NAME+jit=off in --backends",
    ("--jit", "--precision-policy", "--env-set", "--keras", "--package of a run"),
)
_HOW_OFTEN = ("how often it is measured", ("--repeats", "--precision", "--budget", "--interleave"))
_DATA = ("data", ("--data", "--data-dir"))
_DETAIL = ("", ("--quiet", "--verbose"))  # without a title: one or the other

# Command -> what it does, and its options. "run" is the one without a name.
COMMANDS: dict[str, tuple[str, tuple[str | tuple[str, tuple[str, ...]], ...]]] = {
    "run": (
        "Measure examples on backends: seconds per epoch and convergence, in tables and plots.",
        (
            *_SELECTION, _VARIANTS, "--profile", _NUMBERS, _HOW_OFTEN, *_OF_CELLS, _DATA, "--baseline", "--name",
            "--dry-run", _DETAIL, "--no-plots", "--format",
            "--results",
        ),
    ),
    "script": (
        "Run a Keras program of your own, as it is, on each backend: time and scores of each of its calls of fit, "
        "evaluate and predict.",
        (
            "file", "--backends", "--device", "--python", "--channel", "--with", "--shims", "--max-epochs",
            "--max-steps", "--seed of a script", "--init of a script", "--workdir", "--keep-files", _HOW_OFTEN,
            "--threads", "--timeout of a script", "--memory-limit", "--data-dir", "--baseline", "--name", "--dry-run",
            _DETAIL, "--explain", "--show-output", "--no-plots", "--format", "--results",
        ),
    ),
    "new": (
        "Write an example of your own to begin with: a commented file that runs at once.",
        ("new_file", "--like"),
    ),
    "bisect": (
        "Find the release of Keras, or of a backend's framework, that made an example slower, or learn otherwise.",
        (
            "backend", "--package", "--good", "--bad", "--example", "--by", "--profile", "--budget of bisect",
            "--threads", "--data-dir", "--results",
        ),
    ),
    "resume": (
        "Continue a run: measure the cells that have no finished outcome, or whose files changed. With --budget, "
        "also measure again what is still open.",
        ("run", "--retry", "--budget of resume", _DETAIL, "--no-plots", "--format", "--results"),
    ),
    "list": (
        "Show backends and examples: what each is and can do, and whether it is installed; or what others published.",
        ("what to list", "workload", "--format", "--python"),
    ),
    "setup": (
        "Make the backends' environments, or find that they are there. Measures nothing.",
        ("--backends", "--device", "--python", "--channel"),
    ),
    "report": (
        "Make the tables, plots and pages of a run again from what was measured, and print the tables; or put "
        "several runs on one page.",
        ("runs", "--output", "--plot-style", "--plot-size", "--no-plots", "--baseline", "--format", "--results"),
    ),
    "compare": (
        "Compare runs side by side. For each example and backend: steady times, their ratio with its 95 % interval "
        "and what that shows, final accuracy, time to accuracy, and whether the losses are the same.",
        ("runs to compare", "--fail-above", "--allow", "--format", "--results"),
    ),
    "export": ("Write a run's data for other programs.", ("run", "--to", "--out", "--results")),
    "parity": (
        "Compare what backends compute on one batch, from the same weights and with dropout off: the outputs of the "
        "model and of each layer, the loss, and the weights after 1 and after 10 steps.",
        (
            *_SELECTION, "--batch-size", "--seed", "--form", "--script", "--with", "--shims", *_OF_CELLS, _DATA,
            "--name", "--dry-run", "--format", "--results",
        ),
    ),
    "doctor": (
        "Check this machine: Pythons, compilers, GPU, disk, environments, data. Changes nothing.",
        ("--data-dir", "--device", "--python"),
    ),
    "clean": (
        "Show what lies in kbench's cache folder, or remove a kind of it. The next run makes it again. Results are "
        "never touched, and nothing is removed while a run goes on.",
        ("what to free",),
    ),
}  # fmt: skip


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UserErrors: one sentence, no usage text."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[0].upper()}{message[1:]}; see `{self.prog} --help`.")


def program() -> str:
    """How the user calls kbench: `run.py` or `kbench`."""
    name = Path(sys.argv[0]).name
    return "python run.py" if name == "run.py" else "kbench" if name != "__main__.py" else "python -m kbench"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run` where none is named. Raises UserError."""
    arguments = list(argv)
    if not arguments:
        raise UserError(f"Name the backends to measure with --backends; see `{program()} --help`.")
    if arguments[0] in ("-h", "--help"):
        overview = _parser(program(), "%(prog)s [COMMAND] [OPTIONS]")
        overview.description = _text("overview")
        overview.print_help()
        raise SystemExit(0)
    named = arguments.pop(0) if arguments[0] in COMMANDS else ""
    if not named and not arguments[0].startswith("-"):
        raise UserError(f"There is no command {arguments[0]!r}: choose from {', '.join(COMMANDS)}.")
    command = named or "run"
    parser = _parser(f"{program()} {named}".strip())
    parser.description, _ = COMMANDS[command]
    parser.epilog = _text(command)
    add_options(parser, command)
    place = arguments.index("--") if command in ("script", "parity") and "--" in arguments else len(arguments)
    found = parser.parse_args(arguments[:place])
    if getattr(found, "channel", None):
        os.environ[CHANNEL] = found.channel  # which whoever makes a Python reads
    found.arguments = tuple(arguments[place + 1 :])  # of the script
    found.command = command
    found.argv = list(argv)
    return found


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Give the parser the options of a command."""
    _, options = COMMANDS[command]
    for option in options:
        if isinstance(option, tuple):
            title, grouped = option
            group = parser.add_argument_group(title) if title else parser.add_mutually_exclusive_group()
            for one in grouped:
                group.add_argument(one.split()[0], **OPTIONS[one])
        else:
            parser.add_argument(option.split()[0], **OPTIONS[option])


def _parser(prog: str, usage: str | None = None) -> Parser:
    parser = Parser(prog=prog, usage=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"kbench {__version__}")
    return parser


def _text(name: str) -> str:
    """Help that names backends: it lies in a file, since code names none."""
    return (Path(__file__).parent / "help" / f"{name}.txt").read_text("utf-8")
